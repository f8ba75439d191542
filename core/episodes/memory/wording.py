"""Memories as a prompt shows them: one line each, with what it led to."""

from collections.abc import Sequence

from core.episodes.memory.recall import Recalled
from core.text import clip, estimate_tokens

HEADING = "Remembered decisions in situations like this one, with the return each led to (-1 failure, 1 success):"
_STATE = 160


def memory_lines(memories: Sequence[Recalled], numbered: int, room: int) -> tuple[str, list[Recalled]]:
    """Write memories for a prompt, as many of the first as there is room for.

    Args:
        memories: best first.
        numbered: memories the episode has been shown so far; numbers go on from there.
        room: estimated tokens there are.

    Returns:
        The text ('' for none), and the memories in it.
    """
    for count in range(len(memories), 0, -1):
        shown = memories[:count]
        text = "\n".join([HEADING, *(_line(one, number) for number, one in enumerate(shown, numbered + 1))])
        if estimate_tokens(text) <= room:
            return text, list(shown)
    return "", []


def _line(recalled: Recalled, number: int) -> str:
    memory = recalled.memory
    return (
        f"[M{number}] {memory.action} returned {memory.value:+.2f}; the episode: {memory.lesson}. "
        f'Seen then: "{clip(memory.state, _STATE)}"'
    )
