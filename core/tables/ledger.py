"""The ledger: one row per attempt of a model call. Append-only."""

from datetime import datetime
from enum import StrEnum

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from core.tables.columns import UtcDateTime


class Outcome(StrEnum):
    """How one attempt ended; the whole vocabulary.

    A request for a structured answer that got an answer has exactly one row of VALID, REASK, REPAIRED and
    UNUSABLE, so counting these rows gives its shares. It has none of them when the endpoint brought no answer
    (then every row is a fault, or INVALID followed by faults).
    """

    OK = "ok"  # a free answer (text or tool calls)
    VALID = "valid"  # a structured answer, valid at once
    INVALID = "invalid"  # a structured answer that is not valid; the re-ask follows
    REASK = "reask"  # the answer to the re-ask, valid
    REPAIRED = "repaired"  # the answer to the re-ask, not valid; json-repair made it or the first one valid
    UNUSABLE = "unusable"  # the answer to the re-ask, and nothing made it valid: recorded failure
    EMPTY = "empty"  # a response without text or tool calls, or no whole chat completion; tried again
    RATE_LIMITED = "rate_limited"  # 429; tried again
    TIMEOUT = "timeout"  # no response in time, or 408; tried again
    CONNECTION_ERROR = "connection_error"  # no connection, or it broke; tried again
    SERVER_ERROR = "server_error"  # 5xx or 409, or an error in the middle of a stream; tried again
    UNAUTHORIZED = "unauthorized"  # 401 or 403; given up
    BAD_REQUEST = "bad_request"  # any other 4xx; given up, unless without the refused parameter


class LedgerEntry(SQLModel, table=True):
    """One attempt. Tokens are counted as the endpoint reported them; cost is None if they or the price are unknown."""

    __tablename__ = "ledger_entry"
    __table_args__ = (Index("ix_ledger_entry_paid", "created_at", "simulated", "cost_usd"),)

    id: int | None = Field(default=None, primary_key=True)
    request_id: str = Field(index=True, description="Same for all attempts of one request.")
    attempt: int = Field(description="From 1.")
    purpose: str = Field(description="act, digest, reflect or judge")
    model: str
    simulated: bool
    input_tokens: int = Field(default=0, description="All input tokens, cached ones included once.")
    cached_tokens: int = Field(default=0, description="Of these, served from the endpoint's cache.")
    output_tokens: int = 0
    cost_usd: float | None = Field(
        default=None, description="None: price unknown, or a response that did not report its tokens."
    )
    latency_ms: float = 0.0
    outcome: str = Field(description="One of Outcome.")
    episode_id: str | None = None
    agent: str = Field(default="", description="Whose episode it was made for; '' for calls beside any episode.")
    round_number: int | None = None
    reflection_id: str | None = Field(default=None, index=True, description="Made for this reflection.")
    created_at: datetime = Field(sa_type=UtcDateTime)
