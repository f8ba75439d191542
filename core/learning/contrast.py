"""Which episodes a reflection contrasts: passing against failing, same-task pairs first (design section 8)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from core.settings import RoundSettings
from core.tables import Episode


@dataclass(frozen=True)
class Batch:
    """The episodes of one reflection; ``passing[i]`` and ``failing[i]`` are a pair where ``i`` is in both."""

    passing: tuple[Episode, ...]
    failing: tuple[Episode, ...]


def make_batches(episodes: Sequence[Episode], settings: RoundSettings) -> list[Batch]:
    """Divide episodes into contrasting batches, one for every ``reflection_batch`` episodes at most.

    Tasks with mixed outcomes come first, as pairs of their best and worst episode, then passing and failing
    tasks of the same type; tasks of one type stand together, so that what they have in common can be seen.
    Where pairs run out, episodes of any tasks fill up to the least number of each side. Marginal episodes
    are not contrasted.
    """
    passing = [episode for episode in episodes if episode.grade == "pass"]
    failing = [episode for episode in episodes if episode.grade == "fail"]
    if not passing or not failing:
        return []
    pairs = _pairs(passing, failing)
    most = ceil(len(episodes) / settings.reflection_batch)
    batches: list[Batch] = []
    for start in range(0, max(len(pairs), 1), settings.digests_max):
        if len(batches) == most:
            break
        chosen = pairs[start : start + settings.digests_max]
        batches.append(_filled(chosen, passing, failing, settings.digests_min))
    return batches


def _pairs(passing: Sequence[Episode], failing: Sequence[Episode]) -> list[tuple[Episode, Episode]]:
    best: dict[str, Episode] = {}
    for episode in sorted(passing, key=lambda e: (-e.reward, e.turns, e.id)):
        best.setdefault(episode.task_id, episode)
    worst: dict[str, Episode] = {}
    for episode in sorted(failing, key=lambda e: (e.reward, e.turns, e.id)):
        worst.setdefault(episode.task_id, episode)
    mixed = sorted(best.keys() & worst.keys(), key=lambda task: (best[task].task_type, task))
    pairs = [(best[task], worst[task]) for task in mixed]
    rest = [best[task] for task in sorted(best.keys() - set(mixed))]
    others = [worst[task] for task in sorted(worst.keys() - set(mixed))]
    return pairs + _same_type_pairs(rest, others)


def _same_type_pairs(passing: Sequence[Episode], failing: Sequence[Episode]) -> list[tuple[Episode, Episode]]:
    """Pair passing with failing tasks of one type; the shorter side goes round again."""
    pairs: list[tuple[Episode, Episode]] = []
    for kind in sorted({e.task_type for e in passing} & {e.task_type for e in failing}):
        good = [episode for episode in passing if episode.task_type == kind]
        bad = [episode for episode in failing if episode.task_type == kind]
        count = max(len(good), len(bad))
        pairs += [(good[i % len(good)], bad[i % len(bad)]) for i in range(count)]
    return pairs


def _filled(
    pairs: Sequence[tuple[Episode, Episode]], passing: Sequence[Episode], failing: Sequence[Episode], least: int
) -> Batch:
    good = list({pair[0].id: pair[0] for pair in pairs}.values())
    bad = list({pair[1].id: pair[1] for pair in pairs}.values())
    return Batch(tuple(good + _more(good, passing, least)), tuple(bad + _more(bad, failing, least)))


def _more(chosen: Sequence[Episode], pool: Iterable[Episode], least: int) -> list[Episode]:
    """Take further episodes, of other tasks first of the types at hand, until there are ``least``."""
    tasks, types = {episode.task_id for episode in chosen}, {episode.task_type for episode in chosen}
    more: list[Episode] = []
    for episode in sorted(pool, key=lambda e: (e.task_type not in types, e.task_id, e.id)):
        if len(chosen) + len(more) >= least:
            break
        if episode.task_id not in tasks:
            tasks.add(episode.task_id)
            more.append(episode)
    return more
