"""A pin belongs to the rule that knows what was to be kept."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.db import open_database
from core.rules.library import Change, create_rule
from core.rules.pins import inherit_pin, pin_rule, pinned_rules, unpin_rule
from core.tables.rules import RuleContent

BY_ADA = Change("ada", lambda: datetime(2026, 3, 1, tzinfo=UTC))


@pytest.mark.parametrize(("pinned", "expected"), [((), set()), (("p",), {"p", "m"}), (("p", "q"), {"p", "q", "m"})])
def test_a_merge_inherits_a_pin(tmp_path: Path, pinned: tuple[str, ...], expected: set[str]) -> None:
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    draft = RuleContent(name="Rotate", condition="the volume is full", action="rotate the logs", domain="desk")
    with database.write() as session:
        first, second, merged = (create_rule(session, draft, BY_ADA, origin="human", id=one) for one in "pqm")
        for rule in (first, second):
            if rule.id in pinned:
                pin_rule(session, rule, BY_ADA)
        inherit_pin(session, merged, [first, second], BY_ADA)
        assert pinned_rules(session) == expected
        for rule in (first, second, merged):
            unpin_rule(session, rule, BY_ADA)
        assert pinned_rules(session) == frozenset()
    database.close()
