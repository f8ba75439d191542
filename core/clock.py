"""Time is UTC and passed in; this module has the one place that asks the machine for it."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the present moment, timezone-aware, in UTC."""
    return datetime.now(UTC)
