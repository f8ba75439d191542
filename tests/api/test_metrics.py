"""Prometheus reads the same figures as people do, and only with the key."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from core.api.metrics import PATH, metrics_route
from core.clock import utc_now
from core.db import Database, open_database
from core.errors import UserError
from core.people.loopback import LoopbackOnly
from core.settings import Settings, load_settings
from core.tables import Lease, LedgerEntry, Round, SettingOverride
from core.views.budget import budget
from core.views.health import gain, health_rows
from core.views.history import waiting
from core.views.report import report
from tests.browser.conftest import run_product
from tests.support.speed import copy_into, filled_file

KEY = "a-key-of-the-tests-alone"
NOW = utc_now()
BEARER = {"Authorization": f"Bearer {KEY}"}

Figures = dict[tuple[str, tuple[str, ...]], float]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with eight rounds of work in it."""
    return filled_file(tmp_path_factory.mktemp("filled") / "filled.db")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path}/t.db")
    yield opened
    opened.close()


@pytest.fixture
def sample(database: Database, filled: Path) -> Database:
    copy_into(database, filled)
    return database


def served(database: Database, settings: Settings, *, client: str = "127.0.0.1", sign_in: bool = False) -> TestClient:
    app = Starlette(
        routes=[metrics_route(lambda: (settings, database), lambda: NOW)],
        middleware=[Middleware(LoopbackOnly, sign_in=lambda: sign_in)],
    )
    return TestClient(app, client=(client, 50000))


def with_key(**explicit: object) -> Settings:
    return load_settings(metrics={"key": KEY}, **explicit)


def parsed(text: str) -> Figures:
    """Name and label values, sorted by label, of every sample."""
    return {
        (sample.name.removeprefix("rulewright_"), tuple(value for _, value in sorted(sample.labels.items()))): value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        for value in [sample.value]
    }


def scraped(database: Database, settings: Settings) -> Figures:
    answer = served(database, settings).get(PATH, headers=BEARER)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return parsed(answer.text)


def of(found: Figures, name: str) -> dict[tuple[str, ...], float]:
    return {labels: value for (known, labels), value in found.items() if known == name}


def test_health_is_the_newest_rounds_of_each_split_and_arm(sample: Database) -> None:
    found = scraped(sample, with_key())
    with sample.read() as session:
        rows = [row for row in health_rows(session) if row.round == 8 or (row.round, row.arm) == (6, "before")]
    assert len(rows) == 15  # four arms with four metrics, but nothing judged without rules; round 6 was rolled back
    for ending, field in {"": "value", "_low": "low", "_high": "high", "_n": "n", "_round": "round"}.items():
        assert of(found, f"health{ending}") == {
            (row.arm, "incidents", row.metric, row.split): getattr(row, field) for row in rows
        }


def test_gain_rules_and_queues_are_those_of_the_pages(sample: Database) -> None:
    found = scraped(sample, with_key())
    with sample.read() as session:
        newest, queues, whole = gain(session), waiting(session, now=NOW), report(session, now=NOW)
    assert newest is not None
    figures = [found[f"gain{ending}", ("incidents",)] for ending in ("", "_low", "_high", "_n", "_round")]
    assert figures == [newest.value, newest.low, newest.high, newest.n, newest.round]
    assert of(found, "rules") == {(state,): n for state, n in whole["rules"].items()}
    assert found["conflicts_open", ()] == 1
    assert of(found, "queue_items") == {(one.queue,): one.n for one in queues}
    ages = {(one.queue,): one.oldest.total_seconds() for one in queues if one.oldest is not None}
    assert of(found, "queue_oldest_age_seconds") == ages
    assert of(found, "rounds") == {
        ("incidents", "committed", "probably_better"): 6,
        ("incidents", "rolled_back", "not_better"): 2,
    }


def test_spend_is_the_ledgers(sample: Database) -> None:
    with sample.write() as session:
        for cost in (0.25, None):
            session.add(a_call(cost))
    found = scraped(sample, with_key(budget={"per_day_usd": 2.0, "total_usd": None, "soft_share": 0.5}))
    with sample.read() as session:
        sums = report(session, now=NOW)["spend"]
    purposes = {(purpose,): usage["cost_usd"] for purpose, usage in sums["by_purpose"].items()}
    assert of(found, "spend_by_purpose_usd_total") == pytest.approx(purposes)
    assert sum(purposes.values()) == pytest.approx(found["spend_usd_total", ()])
    assert found["spend_usd_total", ()] - found["spend_simulated_usd_total", ()] == pytest.approx(0.25)
    assert (found["calls_total", ()], found["calls_of_unknown_price_total", ()]) == (sums["calls"], 1)
    assert of(found, "budget_spent_usd") == {("day",): 0.25, ("total",): 0.25}
    assert of(found, "budget_limit_usd") == {("day",): 2.0}
    assert of(found, "budget_soft_limit_usd") == {("day",): 1.0}


def a_call(cost: float | None) -> LedgerEntry:
    return LedgerEntry(
        request_id=f"paid {cost}", attempt=1, purpose="act", model="m", simulated=False, cost_usd=cost, outcome="ok",
        created_at=NOW,
    )  # fmt: skip


def test_limits_are_those_in_force_as_far_as_they_are_usable(database: Database) -> None:
    with database.write() as session:
        session.add(SettingOverride(name="budget.total_usd", value=7.5, changed_by="ada", changed_at=NOW))
    assert of(scraped(database, with_key()), "budget_limit_usd") == {("day",): 10.0, ("total",): 7.5}
    with database.write() as session:
        session.add(SettingOverride(name="budget.gone", value=1, changed_by="ada", changed_at=NOW))
    assert of(scraped(database, with_key()), "budget_limit_usd") == {("day",): 10.0, ("total",): 100.0}


@pytest.mark.parametrize(("age", "state"), [(1, "paused"), (10, "slow"), (60, "stopped"), (None, "stopped")])
def test_the_loops_state_is_exactly_one(database: Database, age: int | None, state: str) -> None:
    if age is not None:
        with database.write() as session:
            session.add(Lease(name="loop", owner="host", heartbeat_at=NOW - timedelta(seconds=age)))
    found = scraped(database, with_key())
    states = of(found, "loop_state")
    assert set(states) == {("running",), ("slow",), ("paused",), ("stopped",)}
    assert [labels for labels, value in states.items() if value] == [(state,)]
    assert of(found, "loop_heartbeat_age_seconds") == ({} if age is None else {(): age})


def test_an_empty_database_has_zeros_where_something_was_counted_and_else_nothing(database: Database) -> None:
    found = scraped(database, with_key())
    assert (
        of(found, "health") == of(found, "gain") == of(found, "rounds") == of(found, "queue_oldest_age_seconds") == {}
    )
    assert of(found, "rules") == dict.fromkeys([("active",), ("archived",), ("candidate",), ("probation",)], 0)
    assert found["spend_usd_total", ()] == 0


def test_names_written_by_others_stay_what_they_are(database: Database) -> None:
    name = 'desk "one"\n2\\'
    with database.write() as session:
        session.add(Round(number=1, environment=name, seed=1, trigger="step", started_at=NOW))
    assert of(scraped(database, with_key()), "rounds") == {(name, "running", ""): 1}


def test_a_scraper_that_asks_for_openmetrics_gets_it(sample: Database) -> None:
    asked = {**BEARER, "Accept": "application/openmetrics-text; version=1.0.0"}
    answer = served(sample, with_key()).get(PATH, headers=asked)
    assert answer.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert answer.text.endswith("# EOF\n")


def test_without_a_key_it_says_which_setting_to_set(database: Database) -> None:
    answer = served(database, load_settings()).get(PATH, headers=BEARER)
    assert answer.status_code == 404
    assert "RULEWRIGHT_METRICS__KEY" in answer.text


@pytest.mark.parametrize(
    "sent", [None, "", KEY, "Bearer", "Bearer ", f"Basic {KEY}", f"Bearer {KEY}x", f"Bearer {KEY[:-1]}", "Bearer clé"]
)
def test_without_the_right_key_there_is_nothing(database: Database, sent: str | None) -> None:
    headers = {} if sent is None else {"Authorization": sent.encode("latin-1")}
    answer = served(database, with_key()).get(PATH, headers=headers)  # type: ignore[arg-type]
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert KEY not in answer.text
    assert "rulewright_" not in answer.text


def test_the_word_bearer_may_be_written_anyhow(database: Database) -> None:
    assert served(database, with_key()).get(PATH, headers={"authorization": f"bearer {KEY}"}).status_code == 200


def test_the_key_opens_nothing_from_elsewhere_without_sign_in(database: Database) -> None:
    elsewhere = served(database, with_key(), client="192.0.2.1")
    assert elsewhere.get(PATH, headers=BEARER).status_code == 403
    people_sign_in = served(database, with_key(), client="192.0.2.1", sign_in=True)
    assert people_sign_in.get(PATH).status_code == 401
    assert people_sign_in.get(PATH, headers=BEARER).status_code == 200


def test_the_key_is_not_printed_and_not_short(monkeypatch: pytest.MonkeyPatch) -> None:
    assert KEY not in repr(with_key())
    monkeypatch.setenv("RULEWRIGHT_METRICS__KEY", "too-short-a-key")
    with pytest.raises(UserError, match=r"metrics\.key.*16") as refused:
        load_settings()
    assert "too-short-a-key" not in str(refused.value)


def test_the_running_product_serves_them(tmp_path: Path, filled: Path) -> None:
    settings = {"RULEWRIGHT_METRICS__KEY": KEY, "RULEWRIGHT_LOOP__AUTOSTART": "never"}
    database = open_database(f"sqlite:///{tmp_path}/product.db")
    copy_into(database, filled)
    with run_product(tmp_path, settings) as running:
        with urlopen(Request(running.url + PATH, headers=BEARER), timeout=30) as answer:
            found = parsed(answer.read().decode())
        with pytest.raises(HTTPError) as refused:
            urlopen(running.url + PATH, timeout=30)
        assert refused.value.code == 401
        with database.read() as session:
            rows = [row for row in health_rows(session) if row.round == 8 or (row.round, row.arm) == (6, "before")]
            limits = budget(session, load_settings().budget, now=utc_now())
        log = running.log.read_text()
    database.close()
    assert of(found, "health") == {(row.arm, "incidents", row.metric, row.split): row.value for row in rows}
    assert of(found, "budget_limit_usd") == {("day",): limits.day.hard, ("total",): limits.total.hard}
    assert KEY not in log
