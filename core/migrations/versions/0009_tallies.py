"""Model calls name the agent; counts over episodes, rule uses, calls and events that triggers keep exact"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

Event = Literal["INSERT", "UPDATE", "DELETE"]


@dataclass(frozen=True)
class Tally:
    """A table of counts. Expressions name the rows of their sources by ``sources``' keys, such as ``e.grade``.

    ``sources`` is alias -> (table, columns that the counts depend on); two sources belong together where ``joined``
    holds. The first of ``sums`` counts rows: a count that falls to 0 goes.
    """

    name: str
    sources: Mapping[str, tuple[str, tuple[str, ...]]]
    keys: Mapping[str, str]
    sums: Mapping[str, str]
    only: str = "1 = 1"
    joined: str = "1 = 1"


_EPISODE = ("environment", "round_number", "split", "arm")
_PLACE = {
    "environment": "e.environment",
    "round_number": "coalesce(e.round_number, -1)",
    "split": "e.split",
    "arm": "e.arm",
}
_BELONGS = "u.episode_id = e.id"


def _count(condition: str) -> str:
    return f"CASE WHEN {condition} THEN 1 ELSE 0 END"


def _units(expression: str, unit: str) -> str:
    return f"CAST(round({expression} * {unit}) AS BIGINT)"


def _usd(expression: str) -> str:
    return _units(expression, "1000000000000.0")


def tallies(dialect: str) -> tuple[Tally, ...]:
    day = {
        "sqlite": "date(l.created_at)",
        "postgresql": "to_char(l.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
    }[dialect]
    return (
        Tally(
            "episode_tally",
            {"e": ("episode", (*_EPISODE, "grade", "reused_from", "tool_calls", "tool_errors"))},
            {**_PLACE, "grade": "e.grade"},
            {
                "episodes": "1",
                "reused": _count("e.reused_from IS NOT NULL"),
                "tool_calls": "e.tool_calls",
                "tool_errors": "e.tool_errors",
            },
        ),
        Tally(
            "turns_tally",
            {"e": ("episode", (*_EPISODE, "turns"))},
            {**_PLACE, "turns": "e.turns"},
            {"episodes": "1"},
        ),
        Tally(
            "type_tally",
            {
                "e": (
                    "episode",
                    ("environment", "arm", "task_type", "round_number", "library_left_out", "status", "grade"),
                )
            },
            {
                "environment": "e.environment",
                "arm": "e.arm",
                "task_type": "e.task_type",
                "round_number": _PLACE["round_number"],
                "library_left_out": "e.library_left_out",
                "status": "e.status",
            },
            {"episodes": "1", "passed": _count("e.grade = 'pass'")},
        ),
        Tally(
            "task_tally",
            {"e": ("episode", ("round_number", "task_id", "arm"))},
            {"round_number": _PLACE["round_number"], "task_id": "e.task_id"},
            {"episodes": "1"},
            only="e.arm = 'learn'",
        ),
        Tally(
            "compliance_tally",
            {"u": ("rule_use", ("episode_id", "disposition", "compliance")), "e": ("episode", _EPISODE)},
            {**_PLACE, "compliance": "u.compliance"},
            {"uses": "1"},
            only="u.disposition = 'served'",
            joined=_BELONGS,
        ),
        _rule_tally(),
        Tally(
            "ledger_tally",
            {
                "l": (
                    "ledger_entry",
                    (
                        *("created_at", "purpose", "model", "agent", "round_number", "outcome", "simulated"),
                        *("attempt", "input_tokens", "cached_tokens", "output_tokens", "cost_usd"),
                    ),
                )
            },
            {
                "day": day,
                "purpose": "l.purpose",
                "model": "l.model",
                "agent": "l.agent",
                "round_number": "coalesce(l.round_number, -1)",
                "outcome": "l.outcome",
                "simulated": "l.simulated",
            },
            {
                "calls": "1",
                "requests": _count("l.attempt = 1"),
                "unknown_price": _count("l.cost_usd IS NULL"),
                "input_tokens": "l.input_tokens",
                "cached_tokens": "l.cached_tokens",
                "output_tokens": "l.output_tokens",
                "cost": _usd("coalesce(l.cost_usd, 0)"),
                "retry_cost": _usd("CASE WHEN l.attempt > 1 THEN coalesce(l.cost_usd, 0) ELSE 0 END"),
            },
        ),
        Tally(
            "event_tally",
            {"v": ("rule_event", ("round_number", "kind", "from_state", "to_state"))},
            {
                "round_number": "coalesce(v.round_number, -1)",
                "kind": "v.kind",
                "from_state": "coalesce(v.from_state, '')",
                "to_state": "v.to_state",
            },
            {"events": "1"},
        ),
    )


def _rule_tally() -> Tally:
    episode = (
        *("environment", "arm", "round_number", "task_type", "library_left_out"),
        *("grade", "turns", "tool_calls", "tool_errors"),
    )
    use = ("episode_id", "rule_id", "disposition", "propensity", "compliance", "verified", "score")
    return Tally(
        "rule_tally",
        {"u": ("rule_use", use), "e": ("episode", episode)},
        {
            "rule_id": "u.rule_id",
            "environment": "e.environment",
            "arm": "e.arm",
            "round_number": _PLACE["round_number"],
            "task_type": "e.task_type",
            "library_left_out": "e.library_left_out",
            "disposition": "u.disposition",
            "propensity": "u.propensity",
        },
        {
            "uses": "1",
            "passed": _count("e.grade = 'pass'"),
            "turns": "e.turns",
            "turns_squared": "e.turns * e.turns",
            "tool_calls": "e.tool_calls",
            "tool_calls_squared": "e.tool_calls * e.tool_calls",
            "tool_errors": "e.tool_errors",
            "tool_errors_squared": "e.tool_errors * e.tool_errors",
            "calls_times_errors": "e.tool_calls * e.tool_errors",
            "complied": _count("u.compliance = 'complied'"),
            "violated": _count("u.compliance = 'violated'"),
            "verified": _count("u.verified"),
            "score": _units("u.score", "1000000000.0"),
        },
        joined=_BELONGS,
    )


def _counted(tally: Tally, rows: str, where: str, *, several: bool = True) -> str:
    columns = [f"{expression} AS {name}" for name, expression in tally.keys.items()]
    summed = "sum({})" if several else "{}"
    columns += [f"{summed.format(expression)} AS {name}" for name, expression in tally.sums.items()]
    grouped = f" GROUP BY {', '.join(tally.keys.values())}" if several else ""
    return f"SELECT {', '.join(columns)} FROM {rows} WHERE {where} AND {tally.only}{grouped}"


def _all(tally: Tally) -> str:
    rows = " CROSS JOIN ".join(f"{table} {alias}" for alias, (table, _) in tally.sources.items())
    return _counted(tally, rows, tally.joined)


def _of_row(tally: Tally, alias: str, row: str) -> str:
    """Count what one new or old row of a source stands for, with the rows of the other source that belong to it."""
    _, columns = tally.sources[alias]
    others = [f"{name} {other}" for other, (name, _) in tally.sources.items() if other != alias]
    named = (*columns, "id") if "id" in tally.joined and alias == "e" else columns
    own = "(SELECT " + ", ".join(f"{row}.{name} AS {name}" for name in named) + f") {alias}"
    # The row itself first: SQLite then looks up the other source by its index.
    several = alias != next(iter(tally.sources))  # a row of the first source stands for one that is counted
    return _counted(tally, " CROSS JOIN ".join([own, *others]), tally.joined, several=several)


def _added(tally: Tally, counted: str) -> str:
    columns, keys = ", ".join([*tally.keys, *tally.sums]), ", ".join(tally.keys)
    more = ", ".join(f"{name} = {tally.name}.{name} + excluded.{name}" for name in tally.sums)
    return f"INSERT INTO {tally.name} ({columns}) {counted} ON CONFLICT ({keys}) DO UPDATE SET {more}"


def _taken(tally: Tally, counted: str) -> Iterator[str]:
    less = ", ".join(f"{name} = {tally.name}.{name} - gone.{name}" for name in tally.sums)
    same = " AND ".join(f"{tally.name}.{name} = gone.{name}" for name in tally.keys)
    yield f"UPDATE {tally.name} SET {less} FROM ({counted}) AS gone WHERE {same}"
    keys, n = ", ".join(tally.keys), next(iter(tally.sums))
    yield f"DELETE FROM {tally.name} WHERE {n} = 0 AND ({keys}) IN (SELECT {keys} FROM ({counted}) AS gone)"


def _work(tally: Tally, alias: str, event: Event) -> list[str]:
    taken = list(_taken(tally, _of_row(tally, alias, "OLD"))) if event != "INSERT" else []
    return [*taken, *([_added(tally, _of_row(tally, alias, "NEW"))] if event != "DELETE" else [])]


def triggers(tally: Tally, dialect: str) -> Iterator[str]:
    for alias, (table, columns) in tally.sources.items():
        name = f"{tally.name}_{table}"
        for event in ("INSERT", "UPDATE", "DELETE"):
            body = "; ".join(_work(tally, alias, event)) + ";"
            when = f"AFTER {event}" + (f" OF {', '.join(columns)}" if event == "UPDATE" else "") + f" ON {table}"
            trigger = f"{name}_{event.lower()}"
            if dialect == "sqlite":
                yield f"CREATE TRIGGER {trigger} {when} FOR EACH ROW BEGIN {body} END"
            else:
                function = f"CREATE FUNCTION {trigger}() RETURNS trigger"
                yield f"{function} AS $$ BEGIN {body} RETURN NULL; END $$ LANGUAGE plpgsql"
                yield f"CREATE TRIGGER {trigger} {when} FOR EACH ROW EXECUTE FUNCTION {trigger}()"


def _without_triggers(tally: Tally, dialect: str) -> Iterator[str]:
    for table, _ in tally.sources.values():
        for event in ("insert", "update", "delete"):
            trigger = f"{tally.name}_{table}_{event}"
            yield f"DROP TRIGGER {trigger}" + ("" if dialect == "sqlite" else f" ON {table}")
            if dialect != "sqlite":
                yield f"DROP FUNCTION {trigger}()"


_TYPES: Mapping[str, sa.types.TypeEngine[Any]] = {
    **dict.fromkeys(("round_number", "turns"), sa.Integer()),
    **dict.fromkeys(("library_left_out", "simulated"), sa.Boolean()),
    **dict.fromkeys(("input_tokens", "cached_tokens", "output_tokens", "cost", "retry_cost", "score"), sa.BigInteger()),
    "propensity": sa.Float(),
}


def _create(tally: Tally) -> None:
    columns = [sa.Column(name, _TYPES.get(name, sa.String()), nullable=False) for name in tally.keys]
    columns += [sa.Column(name, _TYPES.get(name, sa.Integer()), nullable=False) for name in tally.sums]
    op.create_table(tally.name, *columns, sa.PrimaryKeyConstraint(*tally.keys), sqlite_with_rowid=False)


def upgrade() -> None:
    op.add_column("ledger_entry", sa.Column("agent", sa.String(), nullable=False, server_default=""))
    op.execute(
        "UPDATE ledger_entry SET agent = "
        "coalesce((SELECT episode.agent FROM episode WHERE episode.id = ledger_entry.episode_id), '') "
        "WHERE episode_id IS NOT NULL"
    )
    dialect = op.get_bind().dialect.name
    for tally in tallies(dialect):
        _create(tally)
        op.execute(f"INSERT INTO {tally.name} ({', '.join([*tally.keys, *tally.sums])}) {_all(tally)}")
        for statement in triggers(tally, dialect):
            op.execute(statement)
    op.create_index("ix_rule_tally_round", "rule_tally", ["round_number", "arm", "rule_id"])


def downgrade() -> None:
    dialect = op.get_bind().dialect.name
    op.drop_index("ix_rule_tally_round", "rule_tally")
    for tally in tallies(dialect):
        for statement in _without_triggers(tally, dialect):
            op.execute(statement)
        op.drop_table(tally.name)
    op.drop_column("ledger_entry", "agent")
