"""Actions by letter: the model sees the actions at hand, and says with what probability it would take each.

To those log-probabilities a policy can add what experience says (design section 10); the choice among the bent
ones is made here, with an injected seed, not by the endpoint.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.environments.protocol import MOST_CHOICES, Action
from core.errors import ModelCallError
from core.ids import derive_seed
from core.llm.client import CallContext, ModelClient, ToolCall

LETTERS = "ABCDEFGHIJKLMNOPQRST"
_UNSEEN = 2.0  # a letter that was not among the tokens given is less likely than the last of them, by so much
_ASK = "Actions at hand:\n{listed}\nThe letter of the best action:"

Bend = Callable[[Mapping[str, float]], Mapping[str, float]]
"""From the model's log-probability of each action to the bent one."""


@dataclass(frozen=True)
class Choice:
    """What was chosen among the actions at hand.

    Attributes:
        call: the action.
        logprobs: action -> the model's own log-probability, normalised over the actions at hand.
        probability: with which the action was chosen after bending.
    """

    call: ToolCall
    logprobs: Mapping[str, float]
    probability: float


@dataclass(frozen=True)
class Sampling:
    """How to choose: ``temperature`` (at 0 the likeliest), the episode's seed, the number of the decision."""

    temperature: float
    seed: int
    turn: int


def decide_by_letter(
    client: ModelClient,
    context: CallContext,
    messages: Sequence[Mapping[str, Any]],
    offered: Mapping[str, Action],
    bend: Bend | None,
    sampling: Sampling,
) -> Choice:
    """Ask the model for the log-probabilities of the actions at hand, bend them, and choose.

    Args:
        client: of the model.
        context: for the ledger.
        messages: the conversation so far, as stored.
        offered: the actions at hand by name, one to twenty.
        bend: adds what experience says; None for nothing.
        sampling: how to choose.

    Raises:
        ModelCallError: the call failed, or the endpoint gave no log-probabilities of letters.
    """
    wire = _wire(messages, list(offered))
    reply = client.chat(context, wire, temperature=0.0, seed=sampling.seed, top_logprobs=MOST_CHOICES)
    logits = _of_letters(reply.logprobs, list(offered))
    if logits is None:
        raise ModelCallError(
            "{model} gave no log-probabilities for the letters. Set model.action_mode to tools or json, and "
            "policy.way to hint.",
            model=reply.model,
        )
    bent = bend(logits) if bend is not None else logits
    action, probability = _choose(bent, sampling)
    chosen = offered[action]
    arguments = dict(chosen.arguments)
    raw = json.dumps(arguments, ensure_ascii=False)
    return Choice(ToolCall(f"call_{sampling.turn}", chosen.tool, arguments, raw), logits, probability)


def _wire(messages: Sequence[Mapping[str, Any]], actions: Sequence[str]) -> list[dict[str, Any]]:
    """Write the conversation without tools: what was done by name, results as user turns, the letters at the end."""
    wire: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            wire.append({"role": "user", "content": f"Result: {message['content']}"})
        elif message.get("choice"):
            wire.append({"role": "assistant", "content": message["choice"]["action"]})
        else:
            wire.append({"role": message["role"], "content": message.get("content") or ""})
    listed = "\n".join(f"{letter}) {action}" for letter, action in zip(LETTERS, actions, strict=False))
    wire.append({"role": "user", "content": _ASK.format(listed=listed)})
    return wire


def _of_letters(tokens: Mapping[str, float], actions: Sequence[str]) -> dict[str, float] | None:
    """Return the normalised log-probability of each action; None if no letter is among the tokens."""
    mass: dict[str, float] = {}
    for token, logprob in tokens.items():
        letter = token.strip().rstrip(").:")
        if len(letter) == 1 and letter in LETTERS[: len(actions)]:
            mass[letter] = mass.get(letter, 0.0) + math.exp(logprob)
    if not mass:
        return None
    least = math.log(max(min(mass.values()), 1e-30)) - _UNSEEN
    logs = [math.log(mass[letter]) if mass.get(letter) else least for letter in LETTERS[: len(actions)]]
    total = math.log(sum(math.exp(one) for one in logs))
    return {action: one - total for action, one in zip(actions, logs, strict=True)}


def _choose(logits: Mapping[str, float], sampling: Sampling) -> tuple[str, float]:
    best = max(logits, key=lambda action: logits[action])
    if sampling.temperature <= 0:
        return best, 1.0
    rng = random.Random(derive_seed(sampling.seed, "letter", sampling.turn))
    weights = {action: math.exp((value - logits[best]) / sampling.temperature) for action, value in logits.items()}
    total = sum(weights.values())
    chosen = rng.choices(list(weights), list(weights.values()))[0]
    return chosen, weights[chosen] / total
