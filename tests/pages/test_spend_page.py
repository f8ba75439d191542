"""The page of spend: limits, sums, and the planner of the reference workload."""

from core.clock import utc_now
from core.db import Database
from core.tables import LedgerEntry
from tests.pages.conftest import OpenPage
from tests.pages.test_pages import texts


def pay(database: Database, usd: float) -> None:
    with database.write() as session:
        session.add(
            LedgerEntry(
                request_id="r", attempt=1, purpose="act", model="m", simulated=False, cost_usd=usd,
                input_tokens=1000, outcome="ok", created_at=utc_now(),
            )
        )  # fmt: skip


def test_the_soft_limit_warns_and_the_hard_one_says_what_to_do(database: Database, open_page: OpenPage) -> None:
    pay(database, 8.5)
    at = open_page("spend")
    assert not at.exception
    assert "has passed its soft limit of $8.00: $8.50 of $10.00" in at.warning[0].value
    assert "has passed its soft limit" in open_page().warning[0].value, "Overview warns too"
    pay(database, 2.0)
    at = open_page("spend")
    assert "The limit on spend today is reached: $10.50 of $10.00" in at.error[0].value


def test_the_planner_shows_the_reference_table_and_the_honest_one(database: Database, open_page: OpenPage) -> None:
    """98.1 USD against about 3,500 for GPUs (design section 8)."""
    at = open_page("spend")
    assert not at.exception
    assert "$98.13" in [one.value for one in at.metric]
    rows = {row[0]: row[4] for row in at.table[0].value.values.tolist()}
    assert (rows["rollouts"], rows["reflection"], rows["verification"], rows["retrieval"]) == (
        "58.2", "1.8", "6.5", "3.6"
    )  # fmt: skip
    assert (rows["sum"], rows["total"], rows["weight training instead"]) == ("70.1", "98.1", "3,360.0")
    honest = {row[0]: row[4] for row in at.table[1].value.values.tolist()}
    assert float(honest["rollouts"]) > 174
    assert "gate" in honest


def test_a_plan_is_shared_by_its_address(database: Database, open_page: OpenPage) -> None:
    at = open_page("spend", plan_tasks="2400")
    assert at.number_input(key="plan_tasks").value == 2400
    rows = {row[0]: row[4] for row in at.table[0].value.values.tolist()}
    assert rows["rollouts"] == "116.4"


def test_sums_are_shown_by_purpose_model_agent_round_and_day(sample: Database, open_page: OpenPage) -> None:
    at = open_page("spend")
    assert not at.exception
    assert "By purpose" in texts(at)
    assert "By agent" in texts(at)
    assert [len(one.value.columns) for one in at.dataframe] == [7, 7, 7, 7, 7]
