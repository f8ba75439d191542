"""The ledger: one row per attempt of a model call. Append-only."""

from datetime import datetime

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class LedgerEntry(SQLModel, table=True):
    """One attempt. Tokens are counted as the endpoint reported them; cost is None if the price is unknown."""

    __tablename__ = "ledger_entry"
    __table_args__ = (Index("ix_ledger_entry_created", "created_at"), Index("ix_ledger_entry_round", "round_number"))

    id: int | None = Field(None, primary_key=True)
    request_id: str = Field(index=True, description="Same for all attempts of one request.")
    attempt: int = Field(description="From 1.")
    purpose: str = Field(description="act, digest, reflect or judge")
    model: str
    simulated: bool
    input_tokens: int = Field(0, description="All input tokens, cached ones included once.")
    cached_tokens: int = Field(0, description="Of these, served from the endpoint's cache.")
    output_tokens: int = 0
    cost_usd: float | None = Field(None, description="None: price unknown.")
    latency_ms: float = 0.0
    outcome: str = Field(description="ok, reask, repaired, unusable, rate_limited, timeout, server_error ...")
    episode_id: str | None = None
    round_number: int | None = None
    created_at: datetime = Field(sa_type=UtcDateTime)
