"""How the stand-in model acts: a prior over actions from what it reads, bent by the rules in its prompt."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.llm.simulated.dice import gumbel, uniform
from core.llm.simulated.experience import Experience, heeded
from core.llm.simulated.reading import ReadRule, content_terms, coverage, read_rules
from core.llm.simulated.toolbox import Option, Toolbox, read_tools
from core.settings import SimulationSettings

_CERTAIN = 0.85
_PROMISING = 0.3  # worth another look: one of two parts has come up
_LOOKS = (2, 3, 4)  # looks before it acts, drawn per task
_MOST_LOOKS = 6
_ANCHOR = 8.0  # how far words of the task sway what is done ...
_FINDING = 1.5  # ... and words of what was found since
_PLACE_STRENGTH = 5.0  # how far words in common sway where it is done
_TRIED = -4.0  # it did not help once
_PLACE_NOISE = 0.7
_RULED, _TOLD, _TOO_EARLY = 10.0, 5.0, 4.0  # in likings: a rule's word, experience's, the wrong time to act or look
_LISTED, _REJECTED = 2.0, -6.0  # what an error message says about a value
_UNSTABLE = 0.08  # share of tasks whose choices differ between seeds even at temperature 0, as with real endpoints


@dataclass(frozen=True)
class Situation:
    """Everything the model was shown, read once."""

    rules: tuple[ReadRule, ...]
    experience: Experience
    toolbox: Toolbox
    done: tuple[Option, ...]
    failed: frozenset[Option]
    seen: frozenset[str]
    hints: Mapping[str, float]
    task: str
    seed: str
    noisy: bool = True

    @property
    def looks(self) -> int:
        """Looks taken so far that showed something."""
        return sum(option.looking and option not in self.failed for option in self.done)

    @property
    def looks_planned(self) -> int:
        """Looks it means to take before it acts."""
        return _LOOKS[int(uniform(self.seed, self.task, "looks") * len(_LOOKS))]

    def noise(self, *parts: object) -> float:
        """A draw that depends on seed, task and parts; 0 where likings are asked for and no choice."""
        return gumbel(self.seed, self.task, *parts) if self.noisy else 0.0


def choose(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    temperature: float,
    seed: int,
    settings: SimulationSettings,
) -> Option | None:
    """Return the next call, or None when nothing is left to do."""
    situation = _read(messages, tools, temperature, seed, settings)
    followed = _followed(situation, settings)
    allowed = _allowed(situation, followed)
    if not allowed:
        return None
    # A rule whose condition has come up in part says more than single cases that were alike: it looks there first.
    by_rule = _by_rule(situation, followed, allowed) or _by_hint(situation, followed, allowed)
    return by_rule or _by_experience(situation, allowed) or _by_prior(situation, followed, allowed)


def preferred(situation: Situation, settings: SimulationSettings) -> dict[Option, float]:
    """Return how well it likes each option: what it would do by rule most, then what experience and reading say."""
    followed = _followed(situation, settings)
    allowed = _allowed(situation, followed)
    by_rule = _by_rule(situation, followed, allowed) if allowed else None
    acts = situation.looks >= situation.looks_planned
    likings = {}
    for option in situation.toolbox.options:
        liking = _main_score(option.main, situation) + _place_score(option, situation)
        liking += _RULED if option == by_rule else 0.0
        liking += _TOLD * situation.experience.told.get(option, 0.0)
        liking -= _TOO_EARLY if option.looking == acts else 0.0
        likings[option] = liking if option in allowed else liking - _RULED
    return likings


def _allowed(situation: Situation, followed: list[ReadRule]) -> list[Option]:
    """Return what has not been done and no rule that holds forbids."""
    forbidden = frozenset(name for rule in followed if rule.holds(situation.seen) for name in rule.forbids)
    remaining = [option for option in situation.toolbox.sensible if option not in situation.done]
    return [option for option in remaining if option.main not in forbidden] or remaining


def _by_experience(situation: Situation, allowed: list[Option]) -> Option | None:
    """Return what led to good ends in situations like this; it acts on that only after it has looked."""
    looked = situation.looks >= situation.looks_planned or not any(option.looking for option in allowed)
    return situation.experience.favoured([option for option in allowed if option.looking or looked])


def _by_rule(situation: Situation, followed: list[ReadRule], allowed: list[Option]) -> Option | None:
    matching = list(_matching(situation, followed, allowed))
    if not matching:
        return None
    best = max(rank for rank, _ in matching)
    option = next(option for rank, option in matching if rank == best)
    looks = [option for option in allowed if option.looking]
    if option.looking or situation.looks >= _MOST_LOOKS or not looks:
        return option
    hinted = _hinted(situation, followed, looks)
    if hinted is not None and best[1] < 2:
        return hinted  # a more specific rule may hold: look where it says before acting on a general one
    if len({option.main for rank, option in matching if rank == best}) > 1:
        return hinted or _by_prior(situation, followed, looks)  # two rules disagree: look again before acting
    return option


def _matching(
    situation: Situation, followed: list[ReadRule], allowed: list[Option]
) -> Iterator[tuple[tuple[float, int], Option]]:
    """Yield the next step of each rule that holds, ranked by how well it matches, then how specific it is."""
    looked = situation.looks >= situation.looks_planned or not any(option.looking for option in allowed)
    for rule in followed:
        match = rule.match(situation.seen)
        option = _next_of(rule, situation, allowed) if rule.holds(situation.seen) else None
        confirmed = match >= _CERTAIN and len(rule.condition) > 1  # a finding was asked for and seen
        if option is not None and (option.looking or looked or confirmed):
            yield (round(match, 1), len(rule.condition)), option


def _by_hint(situation: Situation, followed: list[ReadRule], allowed: list[Option]) -> Option | None:
    """Return the look that a rule hints at, as long as it has not looked enough."""
    if situation.looks >= _MOST_LOOKS:
        return None
    return _hinted(situation, followed, [option for option in allowed if option.looking])


def _hinted(situation: Situation, followed: list[ReadRule], looks: list[Option]) -> Option | None:
    """Return the look that a rule names whose condition has come up in part."""
    hopeful = sorted(_hopeful(situation, followed), key=lambda rule: -rule.match(situation.seen))
    return next((o for rule in hopeful for o in looks if {o.main, o.place} <= rule.looks), None)


def _hopeful(situation: Situation, followed: list[ReadRule]) -> list[ReadRule]:
    """Return the rules whose condition has come up in part."""
    seen = situation.seen
    return [rule for rule in followed if rule.match(seen) >= _PROMISING and not rule.holds(seen)]


def _next_of(rule: ReadRule, situation: Situation, allowed: list[Option]) -> Option | None:
    """Return the rule's first prescribed step that has not been taken."""
    settled = {option.main for option in situation.done if option not in situation.failed}
    for want in rule.wants:
        options = [option for option in allowed if option.main == want]
        if options and want not in settled:
            return max(options, key=lambda option: (option.place in rule.wants, _place_score(option, situation)))
    return None


def _by_prior(situation: Situation, followed: list[ReadRule], allowed: list[Option]) -> Option:
    allowed = situation.experience.without_bad(allowed)
    planned = _MOST_LOOKS - 1 if _hopeful(situation, followed) else situation.looks_planned
    acted = any(not option.looking for option in situation.done)
    pool = [option for option in allowed if option.looking != (acted or situation.looks >= planned)] or allowed
    main = max({option.main for option in pool}, key=lambda name: (_main_score(name, situation), name))
    return max(
        (option for option in pool if option.main == main),
        key=lambda option: (_place_score(option, situation), option.values),
    )


def _main_score(name: str, situation: Situation) -> float:
    tried = any(option.main == name and option not in situation.failed for option in situation.done)
    anchored = situation.toolbox.affinity(name, content_terms(situation.task))
    found = situation.toolbox.affinity(name, situation.seen)
    drawn = situation.noise("main", name)
    score = _ANCHOR * anchored + _FINDING * found + drawn + (_TRIED if tried else 0.0)
    fitting = situation.toolbox.places.get(name)
    involved = fitting is None or any(situation.toolbox.affinity(place, situation.seen) for place in fitting)
    return score if involved else score + _REJECTED


def _place_score(option: Option, situation: Situation) -> float:
    hint = situation.hints.get(option.place, 0.0)
    near = situation.toolbox.affinity(option.place, situation.seen) if option.place else 0.0
    return hint + _PLACE_STRENGTH * near + _PLACE_NOISE * situation.noise("place", option.main, option.place)


def _followed(situation: Situation, settings: SimulationSettings) -> list[ReadRule]:
    """Return the rules this model heeds in this task: not all, and fewer in the middle or in a crowd."""
    crowd = max(1.0, len(situation.rules) / settings.comfortable_rules)
    heeded = []
    for rule in situation.rules:
        chance = (settings.follow_ends if rule.at_end else settings.follow_middle) / crowd**0.5
        excluded = coverage(rule.exclusion, situation.seen) >= 0.8
        if not excluded and uniform(situation.seed, situation.task, "follow", rule.text) < chance:
            heeded.append(rule)
    return heeded


def _read(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]],
    temperature: float,
    seed: int,
    settings: SimulationSettings,
) -> Situation:
    system = "\n".join(str(m.get("content") or "") for m in messages if m["role"] == "system")
    shown = [str(m.get("content") or "") for m in messages if m["role"] in ("user", "tool")]
    return situation_of(system, shown, list(_calls(messages)), read_tools(tools), temperature, seed, settings)


def situation_of(
    system: str,
    shown: Sequence[str],
    calls: Sequence[tuple[Option, str]],
    toolbox: Toolbox,
    temperature: float,
    seed: int,
    settings: SimulationSettings,
) -> Situation:
    """Put together what the model was shown: its system texts, the task and results, and its calls so far."""
    task = shown[0] if shown else ""
    errors = [(option, result) for option, result in calls if _is_error(result)]
    drawn = _effective_seed(task, temperature, seed, settings)
    return Situation(
        rules=read_rules(system, toolbox.identifiers),
        experience=heeded(system, task, drawn, settings),
        toolbox=toolbox,
        done=tuple(option for option, _ in calls),
        failed=frozenset(option for option, _ in errors),
        seen=frozenset().union(*(content_terms(text) for text in shown if not _is_error(text))),
        hints=_hints(errors, toolbox),
        task=task,
        seed=drawn,
    )


def _hints(errors: Sequence[tuple[Option, str]], toolbox: Toolbox) -> dict[str, float]:
    """Learn from error messages: values they list are good, the value that was given is not."""
    hints: dict[str, float] = {}
    for option, result in errors:
        listed = set(result.rpartition(":")[2].replace(",", " ").replace(".", " ").split())
        for name in toolbox.identifiers:
            if name in listed:
                hints[name] = _LISTED
        if option.place and option.place not in listed:
            hints[option.place] = _REJECTED
    return hints


def _effective_seed(task: str, temperature: float, seed: int, settings: SimulationSettings) -> str:
    """At temperature 0 the seed matters only now and then, as it does with real endpoints."""
    if temperature > 0 or uniform(settings.seed, task, seed, "unstable") < _UNSTABLE:
        return f"{settings.seed}/{seed}"
    return str(settings.seed)


def _is_error(result: str) -> bool:
    return result.lower().startswith("error:")


def _calls(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Option, str]]:
    """Yield the calls made so far with their results."""
    results = {m["tool_call_id"]: str(m.get("content") or "") for m in messages if m["role"] == "tool"}
    for message in messages:
        for call in message.get("tool_calls") or []:
            try:
                arguments = json.loads(call["function"]["arguments"] or "{}")
            except json.JSONDecodeError:
                arguments = {}
            option = Option(call["function"]["name"], tuple(arguments.items()))
            yield option, results.get(call["id"], "")
