"""The stand-in's chances: every draw is computed from what it depends on, so that runs repeat exactly."""

import hashlib
from math import log


def uniform(*parts: object) -> float:
    """Return a number in (0, 1) that the same parts always give."""
    text = "\x1f".join(str(part) for part in parts)
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big")
    return (number + 0.5) / 2**56


def gumbel(*parts: object) -> float:
    """Return a standard Gumbel draw: adding one to each score and taking the best samples a softmax."""
    return -log(-log(uniform(*parts)))
