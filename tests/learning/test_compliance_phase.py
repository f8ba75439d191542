"""What the judge of compliance is asked (design section 8)."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlmodel import select

from core.learning.bench import Bench
from core.learning.compliance_phase import judge_open_pairs
from core.rules.library import SYSTEM, Change, create_rule, edit_rule
from core.settings import Settings
from core.tables import Round, RuleUse
from core.tables.rules import RuleContent
from tests.learning.rows import DOMAIN, NOW, a_use, an_episode
from tests.llm.helpers import make_bench
from tests.support.embedding import WordEmbedder
from tests.support.model_server import ModelServer

OLD, NEW = "drain the queue before anything else", "wake the consumers before anything else"


def test_a_rule_is_judged_by_what_it_said_when_the_episode_began(tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(body: dict[str, Any]) -> str:
        asked.append(json.dumps(body["messages"]))
        return json.dumps({"reason": "because", "verdict": "complied"})

    with ModelServer() as server:
        server.answer = answer
        parts = make_bench(tmp_path, server.base_url)
        bench = Bench(
            settings=Settings(_env_file=None),
            database=parts.database,
            client=parts.client,
            embedder=WordEmbedder(),
            domain=DOMAIN,
            make_environment=None,
            clock=lambda: NOW,
            owner="loop",
        )
        with bench.database.write() as session:
            session.add(Round(number=1, environment=DOMAIN, seed=1, trigger="schedule", started_at=NOW))
            text = RuleContent(name="Drain", condition="the queue grows without any end", action=OLD, domain=DOMAIN)
            rule = create_rule(session, text, Change(SYSTEM, lambda: NOW), origin="reflection", id="r")
            later = Change(SYSTEM, lambda: NOW + timedelta(minutes=2), round_number=1)
            edit_rule(session, rule, {"action": NEW}, later)
            session.add(an_episode("e", round_number=1, digest="It drained the queue."))
            session.flush()
            session.add(a_use("e", "r"))
        judge_open_pairs(bench, 1)
        with bench.database.read() as session:
            use = session.exec(select(RuleUse)).one()
    assert asked
    assert all(OLD in one and NEW not in one for one in asked)
    assert (use.compliance, use.judged_by) == ("complied", "model")
