"""The library as it is served, or as it would be with some rules put back (design sections 6 and 8)."""

from pathlib import Path

from core.db import open_database
from core.learning.snapshot import SnapshotMaker
from core.rules.conflict_records import record_conflicts
from core.rules.conflicts import ConflictFinding
from core.rules.library import SYSTEM, Change
from core.rules.utility import Ucb
from core.settings import Settings
from core.tables import Rule
from tests.learning.rows import DOMAIN, NOW, a_rule
from tests.support.embedding import WordEmbedder

CHANGE = Change(SYSTEM, lambda: NOW)
QUERY = "the queue grows without any end"


def test_a_prompt_carries_one_side_of_a_conflict_even_in_a_library_as_if(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    with database.write() as session:
        rules = {name: a_rule(name, state="active") for name in ("a", "bridge", "z")}
        session.add_all(rules.values())
        session.flush()
        findings = [ConflictFinding(name, "lexicon", "opposed", {}, hard=True) for name in ("a", "z")]
        record_conflicts(session, rules["bridge"], findings, CHANGE)
        rules["bridge"].state = "archived"
    settings = Settings(_env_file=None)
    maker = SnapshotMaker(WordEmbedder(), Ucb(settings.utility, 1.2), settings.retrieval)

    def served(rules: tuple[Rule, ...]) -> set[str]:
        return {rule.id for rule in rules}

    with database.read() as session:
        now = maker.current(session, DOMAIN).retrieve(QUERY)
        assert served(tuple(hit.rule for hit in now.hits)) == {"a", "z"}, "an archived rule binds nobody"
        as_if = maker.with_contents(session, DOMAIN, {"bridge": {"state": "active"}}).retrieve(QUERY)
    assert len(as_if.hits) == 1
    assert {left.reason for left in as_if.left_out} == {"mutex"}
    database.close()
