"""One rollout: an agent lives through one task of an environment (design section 7).

Knows nothing of rules: it gets a finished system prompt, and perhaps somebody to ask for advice at every step.
What the episode is worth to learning is decided elsewhere.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from core.environments.protocol import MOST_CHOICES, Action, ChoosingEnvironment, Environment, StepResult, TaskSpec
from core.episodes.actions import names_of
from core.episodes.json_actions import as_json_messages, decide_as_json
from core.episodes.letters import Sampling, decide_by_letter
from core.errors import ModelCallError, UserError
from core.llm.client import CallContext, ModelClient, ToolCall

_OURS = ("failed", "reward", "choice")  # keys of messages that no endpoint knows
_NUDGE = "Go on with exactly one tool call, or stop if the task is done."


@dataclass
class Trace:
    """What happened. ``error`` is set when a model call failed for good; such an episode proves nothing."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    reward: float = 0.0
    done: bool = False
    error: str | None = None


OWN_AGENT = "rulewright"
"""Name of the agent that rolls out tasks here; episodes from outside name their own."""


@dataclass(frozen=True)
class RolloutPlan:
    """What is to be rolled out; ``seed`` drives the environment and the model's sampling alike.

    ``advise`` returns what is to be said before a decision, given what happened so far, or ''. ``bend`` adds what
    experience says to the log-probabilities of the actions at hand, where the model chooses by letter.
    """

    episode_id: str
    task: TaskSpec
    system: str
    seed: int
    temperature: float
    max_turns: int
    action_mode: str
    round_number: int | None = None
    advise: Callable[[Trace], str] | None = None
    bend: Callable[[Trace, Mapping[str, float]], Mapping[str, float]] | None = None


def run_episode(client: ModelClient, environment: Environment, plan: RolloutPlan) -> Trace:
    """Roll one task out and return its trace; a failing model call ends it and is recorded in it.

    Raises:
        BudgetExceededError: the limit on spend is reached; the episode is to be run again later.
    """
    first = environment.reset(plan.task, plan.seed)
    opening = f"{plan.task.query}\n\n{first}" if first else plan.task.query
    trace = Trace([{"role": "system", "content": plan.system}, {"role": "user", "content": opening}])
    nudged = False
    for turn in range(plan.max_turns):
        if plan.advise is not None and (advice := plan.advise(trace)):
            trace.messages.append({"role": "system", "content": advice})
        try:
            message, calls = _decide(client, environment, plan, trace, turn)
        except ModelCallError as error:
            trace.error = str(error)
            break
        trace.messages.append(message)
        if not calls:
            if nudged or turn + 1 == plan.max_turns:
                break
            nudged = True
            trace.messages.append({"role": "user", "content": _NUDGE})
            continue
        _carry_out(environment, calls, trace)
        if trace.done:
            break
    return trace


def _decide(
    client: ModelClient, environment: Environment, plan: RolloutPlan, trace: Trace, turn: int
) -> tuple[dict[str, Any], tuple[ToolCall, ...]]:
    context = CallContext("act", episode_id=plan.episode_id, round_number=plan.round_number, agent=OWN_AGENT)
    if plan.action_mode == "letters":
        return _decide_by_letter(client, environment, plan, trace, context, turn)
    sampling = {"temperature": plan.temperature, "seed": plan.seed}
    if plan.action_mode == "json":
        call = decide_as_json(client, context, as_json_messages(trace.messages), environment.tools, sampling, turn)
        return _assistant("", (call,)), (call,)
    reply = client.chat(
        context,
        [{key: value for key, value in message.items() if key not in _OURS} for message in trace.messages],
        tools=[_as_function(tool.name, tool.description, tool.parameters) for tool in environment.tools],
        temperature=plan.temperature,
        seed=plan.seed,
    )
    return _assistant(reply.content, reply.tool_calls), reply.tool_calls


def _decide_by_letter(
    client: ModelClient, environment: Environment, plan: RolloutPlan, trace: Trace, context: CallContext, turn: int
) -> tuple[dict[str, Any], tuple[ToolCall, ...]]:
    choices = environment.choices() if isinstance(environment, ChoosingEnvironment) else ()
    if not choices:
        raise UserError(
            "The environment {name} does not list the actions at hand, which choosing by letter needs. Set "
            "model.action_mode to tools or json.",
            name=environment.name,
        )
    names = names_of(environment)
    offered = {names.of(action): action for action in choices[:MOST_CHOICES]}
    bend = partial(plan.bend, trace) if plan.bend is not None else None
    sampling = Sampling(plan.temperature, plan.seed, turn)
    choice = decide_by_letter(client, context, trace.messages, offered, bend, sampling)
    message = _assistant("", (choice.call,))
    action = names.named(choice.call.name, choice.call.arguments)
    message["choice"] = {"action": action, "logprobs": dict(choice.logprobs), "probability": choice.probability}
    return message, (choice.call,)


def _carry_out(environment: Environment, calls: tuple[ToolCall, ...], trace: Trace) -> None:
    """Carry out the calls in order; once the episode is over, later ones are answered without effect."""
    for call in calls:
        if trace.done:
            result = StepResult("The episode is over.")
        elif call.malformed:
            result = StepResult("error: the arguments are not a JSON object", failed=True)
        else:
            result = environment.step(Action(call.name, call.arguments))
        trace.reward += result.reward
        trace.done = trace.done or result.done
        trace.messages.append(
            {
                "role": "tool",
                "tool_call_id": call.id,
                "name": call.name,
                "content": result.observation,
                "failed": result.failed,
                "reward": result.reward,
            }
        )


def _assistant(content: str, calls: tuple[ToolCall, ...]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    if calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    # As read, not as written: an endpoint refuses a history with broken JSON in it.
                    "arguments": json.dumps(dict(call.arguments), ensure_ascii=False),
                },
            }
            for call in calls
        ]
    return message


def _as_function(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": dict(parameters)},
    }
