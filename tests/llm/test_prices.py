import json
from datetime import UTC, datetime

import pytest

from core.errors import UserError
from core.llm.prices import PRICES_FILE, UNREPORTED, ModelPrice, Prices, TokenUsage, load_prices

NOW = datetime(2026, 5, 4, tzinfo=UTC)
USAGE = TokenUsage(input=1_000_000, cached=400_000, output=100_000)


def test_the_package_knows_public_models() -> None:
    # OpenAI's list price of gpt-4o-mini: 0.15, cached 0.075, output 0.60 USD per million tokens
    assert load_prices().cost("gpt-4o-mini", USAGE, NOW) == pytest.approx(0.6 * 0.15 + 0.4 * 0.075 + 0.1 * 0.60)


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:8000/v1", "https://api.deepseek.com"])
def test_nobody_knows_a_model_of_ones_own(base_url) -> None:
    assert Prices({}, base_url).cost("our-model-7b", USAGE, NOW) is None


def test_ones_own_price_beats_the_package() -> None:
    own = Prices({"gpt-4o-mini": ModelPrice(input=0.55, output=2.2)})
    assert own.cost("gpt-4o-mini", USAGE, NOW) == pytest.approx(0.55 + 0.22)


def test_cached_tokens_are_counted_once() -> None:
    own = Prices({"m": ModelPrice(input=1, cached_input=0.5, output=2)})
    assert own.cost("m", USAGE, NOW) == pytest.approx(0.6 + 0.4 * 0.5 + 0.2)


def test_a_price_of_nothing_is_not_an_unknown_price() -> None:
    assert Prices({"m": ModelPrice(input=0, output=0)}).cost("m", USAGE, NOW) == 0.0


def test_no_tokens_cost_nothing() -> None:
    assert Prices({}).cost("our-model-7b", TokenUsage(), NOW) == 0.0


def test_tokens_that_were_not_reported_are_not_free() -> None:
    assert Prices({"m": ModelPrice(input=1, output=2)}).cost("m", UNREPORTED, NOW) is None


def test_the_file_is_read_and_comments_are_skipped(tmp_path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"_comment": "x", "m": {"input": 1, "output": 2}}))
    assert load_prices(path).cost("m", USAGE, NOW) == pytest.approx(1.2)


@pytest.mark.parametrize("text", ["{", "[]", '{"m": 3}', '{"m": {"input": -1, "output": 1}}', '{"m": {"input": 1}}'])
def test_a_bad_file_is_the_persons_to_put_right(tmp_path, text) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"prices\.json"):
        load_prices(path)


def test_the_shipped_file_is_usable() -> None:
    assert PRICES_FILE.exists()
    load_prices()
