"""Every knob of the product: typed, with its unit, range and reason.

Values come, weakest first, from the defaults here, ``.env``, the environment (``RULEWRIGHT_GROUP__NAME``;
``OPENAI_API_KEY``, ``OPENAI_BASE_URL`` and ``DATABASE_URL`` under their usual names), and, for the groups
in ``ADJUSTABLE``, what a person changed on the Loop page (kept in the database).
"""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from core.errors import UserError
from core.settings_experience import MemorySettings, PolicySettings, SettingsGroup

Purpose = Literal["act", "digest", "reflect", "judge"]
Approval = Literal["required", "auto"]


class ModelSettings(SettingsGroup):
    """Which model does what, and how calls are retried (design section 2)."""

    act: str = Field("gpt-4o-mini", description="Model that acts as the agent in rollouts.")
    digest: str = Field("gpt-4o-mini", description="Cheap model that condenses episodes.")
    reflect: str = Field("gpt-4o", description="Model that contrasts episodes and writes rules.")
    judge: str = Field("gpt-4o-mini", description="Model that judges equivalence, conflict and compliance.")
    action_mode: Literal["tools", "json", "letters"] = Field(
        "tools",
        description="How the agent names its action: native tool calls, JSON after a schema (small models), or the "
        "letter of one of the actions at hand (environments that list them; gives log-probabilities).",
    )
    json_schema: bool = Field(
        True, description="Endpoint honours response_format json_schema; off: the schema goes into the prompt."
    )
    stream: bool = Field(
        False, description="Take answers as a stream, for endpoints that give no others or cut long silences off."
    )
    timeout_s: float = Field(
        60, gt=0, le=600, description="Seconds before one attempt is given up; in a stream, seconds of silence."
    )
    attempts: int = Field(5, ge=1, le=10, description="Attempts per request; each one is a ledger row.")
    backoff_initial_s: float = Field(0.5, ge=0, le=60, description="First wait between attempts, seconds.")
    backoff_max_s: float = Field(20, ge=0, le=600, description="Longest wait between attempts, seconds.")
    cached_in_input: bool = Field(
        True, description="Endpoint counts cached tokens inside input tokens (OpenAI does; some do not)."
    )
    concurrency: int = Field(4, ge=1, le=64, description="Rollouts running at the same time.")
    max_output_tokens: int = Field(1200, ge=16, le=32000, description="Limit on output tokens of one call.")


class SimulationSettings(SettingsGroup):
    """The stand-in model that answers when there is no key (design section 2)."""

    seed: int = Field(7, ge=0, description="Seed of the stand-in's choices.")
    follow_ends: float = Field(0.9, ge=0, le=1, description="Chance to follow a rule at the prompt's ends.")
    follow_middle: float = Field(0.6, ge=0, le=1, description="Chance to follow a rule in the middle.")
    comfortable_rules: int = Field(12, ge=1, description="Rules in a prompt before following gets harder.")
    mix_up_rate: float = Field(0.04, ge=0, le=0.8, description="Share of its lessons that are the wrong way round.")
    malformed_rate: float = Field(0.02, ge=0, le=1, description="Share of structured answers cut off.")
    rate_limit_rate: float = Field(0.01, ge=0, le=1, description="Share of attempts answered with 429.")
    timeout_rate: float = Field(0.005, ge=0, le=1, description="Share of attempts that time out.")


class EmbeddingSettings(SettingsGroup):
    """Sentence embeddings (design section 2; thresholds per model in data/embeddings.json)."""

    model: str = Field(
        "packaged:multilingual-e5-small",
        description="'packaged:multilingual-e5-small' (offline), or any sentence-transformers model or path.",
    )


class EnvironmentSettings(SettingsGroup):
    """Where tasks come from (design section 2)."""

    name: str = Field(
        "incidents",
        description="'incidents', 'textworld', 'recorded:NAME' for imported episodes, or 'module:Class'.",
    )


class AgentSettings(SettingsGroup):
    """Rollouts (design section 7)."""

    max_turns: int = Field(10, ge=1, le=100, description="Model turns before an episode is cut.")
    learn_temperature: float = Field(0.8, ge=0, le=2, description="Temperature when learning.")
    rollouts_per_task: int = Field(3, ge=1, le=20, description="Rollouts of each task in a round.")
    pass_reward: float = Field(0.8, ge=-1, le=1, description="Reward at or above which an episode passes.")
    fail_reward: float = Field(0.3, ge=-1, le=1, description="Reward at or below which an episode fails.")


class DigestSettings(SettingsGroup):
    """Digests of episodes (design section 7)."""

    min_tokens: int = Field(200, ge=20, description="Shortest digest, estimated tokens (if there is so much to say).")
    max_tokens: int = Field(300, ge=50, description="Longest digest, estimated tokens.")
    steps_around: int = Field(2, ge=0, le=5, description="Steps kept whole before and after the decisive one.")
    condense: bool = Field(True, description="Let the cheap model condense the extraction.")


class RuleSettings(SettingsGroup):
    """Length, quality, duplicates, conflicts (design section 3)."""

    min_units: int = Field(8, ge=1, description="Shorter than this many length units is a slogan.")
    max_units: int = Field(40, ge=5, description="Longer than this goes back once for shortening.")
    refuse_units: int = Field(80, ge=10, description="Longer than this is refused.")
    min_confidence: float = Field(0.7, ge=0, le=1, description="Confidence below which a rule is refused.")


class LifecycleSettings(SettingsGroup):
    """When a rule changes its state (design section 4)."""

    approval: Approval = Field("required", description="Who lets a verified rule go live: a person, or nobody.")
    verified_successes: int = Field(3, ge=1, description="Verified successes in different episodes to go live.")
    harmful_probability: float = Field(0.95, gt=0.5, lt=1, description="P(worse than baseline) that is harmful.")
    harmful_min_uses: int = Field(20, ge=1, description="Uses before a rule can be called harmful.")
    unretrieved_rounds: int = Field(5, ge=1, description="Rounds unretrieved before a candidate is archived.")
    probation_rounds: int = Field(3, ge=1, description="Rounds on probation without recovery before archive.")
    trimmed_share: float = Field(0.5, gt=0, le=1, description="Share of prompts that trimmed a rule: probation.")
    capacity: int = Field(120, ge=1, description="Rules (not archived) the library holds per domain.")
    prune_share: float = Field(0.05, ge=0, le=0.5, description="Share of lowest utility retired each round.")
    diversity_bonus: float = Field(0.1, ge=0, le=1, description="Utility a rule unlike all others has more at pruning.")
    prune_min_uses: int = Field(20, ge=1, description="Uses before a rule can be in the retired share.")


class UtilitySettings(SettingsGroup):
    """Utility of a rule (design section 5)."""

    scorer: Literal["ucb", "thompson"] = Field("ucb", description="UCB formula, or Thompson sampling.")
    delta_weight: float = Field(0.5, ge=0, description="Weight of avg_delta in the utility.")
    exploration: float = Field(1.2, ge=0, description="c of the UCB term at the start.")
    exploration_rising: float = Field(0.8, ge=0, description="c after the held-out score rose for 2 rounds.")
    exploration_flat: float = Field(1.5, ge=0, description="c after the held-out score was flat for 3 rounds.")
    rule_holdout: float = Field(0.05, ge=0, lt=1, description="Chance that a retrieved rule is left out.")
    library_holdout: float = Field(0.1, ge=0, lt=1, description="Chance that the whole library is left out.")


class RetrievalSettings(SettingsGroup):
    """Which rules a prompt carries, and in what room (design section 6)."""

    semantic_weight: float = Field(0.7, ge=0, le=1, description="Weight of meaning; the rest is utility.")
    cosine_share: float = Field(0.5, ge=0, le=1, description="Share of embedding cosine in meaning; rest BM25.")
    top_k: int = Field(12, ge=1, le=100, description="Rules in a prompt at most.")
    min_candidates: int = Field(1, ge=0, description="Candidates in a prompt at least, when there are any.")
    max_candidates: int = Field(3, ge=0, description="Candidates in a prompt at most.")
    probation_factor: float = Field(0.5, ge=0, le=1, description="Factor on the score of a rule on probation.")
    max_tokens: int = Field(1500, ge=50, description="Tokens the rules may take in a prompt.")
    max_share: float = Field(0.4, gt=0, le=1, description="Share of the system prompt the rules may take.")
    doubled: int = Field(3, ge=0, description="Best rules shown at the start and again at the end.")
    per_step: bool = Field(False, description="Look for further rules at every step, with what was seen last.")
    step_rules: int = Field(3, ge=1, le=20, description="Further rules at most that one step brings.")
    rewrite: bool = Field(False, description="Let the cheap model add words of intent to a task before the search.")


class RoundSettings(SettingsGroup):
    """The learning round (design section 8)."""

    tasks: int = Field(40, ge=1, le=1000, description="Training tasks rolled out per round.")
    share_current: float = Field(0.7, ge=0, le=1, description="Share of tasks taken from the newest unseen.")
    share_history: float = Field(0.2, ge=0, le=1, description="Share taken from seen ones; the rest is edge.")
    trigger_episodes: int = Field(20, ge=1, description="New outside episodes that start a round.")
    trigger_success_rate: float = Field(0.3, ge=0, le=1, description="Success of the last 20 below this: at once.")
    trigger_cooldown_s: float = Field(600, ge=0, description="Seconds before the success trigger fires again.")
    reflection_batch: int = Field(20, ge=2, description="Episodes per reflection call.")
    digests_min: int = Field(3, ge=1, description="Passing and failing digests a reflection needs to be full.")
    digests_max: int = Field(5, ge=1, description="Passing and failing digests a reflection gets at most.")
    max_operations: int = Field(8, ge=1, le=50, description="Operations taken from one reflection.")
    judged_pairs: int = Field(12, ge=0, description="Rule-episode pairs the model judges per round.")


class GateSettings(SettingsGroup):
    """Held-out evaluation (design section 8)."""

    tasks: int = Field(60, ge=1, le=2000, description="Held-out tasks per evaluation, balanced over types.")
    min_tasks: int = Field(10, ge=1, description="Fewer held-out tasks than this: no verdict.")
    mode: Literal["default", "strict"] = Field(
        "default", description="default commits a positive mean difference; strict only an interval above 0."
    )
    no_type_worse: bool = Field(False, description="Stricter: no task type may get worse.")
    bootstrap_samples: int = Field(2000, ge=100, le=100000, description="Resamples of the paired bootstrap.")
    patience: int = Field(5, ge=1, description="Rounds without a better held-out score before the loop rests.")


class ReviewSettings(SettingsGroup):
    """How people share the work of review (design section 12)."""

    claim_minutes: float = Field(
        10, gt=0, le=1440, description="Minutes for which an item is kept for whoever has it before them."
    )
    second_opinion: str = Field(
        "", description="Domains whose rules need several approvals, separated by commas; * for all."
    )
    approvals: int = Field(2, ge=2, le=10, description="Approvals, each by another person, that such a rule needs.")

    def approvals_for(self, domain: str) -> int:
        """Return how many people have to approve a rule of this domain."""
        named = {one.strip() for one in self.second_opinion.split(",")} - {""}
        return self.approvals if named & {domain, "*"} else 1


class BudgetSettings(SettingsGroup):
    """Spend limits, USD (design section 8)."""

    per_day_usd: float | None = Field(10.0, ge=0, description="Hard limit per UTC day; none: no limit.")
    total_usd: float | None = Field(100.0, ge=0, description="Hard limit in total; none: no limit.")
    soft_share: float = Field(0.8, ge=0, le=1, description="Share of a hard limit from which on pages warn.")
    round_act_usd: float | None = Field(None, ge=0, description="Planned USD a round for acting; none: no plan.")
    round_digest_usd: float | None = Field(None, ge=0, description="Planned USD a round for digests; none: no plan.")
    round_reflect_usd: float | None = Field(None, ge=0, description="Planned USD a round to reflect; none: no plan.")
    round_judge_usd: float | None = Field(None, ge=0, description="Planned USD a round for judging; none: no plan.")


class LoopSettings(SettingsGroup):
    """The loop's thread and its lease (design section 1)."""

    autostart: Literal["simulated", "always", "never"] = Field(
        "simulated", description="When the loop starts by itself; with a paid model a person starts it."
    )
    heartbeat_s: float = Field(2, gt=0, description="Seconds between heartbeats of the lease.")
    lease_ttl_s: float = Field(15, gt=1, description="Seconds without heartbeat before a lease is void.")
    idle_s: float = Field(1, gt=0, description="Seconds between looks for work.")
    seed: int = Field(1, ge=0, description="Seed of task sampling, rollouts and hold-outs.")


class AccessSettings(SettingsGroup):
    """People and their accounts (design section 12)."""

    first_admin: str | None = Field(
        None, description="E-mail address of the administrator who is created when sign-in is on and there is none."
    )


class MetricsSettings(SettingsGroup):
    """Figures for Prometheus at ``/api/metrics`` (design section 12)."""

    key: SecretStr | None = Field(
        None, min_length=16, description="Key that a scraper sends as bearer token; none: the address is not served."
    )


class Settings(BaseSettings):
    """All settings; immutable, read once at the edge and passed down."""

    model_config = SettingsConfigDict(
        env_prefix="RULEWRIGHT_",
        env_nested_delimiter="__",
        env_file=".env",
        extra="ignore",
        frozen=True,
        populate_by_name=True,
    )

    database_url: str = Field(
        "sqlite:///data/rulewright.db", validation_alias="DATABASE_URL", description="Where all state lives."
    )
    openai_api_key: SecretStr | None = Field(
        None, validation_alias="OPENAI_API_KEY", description="Key of the endpoint; none: the simulated model."
    )
    openai_base_url: str | None = Field(
        None, validation_alias="OPENAI_BASE_URL", description="OpenAI-compatible endpoint; none: OpenAI."
    )
    language: Literal["auto", "en", "zh"] = Field("auto", description="Language of pages; auto: the browser's.")
    model: ModelSettings = ModelSettings()
    simulation: SimulationSettings = SimulationSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    environment: EnvironmentSettings = EnvironmentSettings()
    agent: AgentSettings = AgentSettings()
    digest: DigestSettings = DigestSettings()
    rules: RuleSettings = RuleSettings()
    lifecycle: LifecycleSettings = LifecycleSettings()
    utility: UtilitySettings = UtilitySettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    round: RoundSettings = RoundSettings()
    memory: MemorySettings = MemorySettings()
    policy: PolicySettings = PolicySettings()
    gate: GateSettings = GateSettings()
    review: ReviewSettings = ReviewSettings()
    budget: BudgetSettings = BudgetSettings()
    loop: LoopSettings = LoopSettings()
    access: AccessSettings = AccessSettings()
    metrics: MetricsSettings = MetricsSettings()

    @property
    def simulated(self) -> bool:
        """True when there is neither a key nor an endpoint, so the stand-in model answers."""
        key = self.openai_api_key.get_secret_value() if self.openai_api_key is not None else ""
        return not key and not self.openai_base_url

    @property
    def action_mode(self) -> str:
        """How agents act: "tools" (native tool calls), "json" or "letters"; the stand-in model knows no JSON."""
        return "tools" if self.simulated and self.model.action_mode == "json" else self.model.action_mode

    @model_validator(mode="after")
    def _consistent(self) -> "Settings":
        _check_together(self)
        return self


def _check_together(settings: Settings) -> None:
    """Refuse values that are each in range but make no sense together."""
    if settings.agent.fail_reward >= settings.agent.pass_reward:
        raise ValueError("agent.fail_reward must be below agent.pass_reward")
    if settings.round.share_current + settings.round.share_history > 1:
        raise ValueError("round.share_current and round.share_history must not add up to more than 1")
    if settings.digest.min_tokens >= settings.digest.max_tokens:
        raise ValueError("digest.min_tokens must be below digest.max_tokens")


ADJUSTABLE = (
    "agent",
    "rules",
    "lifecycle",
    "utility",
    "retrieval",
    "round",
    "memory",
    "policy",
    "gate",
    "review",
    "budget",
)
"""Groups that a person may change while the product runs; the rest needs a restart."""

PHASE = "policy.phase"
"""Changed by a way of its own, since a phase has to be ready."""


def load_settings(**explicit: Any) -> Settings:
    """Read settings from the environment and ``.env``.

    Args:
        **explicit: values that beat every other source, by field name or by environment alias.

    Raises:
        UserError: a value is missing, of the wrong type or out of range; names each one.
    """
    try:
        return Settings(**explicit)
    except ValidationError as error:
        raise UserError("Settings are not usable: {problems}", problems=_problems(error)) from error


def with_overrides(settings: Settings, overrides: Mapping[str, Any]) -> Settings:
    """Return settings with ``{"group.name": value}`` changes applied and checked as a whole.

    Raises:
        UserError: an unknown or not adjustable name, or a value out of range.
    """
    data: dict[str, dict[str, Any]] = {}
    for path, value in overrides.items():
        group, _, name = path.partition(".")
        if group not in ADJUSTABLE or name not in getattr(settings, group).model_fields_set | set(
            type(getattr(settings, group)).model_fields
        ):
            raise UserError("There is no adjustable setting {name}.", name=path)
        data.setdefault(group, getattr(settings, group).model_dump())[name] = value
    try:
        groups = {name: type(getattr(settings, name)).model_validate(values) for name, values in data.items()}
        changed = settings.model_copy(update=groups)
        _check_together(changed)
        return changed
    except ValidationError as error:
        raise UserError("Settings are not usable: {problems}", problems=_problems(error)) from error
    except ValueError as error:
        raise UserError("Settings are not usable: {problems}", problems=str(error)) from error


def _problems(error: ValidationError) -> str:
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc']) or 'settings'}: {problem['msg']}"
        for problem in error.errors()
    )
