"""Identifiers and derived seeds.

Ids of things that a retry could create twice are computed from what they stand for, so that the second
attempt meets the first one's row instead of adding another.
"""

import hashlib
import uuid


def new_id(prefix: str) -> str:
    """Return a fresh random id such as ``rule_1f3a...`` (prefix plus 16 hex digits)."""
    return f"{prefix}_{uuid.uuid4().hex[:16]}"


def stable_id(prefix: str, *parts: object) -> str:
    """Return the id that the same parts always give; parts are told apart, not merely joined."""
    return f"{prefix}_{_digest(parts)[:16]}"


def derive_seed(*parts: object) -> int:
    """Return a seed in [0, 2**31) that depends on all parts, and on nothing else."""
    return int(_digest(parts)[:8], 16) & 0x7FFFFFFF


def _digest(parts: tuple[object, ...]) -> str:
    return hashlib.sha256(repr([str(part) for part in parts]).encode()).hexdigest()
