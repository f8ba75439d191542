"""Which identifiers an action asks for and which it forbids."""

import pytest

from core.rules.names import prescribed_names

NAMES = frozenset({"restart_service", "read_logs", "flush_cache", "raise_pool_size", "service", "cache", "orders"})


def named(action: str) -> tuple[set[str], set[str]]:
    prescribed, forbidden = prescribed_names(action, NAMES)
    return set(prescribed), set(forbidden)


@pytest.mark.parametrize(
    ("action", "prescribed", "forbidden"),
    [
        ("call read_logs", {"read_logs"}, set()),
        ("Read logs first, then restart the service", {"read_logs", "restart_service"}, set()),
        ("do not raise_pool_size", set(), {"raise_pool_size"}),
        ("use flush_cache; never raise_pool_size", {"flush_cache"}, {"raise_pool_size"}),
        ("use flush_cache instead of raise_pool_size", {"flush_cache"}, {"raise_pool_size"}),
        ("call flush_cache, and do not call flush_cache twice", {"flush_cache"}, set()),
        ("先执行 read_logs，不要 raise_pool_size", {"read_logs"}, {"raise_pool_size"}),
    ],
)
def test_names_are_told_apart(action: str, prescribed: set[str], forbidden: set[str]) -> None:
    wanted, unwanted = named(action)
    assert (wanted & {n for n in NAMES if "_" in n}, unwanted) == (prescribed, forbidden)


def test_an_everyday_word_counts_only_beside_a_compound_name() -> None:
    assert named("look at the orders and the cache") == (set(), set())
    assert named("restart_service of orders") == ({"restart_service", "orders"}, set())


def test_a_name_inside_a_longer_one_is_not_meant() -> None:
    assert named("call read_logs_archive and xflush_cache") == (set(), set())
