"""Counts over episodes, rule uses, model calls and rule events, so that no page reads them all.

Nobody writes these tables: the triggers of migration 0009 keep each equal to a GROUP BY over its source, whoever
inserts, changes or deletes there, and in whatever order. A migration that makes a source table anew (alembic's
batch mode on SQLite) drops its triggers, and has to make them anew too.
"""

from sqlalchemy import BigInteger, Index
from sqlmodel import Field, SQLModel

OUTSIDE = -1
"""Stands for no round: a key must not be NULL."""
PICO_USD = 1_000_000_000_000
"""Money is counted in whole units of 1e-12 USD, so that sums are exact whatever is added and taken away first."""
SCORE_UNIT = 1_000_000_000
"""Likewise for retrieval scores."""


_BY_KEY = {"sqlite_with_rowid": False}  # rows lie in the order of the key, which is nearly all of them


class _OfPlace(SQLModel):
    """What a count of episodes hangs on wherever metrics are told by round, split and arm."""

    environment: str = Field(primary_key=True)
    round_number: int = Field(primary_key=True)
    split: str = Field(primary_key=True)
    arm: str = Field(primary_key=True)


class EpisodeTally(_OfPlace, table=True):
    """Episodes of a place and grade."""

    __tablename__ = "episode_tally"
    __table_args__ = _BY_KEY

    grade: str = Field(primary_key=True)
    episodes: int
    reused: int = Field(description="Of these, evaluations that repeat an earlier outcome and cost nothing.")
    tool_calls: int
    tool_errors: int


class TurnsTally(_OfPlace, table=True):
    """Episodes of a place that took so many turns: the bootstrap needs the distribution, not the sum."""

    __tablename__ = "turns_tally"
    __table_args__ = _BY_KEY

    turns: int = Field(primary_key=True)
    episodes: int


class TypeTally(SQLModel, table=True):
    """Episodes of a task type."""

    __tablename__ = "type_tally"
    __table_args__ = _BY_KEY

    environment: str = Field(primary_key=True)
    arm: str = Field(primary_key=True)
    task_type: str = Field(primary_key=True)
    round_number: int = Field(primary_key=True)
    library_left_out: bool = Field(primary_key=True)
    status: str = Field(primary_key=True)
    episodes: int
    passed: int


class TaskTally(SQLModel, table=True):
    """Training episodes of a task in a round."""

    __tablename__ = "task_tally"
    __table_args__ = _BY_KEY

    round_number: int = Field(primary_key=True)
    task_id: str = Field(primary_key=True)
    episodes: int


class ComplianceTally(_OfPlace, table=True):
    """Served rules by what was found about them."""

    __tablename__ = "compliance_tally"
    __table_args__ = _BY_KEY

    compliance: str = Field(primary_key=True)
    uses: int


class RuleTally(SQLModel, table=True):
    """Uses of a rule, with the sums over their episodes that its effects are worked out from."""

    __tablename__ = "rule_tally"
    __table_args__ = (
        Index("ix_rule_tally_round", "round_number", "arm", "rule_id"),
        _BY_KEY,
    )

    rule_id: str = Field(primary_key=True)
    environment: str = Field(primary_key=True)
    arm: str = Field(primary_key=True)
    round_number: int = Field(primary_key=True)
    task_type: str = Field(primary_key=True)
    library_left_out: bool = Field(primary_key=True)
    disposition: str = Field(primary_key=True)
    propensity: float = Field(primary_key=True)
    uses: int
    passed: int
    turns: int
    turns_squared: int
    tool_calls: int
    tool_calls_squared: int
    tool_errors: int
    tool_errors_squared: int
    calls_times_errors: int
    complied: int
    violated: int
    verified: int
    score: int = Field(sa_type=BigInteger, description="Sum, in units of 1 / SCORE_UNIT.")


class LedgerTally(SQLModel, table=True):
    """Attempts of model calls."""

    __tablename__ = "ledger_tally"
    __table_args__ = _BY_KEY

    day: str = Field(primary_key=True, description="UTC date, YYYY-MM-DD.")
    purpose: str = Field(primary_key=True)
    model: str = Field(primary_key=True)
    agent: str = Field(primary_key=True)
    round_number: int = Field(primary_key=True)
    outcome: str = Field(primary_key=True)
    simulated: bool = Field(primary_key=True)
    calls: int
    requests: int = Field(description="First attempts.")
    unknown_price: int = Field(description="Calls without a known price.")
    input_tokens: int = Field(sa_type=BigInteger)
    cached_tokens: int = Field(sa_type=BigInteger)
    output_tokens: int = Field(sa_type=BigInteger)
    cost: int = Field(sa_type=BigInteger, description="In units of 1 / PICO_USD.")
    retry_cost: int = Field(sa_type=BigInteger, description="Of it, that of attempts beyond the first.")


class EventTally(SQLModel, table=True):
    """Events of rules by what they changed."""

    __tablename__ = "event_tally"
    __table_args__ = _BY_KEY

    round_number: int = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    from_state: str = Field(primary_key=True, description="'' for none.")
    to_state: str = Field(primary_key=True)
    events: int


TALLIES = (EpisodeTally, TurnsTally, TypeTally, TaskTally, ComplianceTally, RuleTally, LedgerTally, EventTally)
