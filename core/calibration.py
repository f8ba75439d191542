"""Cosine thresholds of an embedding model, measured on labelled pairs of rules (design section 3).

Each model has its own scale of cosines (MiniLM puts paraphrases near 0.86, e5 near 0.94), and a pair in two
languages scores lower than one in a single language; so there is one threshold for each case. The labelled
pairs are in ``data/calibration.jsonl``, results for known models in ``data/embeddings.json``.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from core.text import has_cjk

DATA = Path(__file__).resolve().parents[1] / "data"

PairKind = Literal["duplicate", "same_condition"]
Encode = Callable[[Sequence[str]], np.ndarray]

# A duplicate proposed wrongly costs one judgement, one never proposed is lost: recall counts more. A wrong
# "same condition" can put a false conflict before people, and shared words are a second way to find it. Two
# languages share few words, and the model judges every conflict between them: there recall counts more again.
_BETA: dict[PairKind, float] = {"duplicate": 2.0, "same_condition": 1.0}
_BETA_MIXED = 2.0


@dataclass(frozen=True)
class Thresholds:
    """Cosines in [-1, 1] at or above which a pair is proposed; ``mixed``: one text Chinese, the other not.

    Attributes:
        duplicate: whole rules that may say the same.
        same_condition: conditions that may be the same.
        duplicate_mixed: as ``duplicate``, across languages.
        same_condition_mixed: as ``same_condition``, across languages.
    """

    duplicate: float
    same_condition: float
    duplicate_mixed: float
    same_condition_mixed: float


@dataclass(frozen=True)
class LabelledPair:
    """Two texts and whether they mean the same."""

    kind: PairKind
    a: str
    b: str
    same: bool

    @property
    def mixed(self) -> bool:
        """True when exactly one of the texts is Chinese."""
        return has_cjk(self.a) != has_cjk(self.b)


@dataclass(frozen=True)
class Fit:
    """One threshold and how well it separates its pairs; rates in [0, 1]."""

    threshold: float
    auc: float
    precision: float
    recall: float
    n: int


@dataclass(frozen=True)
class Calibration:
    """Thresholds of a model with the measurements behind them, by the names of ``Thresholds``."""

    thresholds: Thresholds
    fits: dict[str, Fit]

    def entry(self) -> dict[str, object]:
        """Return what ``data/embeddings.json`` holds for the model."""
        fits = {name: {key: round(value, 4) for key, value in asdict(fit).items()} for name, fit in self.fits.items()}
        return {"thresholds": asdict(self.thresholds), "measured": fits}


def stored_thresholds(model: str) -> Thresholds | None:
    """Return the thresholds stored for a model, or None for a model nobody has measured."""
    entry = json.loads((DATA / "embeddings.json").read_text("utf-8"))["models"].get(model)
    return None if entry is None else Thresholds(**entry["thresholds"])


@cache
def calibration_pairs() -> tuple[LabelledPair, ...]:
    """Read the labelled pairs that are shipped."""
    lines = (DATA / "calibration.jsonl").read_text("utf-8").splitlines()
    return tuple(LabelledPair(**json.loads(line)) for line in lines if line.strip())


def calibrate(encode: Encode, pairs: Sequence[LabelledPair] | None = None) -> Calibration:
    """Measure a model's thresholds.

    Args:
        encode: texts to unit vectors, shape (n, dim); both sides of a pair are encoded the same way.
        pairs: labelled pairs; the shipped ones by default. Each of the four cases needs both labels.
    """
    pairs = calibration_pairs() if pairs is None else pairs
    left, right = encode([pair.a for pair in pairs]), encode([pair.b for pair in pairs])
    cosines = np.einsum("ij,ij->i", left, right)
    fits: dict[str, Fit] = {}
    for kind in _BETA:
        for mixed in (False, True):
            chosen = np.array([pair.kind == kind and pair.mixed == mixed for pair in pairs])
            same = np.array([pair.same for pair in pairs])[chosen]
            beta = _BETA_MIXED if mixed else _BETA[kind]
            fits[kind + ("_mixed" if mixed else "")] = fit_threshold(cosines[chosen], same, beta)
    return Calibration(Thresholds(**{name: fit.threshold for name, fit in fits.items()}), fits)


def fit_threshold(cosines: np.ndarray, same: np.ndarray, beta: float) -> Fit:
    """Find the threshold with the best F score, in the middle of the gap below its lowest accepted pair.

    Args:
        cosines: shape (n,).
        same: labels, bool, shape (n,); both values occur.
        beta: weight of recall against precision.
    """
    ordered = np.unique(cosines)
    scores = [_f_score(cosines >= cut, same, beta) for cut in ordered]
    best = max(range(len(ordered)), key=lambda i: (scores[i], ordered[i]))
    below = ordered[best - 1] if best else ordered[best]
    threshold = round(float((ordered[best] + below) / 2), 4)
    accepted = cosines >= threshold
    hits = int((accepted & same).sum())
    wins = cosines[same][:, None] > cosines[~same][None, :]
    return Fit(
        threshold=threshold,
        auc=float(wins.mean()),
        precision=hits / max(1, int(accepted.sum())),
        recall=hits / max(1, int(same.sum())),
        n=len(same),
    )


def _f_score(accepted: np.ndarray, same: np.ndarray, beta: float) -> float:
    hits = int((accepted & same).sum())
    missed, wrong = int(same.sum()) - hits, int(accepted.sum()) - hits
    return (1 + beta**2) * hits / ((1 + beta**2) * hits + beta**2 * missed + wrong)
