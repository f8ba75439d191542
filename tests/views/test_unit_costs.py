"""Cost per task, success and live rule, divided by hand."""

from pathlib import Path

from core.db import open_database
from core.tables import LedgerEntry, RuleEvent
from core.views.unit_costs import UnitCost, unit_costs
from tests.learning.rows import DOMAIN, NOW, a_round, a_rule, an_episode


def test_all_money_is_divided_by_what_came_of_it(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    with database.read() as session:
        assert unit_costs(session).task == UnitCost(None, 0)
    with database.write() as session:
        session.add_all([a_round(1), a_round(2), a_rule("r"), a_rule("s")])
        session.flush()
        for number in (1, 2):
            for rollout in range(3):
                grade = "pass" if rollout == 0 and number == 1 else "fail"
                session.add(an_episode(f"e{number}{rollout}", round_number=number, task_id=f"{DOMAIN}/t", grade=grade))
        session.add(an_episode("tested", round_number=1, arm="after", split="held_out"))
        for state in ("candidate", "active", "probation", "active"):
            session.add(
                RuleEvent(
                    rule_id="r", kind="k", to_state=state, actor="system", round_number=1, after={}, created_at=NOW
                )
            )
        for usd in (0.5, 1.5):
            session.add(
                LedgerEntry(
                    request_id="r", attempt=1, purpose="act", model="m", simulated=False, cost_usd=usd,
                    outcome="ok", created_at=NOW,
                )
            )  # fmt: skip
    with database.read() as session:
        found = unit_costs(session)
    assert (found.task, found.success, found.live_rule) == (UnitCost(1.0, 2), UnitCost(2.0, 1), UnitCost(2.0, 1))
