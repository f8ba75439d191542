"""A small network from a state's embedding to a bias per action (design section 10; after articles on MemRL).

Policy gradient (REINFORCE) with a learned baseline, on remembered decisions. Those were made by earlier policies,
so their weight is corrected by how much likelier the action is now, at most twofold. Two things keep it from
settling on the first success: a bonus for undecidedness, and a bias that never exceeds ``max_bias``. Where hardly
anything has succeeded, biases fade: failing as expected teaches nothing there, and a lucky success would hold for good.
States are blurred while it learns (noise on the input, which amounts to a Tikhonov penalty: Bishop, 1995): a state is
met once or twice, and learned by heart it would say nothing about those like it.
"""

import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from core.settings_experience import PolicySettings

_SMALLEST_CORRECTION, _LARGEST_CORRECTION = 0.5, 2.0
_FIRST_WEIGHTS = 1.0
_HOPELESS = -0.5  # expected return of a state below which biases fade: fewer than one in four succeed there
_SETTLED = 5_000  # decisions after which the mean of the states moves only slowly
_IMPOSSIBLE = -1e4  # as a log-probability; finite, so that gradients stay finite


@dataclass(frozen=True)
class Decision:
    """One remembered decision as the adapter learns from it.

    Attributes:
        state: embedding of the state, shape (dim,).
        action: what was done.
        candidates: all actions at hand then, with the model's own log-probabilities; ``action`` is one of them.
        probability: of the action when it was chosen, in (0, 1].
        value: return of the decision.
        replayed: one of the best ever, drawn so that it is not forgotten: it pulls towards itself, whatever the
            baseline says (which would call such a success no more than expected).
    """

    state: np.ndarray
    action: str
    candidates: Mapping[str, float]
    probability: float
    value: float
    replayed: bool = False


class Adapter:
    """The network and its optimiser; on the CPU, one thread, the same numbers for the same calls.

    Args:
        dim: of the embeddings.
        settings: size, learning rate, limits.
        seed: of the first weights.
    """

    def __init__(self, dim: int, settings: PolicySettings, seed: int) -> None:
        self._settings = settings
        generator = torch.Generator().manual_seed(seed)
        self._actions: dict[str, int] = {}
        self._hidden = (_FIRST_WEIGHTS * torch.randn(settings.hidden, dim, generator=generator)).requires_grad_()
        self._out = torch.zeros(0, settings.hidden, requires_grad=True)
        self._value = torch.zeros(settings.hidden + 1, requires_grad=True)
        self._centre, self._seen = torch.zeros(dim), 0
        self._optimiser = self._new_optimiser()
        self.updates = 0

    @property
    def actions(self) -> tuple[str, ...]:
        """All actions it has learned something about, in the order it met them."""
        return tuple(self._actions)

    @property
    def dim(self) -> int:
        """Length of the embeddings it takes."""
        return int(self._hidden.shape[1])

    def bias(self, state: np.ndarray, candidates: Sequence[str]) -> dict[str, float]:
        """Return what to add to each candidate's logit, within +-max_bias; 0 for an action it never met.

        Of states that another embedding model encoded it knows nothing.

        Args:
            state: shape (dim,).
            candidates: the actions at hand.
        """
        known = [action for action in candidates if action in self._actions and len(state) == self.dim]
        found = dict.fromkeys(candidates, 0.0)
        if known:
            with torch.no_grad(), _one_thread():
                hidden = self._features(self._inputs([state]))
                values = self._biases(hidden)[0]
            found |= {action: float(values[self._actions[action]]) for action in known}
        return found

    def update(self, batch: Sequence[Decision]) -> float:
        """Take one step on a batch.

        Args:
            batch: any number of decisions, at least one.

        Returns:
            Norm of the step over all weights, at most ``max_step``.
        """
        with _one_thread():
            self._meet(action for one in batch for action in one.candidates)
            self._move_centre(batch)
            before = [weight.detach().clone() for weight in self._weights()]
            self._optimiser.zero_grad()
            self._loss(batch).backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()
            self.updates += 1
            return self._shorten(before)

    def snapshot(self) -> bytes:
        """Return everything that later behaviour hangs on; ``restored`` gives it back bit for bit."""
        buffer = io.BytesIO()
        weights = [weight.detach() for weight in self._weights()]
        state = {"weights": weights, "optimiser": self._optimiser.state_dict(), "actions": list(self._actions)}
        torch.save(state | {"updates": self.updates, "centre": self._centre, "seen": self._seen}, buffer)
        return buffer.getvalue()

    @classmethod
    def restored(cls, snapshot: bytes, settings: PolicySettings) -> "Adapter":
        """Return the adapter as it was when the snapshot was taken."""
        state = torch.load(io.BytesIO(snapshot), weights_only=True)
        hidden, out, value = state["weights"]
        adapter = cls(hidden.shape[1], settings, seed=0)
        adapter._hidden, adapter._out, adapter._value = (one.clone().requires_grad_() for one in (hidden, out, value))
        adapter._actions = {action: place for place, action in enumerate(state["actions"])}
        adapter._optimiser = adapter._new_optimiser()
        adapter._optimiser.load_state_dict(state["optimiser"])
        adapter.updates, adapter._centre, adapter._seen = state["updates"], state["centre"], state["seen"]
        return adapter

    def _weights(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self._hidden, self._out, self._value

    def _new_optimiser(self) -> torch.optim.Adam:
        return torch.optim.Adam(self._weights(), lr=self._settings.learning_rate)

    def _move_centre(self, batch: Sequence[Decision]) -> None:
        """Keep the mean of the states in view; it settles, so that what was learned keeps its meaning."""
        states = torch.as_tensor(np.stack([one.state for one in batch]), dtype=torch.float32)
        self._seen = min(self._seen + len(batch), _SETTLED)
        self._centre = self._centre + (states.mean(dim=0) - self._centre) * (len(batch) / self._seen)

    def _inputs(self, states: Sequence[np.ndarray]) -> torch.Tensor:
        """Return states less their mean, at unit length: embeddings of unlike states have much in common."""
        away = torch.as_tensor(np.stack(list(states)), dtype=torch.float32) - self._centre
        return torch.nn.functional.normalize(away, dim=1)

    def _blurred(self, states: torch.Tensor) -> torch.Tensor:
        """Return states with noise, drawn anew for each update and the same for the same update."""
        generator = torch.Generator().manual_seed(self.updates)
        noise = torch.randn(states.shape, generator=generator) / math.sqrt(self.dim)
        return torch.nn.functional.normalize(states + self._settings.state_noise * noise, dim=1)

    def _features(self, states: torch.Tensor) -> torch.Tensor:
        return torch.tanh(states @ self._hidden.T)

    def _biases(self, features: torch.Tensor) -> torch.Tensor:
        """Return the biases of all actions met so far, shape (states, actions)."""
        limit = self._settings.max_bias
        return limit * torch.tanh(self._strengths(features) / limit)

    def _strengths(self, features: torch.Tensor) -> torch.Tensor:
        """Return the biases before they are limited."""
        return features @ self._out.T

    def _loss(self, batch: Sequence[Decision]) -> torch.Tensor:
        states = self._inputs([one.state for one in batch])
        features = self._features(self._blurred(states))
        returns = torch.tensor([one.value for one in batch])
        baseline = features @ self._value[:-1] + self._value[-1]
        hopeless = (_HOPELESS - baseline.detach()).clamp(min=0.0, max=1.0)
        prior = self._logits(batch)
        logs = torch.log_softmax(self._biases(features) + prior, dim=1)
        chosen = logs[range(len(batch)), [self._actions[one.action] for one in batch]]
        corrections = chosen.detach().exp() / torch.tensor([one.probability for one in batch])
        replayed = torch.tensor([one.replayed for one in batch])
        better = torch.where(replayed, returns, returns - baseline).detach()
        gains = corrections.clamp(_SMALLEST_CORRECTION, _LARGEST_CORRECTION) * better * chosen
        undecided = -(logs.exp() * logs.clamp(min=_IMPOSSIBLE)).sum(dim=1)
        policy = gains + self._settings.undecided_bonus * undecided
        missed = torch.where(replayed, 0.0, (returns - baseline) ** 2)
        # Of the states as they are: on blurred ones it would weaken what was learned of all others.
        at_hand = torch.where(prior > _IMPOSSIBLE, self._strengths(self._features(states)), 0.0)
        faded = self._settings.hopeless_decay * hopeless * at_hand.square().sum(dim=1)
        return 0.5 * missed.mean() - policy.mean() + faded.mean()

    def _logits(self, batch: Sequence[Decision]) -> torch.Tensor:
        """Return the model's own log-probabilities over all actions; those not at hand are as good as impossible."""
        logits = torch.full((len(batch), len(self._actions)), _IMPOSSIBLE)
        for row, one in enumerate(batch):
            places = [self._actions[action] for action in one.candidates]
            logits[row, places] = torch.tensor(list(one.candidates.values()))
        return logits

    def _meet(self, actions: Iterable[str]) -> None:
        """Give new actions a place in the last layer, with no preference."""
        fresh = [action for action in dict.fromkeys(actions) if action not in self._actions]
        if not fresh:
            return
        for action in fresh:
            self._actions[action] = len(self._actions)
        rows = torch.zeros(len(fresh), self._out.shape[1])
        moments = self._optimiser.state.pop(self._out, None)
        self._out = torch.cat([self._out.detach(), rows]).requires_grad_()
        self._optimiser.param_groups[0]["params"][1] = self._out
        if moments:
            for name in ("exp_avg", "exp_avg_sq"):
                moments[name] = torch.cat([moments[name], rows])
            self._optimiser.state[self._out] = moments

    def _shorten(self, before: Sequence[torch.Tensor]) -> float:
        """Cut a step that is too long, so that one batch cannot undo what many have taught."""
        with torch.no_grad():
            steps = [weight - old for weight, old in zip(self._weights(), before, strict=True)]
            norm = math.sqrt(sum(float((step**2).sum()) for step in steps))
            limit = self._settings.max_step
            if norm > limit:
                for weight, old, step in zip(self._weights(), before, steps, strict=True):
                    weight.copy_(old + step * (limit / norm))
        return min(norm, limit)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch to one thread: these products are small, and waiting for a busy second core takes ten times longer."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
