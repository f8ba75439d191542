"""Knobs of memory and policy, a part of ``core.settings``."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class SettingsGroup(BaseModel):
    """Settings that belong together; immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MemorySettings(SettingsGroup):
    """Remembered decisions (design section 9)."""

    recall: Literal["similar", "two_phase"] = Field(
        "similar", description="How memories are chosen: by similarity, or by similarity and learned Q."
    )
    top_k: int = Field(10, ge=1, le=100, description="Memories retrieved for a state, by similarity.")
    min_similarity: float | None = Field(
        None, ge=-1, le=1, description="Cosine a memory needs in two phases; none: the embedding model's own."
    )
    candidates: int = Field(10, ge=1, le=1000, description="k1: candidates of the first phase.")
    chosen: int = Field(5, ge=1, le=100, description="k2: those that the second phase keeps.")
    q_weight: float = Field(0.5, ge=0, le=1, description="lambda: weight of Q in the second phase.")
    q_rate: float = Field(0.3, gt=0, le=1, description="Share of the way that Q moves to a new reward.")
    shown: int = Field(5, ge=1, le=50, description="New memories at most that one decision is shown.")
    max_tokens: int = Field(600, ge=50, description="Tokens the memories may take before one decision.")
    trust_outside: float = Field(0.7, ge=0, le=1, description="Trust in decisions of agents outside.")
    hot_hours: float = Field(72, gt=0, description="Hours for which a memory is hot ...")
    hot_count: int = Field(200, ge=0, description="... and so many of the latest are, whatever their age.")
    warm_days: float = Field(30, gt=0, description="Days for which a success stays warm.")
    warm_characters: int = Field(400, ge=50, description="Characters of a state that the tier warm keeps.")
    exact_until: int = Field(50_000, ge=1, description="Memories up to which the search looks at each one.")


class PolicySettings(SettingsGroup):
    """What experience adds to the model's choice of action (design section 10)."""

    phase: Literal["static", "recall", "reward", "adapt"] = Field(
        "static", description="How far experience reaches: not at all, memories, returns and Q, the adapter."
    )
    way: Literal["hint", "logit"] = Field(
        "hint", description="How preferences reach the model: a line in the prompt, or added to its log-probabilities."
    )
    advantage: bool = Field(True, description="From the phase reward on: advantages from remembered returns.")
    neighbours: int = Field(20, ge=1, le=1000, description="Nearest decisions whose returns make the advantages.")
    strange_share: float = Field(
        0.2,
        ge=0,
        le=1,
        description="Experience is silent in a state farther from memory than all but this share of memories are from "
        "those of other tasks; 0: it always speaks.",
    )
    hint_margin: float = Field(0.1, ge=0, description="A preference smaller than this is not worth a hint.")
    gamma: float = Field(0.95, ge=0, le=1, description="Discount of later rewards per step.")
    untried_bonus: float = Field(0.5, ge=0, description="alpha: an untried action is worth alpha/|N| more, by chance.")
    untried_chance: float = Field(0.2, ge=0, le=1, description="Chance that an untried action gets its bonus.")
    beta: float = Field(2.0, ge=0, description="Strength with which advantages bend the model's choice.")
    hidden: int = Field(64, ge=4, le=1024, description="Hidden units of the adapter.")
    learning_rate: float = Field(0.005, gt=0, le=1, description="Learning rate of the adapter.")
    state_noise: float = Field(
        2.0, ge=0, le=10, description="Length of the noise on states of length 1 while it learns; 0: learned by heart."
    )
    max_bias: float = Field(4.0, gt=0, le=50, description="Largest bias of an action, in logits.")
    max_step: float = Field(1.0, gt=0, description="Largest norm of one update's step over all weights.")
    undecided_bonus: float = Field(0.05, ge=0, description="Weight of the policy's entropy in an update.")
    hopeless_decay: float = Field(
        0.06, ge=0, description="How fast biases fade where hardly anything succeeds, so that other actions get a turn."
    )
    batch: int = Field(32, ge=1, le=1024, description="Decisions in one update.")
    updates_per_episode: int = Field(3, ge=1, le=100, description="Updates for each new episode ...")
    most_updates: int = Field(200, ge=1, le=10_000, description="... but no more than this in one round.")
    recent_share: float = Field(0.3, ge=0, le=1, description="Share of a batch from the last 24 hours.")
    positive_share: float = Field(0.4, ge=0, le=1, description="Share of high-impact successes of the past week.")
    replay: int = Field(100, ge=0, description="Best decisions ever, kept to be learned from again.")
    cold_episodes: int = Field(50, ge=0, description="No update before so many episodes ...")
    cold_hours: float = Field(24, ge=0, description="... and so many hours of experience.")
    guardrail_evaluations: int = Field(3, ge=1, description="Worse evaluations in a row that restore a snapshot.")
