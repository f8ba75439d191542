"""Design sections 2 and 8: every attempt a row, tokens as reported, hard limits on spend."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.db import open_database
from core.errors import BudgetExceededError, ModelCallError
from core.llm.ledger import Attempt, Ledger
from core.llm.prices import Prices, TokenUsage
from core.settings import BudgetSettings
from core.tables import LedgerEntry
from core.tables.ledger import Outcome
from tests.llm.helpers import ACT, ASK, MODEL, PRICE, Bench, StandingClock, make_bench, rows
from tests.support.model_server import ModelServer, Request

FAULTY = {
    "rate_limited": 0.06,
    "server_error": 0.06,
    "dropped": 0.06,
    "cut_body": 0.04,
    "ended_stream": 0.03,
    "stream_error": 0.03,
    "cut_tail": 0.03,
    "no_usage": 0.03,
    "empty_choices": 0.04,
    "empty_content": 0.04,
}
"""More than a third of attempts; three of the kinds happen to streams alone."""

NO_LIMIT = BudgetSettings(per_day_usd=None, total_usd=None)


def totals(entries: list[LedgerEntry]) -> tuple[int, int, int]:
    return (
        sum(row.input_tokens for row in entries),
        sum(row.cached_tokens for row in entries),
        sum(row.output_tokens for row in entries),
    )


def reported(server: ModelServer) -> tuple[int, int, int]:
    return server.usage.input, server.usage.cached, server.usage.output


def ask_many(bench: Bench, first: int, count: int) -> int:
    """Return how many of the requests failed for good."""
    failed = 0
    for number in range(first, first + count):
        try:
            bench.client.chat(ACT, [{"role": "user", "content": f"Question {number}. " + "word " * (number % 50)}])
        except ModelCallError:
            failed += 1
    return failed


@pytest.mark.parametrize("cached_in_input", [True, False])
@pytest.mark.parametrize("running_usage", [True, False])
def test_whole_and_streamed_answers_of_a_faulty_endpoint_agree_to_the_token(
    tmp_path, cached_in_input, running_usage
) -> None:
    """Two threads take whole answers and two take streams; cached tokens, retries and failures are among them."""
    with ModelServer(rates=FAULTY, seed=6, cached_in_input=cached_in_input, running_usage=running_usage) as server:
        whole, streamed = (
            make_bench(tmp_path, server.base_url, cached_in_input=cached_in_input, stream=stream, attempts=3)
            for stream in (False, True)
        )
        with ThreadPoolExecutor(4) as pool:
            failed = sum(pool.map(lambda part: ask_many((whole, streamed)[part % 2], part * 25, 25), range(4)))
        seen = {request.fault for request in server.requests if request.body.get("stream")}
        assert seen == {None, *FAULTY}
    entries = whole.rows()
    assert totals(entries) == reported(server)
    assert server.usage.cached > 0
    assert failed > 0
    assert len(entries) == len(server.requests) > 120
    assert len({row.request_id for row in entries}) == 100
    assert len({(row.request_id, row.attempt) for row in entries}) == len(entries)
    assert sum(row.outcome == "ok" for row in entries) == 100 - failed
    # 1.00, 0.25 and 4.00 USD per million of plain input, cached input and output
    expected = (server.usage.input - server.usage.cached) + 0.25 * server.usage.cached + 4 * server.usage.output
    assert sum(row.cost_usd or 0.0 for row in entries) == pytest.approx(expected / 1e6)
    assert sum(row.cost_usd is None for row in entries) == sum(
        unreported(request, running_usage) for request in server.requests
    )


def unreported(request: Request, running_usage: bool) -> bool:
    """Whether a response came that did not say what it used."""
    streamed = request.body.get("stream")
    if request.fault == "no_usage":
        return not (streamed and running_usage)
    if not streamed:
        return request.fault == "cut_body"
    return request.fault in ("cut_body", "ended_stream", "stream_error", "cut_tail") and not running_usage


def test_a_retry_adds_only_what_its_own_response_reported(tmp_path) -> None:
    with ModelServer() as server:
        server.script(["server_error", "empty_choices", None])
        bench = make_bench(tmp_path, server.base_url)
        bench.client.chat(ACT, ASK)
    entries = bench.rows()
    assert totals(entries[:1]) == (0, 0, 0)
    assert entries[0].cost_usd == 0.0
    assert totals(entries) == reported(server)


def test_an_unknown_price_is_unknown(tmp_path) -> None:
    with ModelServer() as server:
        bench = make_bench(tmp_path, server.base_url, prices=Prices({}, server.base_url))
        bench.client.chat(ACT, ASK)
    assert bench.rows()[0].cost_usd is None
    assert bench.rows()[0].input_tokens > 0


def attempt(*, output: int = 250_000, model: str = MODEL) -> Attempt:
    """One attempt that costs 1 USD by default (250,000 output tokens at 4 USD per million)."""
    return Attempt("req", 1, "act", model, Outcome.OK, TokenUsage(output=output), 12.0)


def make_ledger(tmp_path: Path, budget: BudgetSettings, clock: StandingClock, *, simulated: bool = False) -> Ledger:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    return Ledger(database, budget, Prices({MODEL: PRICE}), clock, simulated)


def test_the_total_limit_stops_before_a_call(tmp_path) -> None:
    with ModelServer() as server:
        budget = BudgetSettings(per_day_usd=None, total_usd=2.0)
        bench = make_bench(tmp_path, server.base_url, budget=budget)
        bench.ledger.record(attempt())
        bench.client.chat(ACT, ASK)
        bench.ledger.record(attempt())
        with pytest.raises(BudgetExceededError, match=r"2\.00 USD.*budget\.total_usd"):
            bench.client.chat(ACT, ASK)
    assert len(server.requests) == 1


def test_the_daily_limit_ends_at_midnight_utc(tmp_path) -> None:
    clock = StandingClock()
    ledger = make_ledger(tmp_path, BudgetSettings(per_day_usd=1.0, total_usd=None), clock)
    ledger.check_budget()
    ledger.record(attempt())
    with pytest.raises(BudgetExceededError, match=r"since midnight UTC.*budget\.per_day_usd"):
        ledger.check_budget()
    clock.move(hours=11, minutes=59)
    with pytest.raises(BudgetExceededError):
        ledger.check_budget()
    clock.move(minutes=1)
    ledger.check_budget()
    ledger.record(attempt())
    with pytest.raises(BudgetExceededError):
        ledger.check_budget()


def test_a_restart_does_not_forget_what_was_spent(tmp_path) -> None:
    clock, budget = StandingClock(), BudgetSettings(per_day_usd=None, total_usd=1.0)
    make_ledger(tmp_path, budget, clock).record(attempt())
    with pytest.raises(BudgetExceededError):
        make_ledger(tmp_path, budget, clock).check_budget()


def test_another_process_spends_from_the_same_budget(tmp_path) -> None:
    clock, budget = StandingClock(), BudgetSettings(per_day_usd=None, total_usd=1.0)
    ours, theirs = make_ledger(tmp_path, budget, clock), make_ledger(tmp_path, budget, clock)
    ours.check_budget()
    theirs.record(attempt())
    clock.move(seconds=10)
    with pytest.raises(BudgetExceededError):
        ours.check_budget()


def test_simulated_spend_uses_up_no_budget(tmp_path) -> None:
    clock, budget = StandingClock(), BudgetSettings(per_day_usd=0.5, total_usd=0.5)
    simulated = make_ledger(tmp_path, budget, clock, simulated=True)
    simulated.record(attempt())
    simulated.check_budget()
    make_ledger(tmp_path, budget, clock).check_budget()


def test_spend_of_unknown_price_does_not_stop_the_budget(tmp_path) -> None:
    clock = StandingClock()
    ledger = make_ledger(tmp_path, BudgetSettings(per_day_usd=1.0, total_usd=1.0), clock)
    ledger.record(attempt(model="nobody-knows-it"))
    ledger.check_budget()


def test_threads_add_up(tmp_path) -> None:
    clock = StandingClock()
    ledger = make_ledger(tmp_path, BudgetSettings(per_day_usd=None, total_usd=1.0), clock)
    ledger.check_budget()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _n: ledger.record(attempt(output=2_500)), range(99)))
    ledger.check_budget()
    ledger.record(attempt(output=2_501))
    with pytest.raises(BudgetExceededError):
        ledger.check_budget()


def test_recording_is_cheap(tmp_path) -> None:
    """A run makes some 20,000 calls. The bound is ten times what it takes, for slow machines."""
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    ledger = Ledger(database, NO_LIMIT, Prices({MODEL: PRICE}), StandingClock(), simulated=False)
    ledger.record(attempt())
    started = time.perf_counter()
    for _ in range(200):
        ledger.record(attempt())
    assert (time.perf_counter() - started) / 200 < 0.005
    assert len(rows(database)) == 201
