"""The product's figures as Prometheus metrics; what they are and mean is said in ``core.views``."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlmodel import Session

from core.control import usable_settings
from core.i18n import TOO_FEW
from core.settings import Settings
from core.views.budget import Limit, budget
from core.views.conflicts import open_count
from core.views.episodes import episode_choices
from core.views.health import Gain, HealthRow, gain, health_rows
from core.views.history import waiting
from core.views.library import library_counts
from core.views.loop import LOOP_STATES, loop_state, rounds_by_verdict
from core.views.spend import spend

_PREFIX = "rulewright_"
_Sample = tuple[tuple[str, ...], float | None]


class Figures(Collector):
    """Reads all figures anew whenever it is asked.

    Args:
        session: for reading; one for all figures, so that they belong together.
        settings: of the start.
        now: aware.
    """

    def __init__(self, session: Session, settings: Settings, now: datetime) -> None:
        self._session = session
        self._settings = settings
        self._now = now
        self._environments = episode_choices(session).environments

    def collect(self) -> Iterator[Metric]:
        """Yield every family of metrics; one without a sample where there is nothing to tell."""
        yield from self._health()
        yield from self._gain()
        yield from self._library()
        yield from self._spend()
        yield from self._loop()

    def _health(self) -> Iterator[Metric]:
        newest: dict[tuple[str, ...], HealthRow] = {}
        for environment in self._environments:
            for row in health_rows(self._session, environment=environment):  # the oldest round comes first
                newest[environment, row.split, row.arm, row.metric] = row
        what = "Health metric of the newest round of its split and arm"
        counted = f"What it counts: episodes, tool calls, or judged pairs; below {TOO_FEW} is too few to tell"
        return _estimates("health", ("environment", "split", "arm", "metric"), newest, (what, counted))

    def _gain(self) -> Iterator[Metric]:
        found: dict[tuple[str, ...], Gain] = {}
        for environment in self._environments:
            newest = gain(self._session, environment=environment)
            if newest is not None:
                found[(environment,)] = newest
        what = "Held-out reward with the library minus without, newest round that measured it"
        return _estimates("gain", ("environment",), found, (what, "Tasks compared"))

    def _library(self) -> Iterator[Metric]:
        states = library_counts(self._session).by_state
        yield _gauge("rules", "Rules by state", ("state",), [((state,), n) for state, n in states.items()])
        yield _gauge("conflicts_open", "Conflicts between rules in use", (), [((), open_count(self._session))])
        queues = waiting(self._session, now=self._now)
        ages = [((one.queue,), None if one.oldest is None else one.oldest.total_seconds()) for one in queues]
        yield _gauge("queue_items", "Items that wait for people", ("queue",), [((one.queue,), one.n) for one in queues])
        yield _gauge("queue_oldest_age_seconds", "Age of the oldest of them; none if none waits", ("queue",), ages)

    def _spend(self) -> Iterator[Metric]:
        sums = spend(self._session, now=self._now)
        used = budget(self._session, usable_settings(self._session, self._settings).budget, now=self._now)
        purposes = [((purpose,), usage.cost_usd) for purpose, usage in sums.by_purpose.items()]
        yield _counter("spend_usd", "Price of all model calls, the stand-in's too", (), [((), sums.total_usd)])
        yield _counter("spend_by_purpose_usd", "Of it, by purpose", ("purpose",), purposes)
        yield _counter("spend_simulated_usd", "Of it, never paid: the stand-in's", (), [((), sums.simulated_usd)])
        yield _counter("calls", "Attempts of model calls", (), [((), sums.total.calls)])
        yield _counter("calls_of_unknown_price", "Of them, in no sum of money", (), [((), sums.unknown_price_calls)])
        limits = {"day": used.day, "total": used.total}
        yield _limits("spent", "Paid since midnight UTC, and in total", limits, [one.spent for one in limits.values()])
        yield _limits("soft_limit", "From here on pages warn", limits, [one.soft for one in limits.values()])
        yield _limits("limit", "From here on no call is made", limits, [one.hard for one in limits.values()])

    def _loop(self) -> Iterator[Metric]:
        loop = self._settings.loop
        state = loop_state(self._session, now=self._now, heartbeat_s=loop.heartbeat_s, lease_ttl_s=loop.lease_ttl_s)
        age = None if state.heartbeat_age is None else state.heartbeat_age.total_seconds()
        states = [((one,), float(one == state.status)) for one in LOOP_STATES]
        yield _gauge("loop_state", "1 for the state that the loop is in", ("state",), states)
        yield _gauge("loop_heartbeat_age_seconds", "Since its last sign of life; none if never", (), [((), age)])
        labels = ("environment", "status", "verdict")
        counted = [((one.environment, one.status, one.verdict), one.n) for one in rounds_by_verdict(self._session)]
        yield _gauge("rounds", "Rounds by how they ended and what the gate said", labels, counted)


def _estimates(
    name: str,
    labels: Sequence[str],
    found: Mapping[tuple[str, ...], HealthRow] | Mapping[tuple[str, ...], Gain],
    helps: tuple[str, str],
) -> Iterator[Metric]:
    """Yield values, interval ends, n and rounds; ``helps`` says what the value is, and what n counts."""
    fields = {
        "": ("value", helps[0]),
        "_low": ("low", "Lower end of its 95 % interval"),
        "_high": ("high", "Upper end of its 95 % interval"),
        "_n": ("n", helps[1]),
        "_round": ("round", "Round it was measured in; none for episodes from outside"),
    }
    for ending, (field, help_) in fields.items():
        yield _gauge(name + ending, help_, labels, [(place, getattr(one, field)) for place, one in found.items()])


def _limits(name: str, help_: str, limits: dict[str, Limit], values: Sequence[float | None]) -> Metric:
    samples = [((period,), value) for period, value in zip(limits, values, strict=True)]
    return _gauge(f"budget_{name}_usd", f"{help_}, USD", ("period",), samples)


def _gauge(name: str, help_: str, labels: Sequence[str], samples: Sequence[_Sample]) -> Metric:
    family = GaugeMetricFamily(_PREFIX + name, help_, labels=labels)
    return _with_samples(family, samples)


def _counter(name: str, help_: str, labels: Sequence[str], samples: Sequence[_Sample]) -> Metric:
    family = CounterMetricFamily(_PREFIX + name, help_, labels=labels)
    return _with_samples(family, samples)


def _with_samples(family: GaugeMetricFamily | CounterMetricFamily, samples: Sequence[_Sample]) -> Metric:
    for labels, value in samples:
        if value is not None:
            family.add_metric(labels, value)
    return family
