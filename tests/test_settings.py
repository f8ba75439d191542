"""Settings: the numbers of the design, where values come from, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from core.errors import UserError
from core.settings import ADJUSTABLE, Settings, load_settings, with_overrides

DESIGN = {
    "agent.max_turns": 10,
    "agent.learn_temperature": 0.8,
    "agent.rollouts_per_task": 3,
    "digest.min_tokens": 200,
    "digest.max_tokens": 300,
    "digest.steps_around": 2,
    "rules.min_units": 8,
    "rules.max_units": 40,
    "rules.refuse_units": 80,
    "rules.min_confidence": 0.7,
    "lifecycle.approval": "required",
    "lifecycle.verified_successes": 3,
    "lifecycle.harmful_probability": 0.95,
    "lifecycle.harmful_min_uses": 20,
    "lifecycle.unretrieved_rounds": 5,
    "lifecycle.probation_rounds": 3,
    "lifecycle.capacity": 120,
    "lifecycle.prune_share": 0.05,
    "utility.delta_weight": 0.5,
    "utility.exploration": 1.2,
    "utility.exploration_rising": 0.8,
    "utility.exploration_flat": 1.5,
    "utility.rule_holdout": 0.05,
    "utility.library_holdout": 0.1,
    "retrieval.semantic_weight": 0.7,
    "retrieval.top_k": 12,
    "retrieval.min_candidates": 1,
    "retrieval.max_candidates": 3,
    "retrieval.probation_factor": 0.5,
    "retrieval.max_tokens": 1500,
    "retrieval.max_share": 0.4,
    "retrieval.doubled": 3,
    "round.share_current": 0.7,
    "round.share_history": 0.2,
    "round.trigger_episodes": 20,
    "round.digests_min": 3,
    "round.digests_max": 5,
    "round.max_operations": 8,
    "simulation.follow_ends": 0.9,
    "simulation.follow_middle": 0.6,
    "simulation.comfortable_rules": 12,
}


def value_of(settings: Settings, name: str) -> Any:
    group, field = name.split(".")
    return getattr(getattr(settings, group), field)


@pytest.mark.parametrize(("name", "value"), DESIGN.items())
def test_defaults_are_the_numbers_of_the_design(name: str, value: object) -> None:
    assert value_of(load_settings(), name) == value


def test_every_setting_says_what_it_is_for() -> None:
    groups = [field.annotation for field in Settings.model_fields.values()]
    models = [group for group in groups if isinstance(group, type) and issubclass(group, BaseModel)]
    fields = [(model.__name__, name, field) for model in models for name, field in model.model_fields.items()]
    assert [(group, name) for group, name, field in fields if not field.description] == []
    assert len(fields) > 50


def test_explicit_beats_environment_beats_file_beats_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("RULEWRIGHT_ROUND__TASKS=11\nRULEWRIGHT_GATE__TASKS=12\nDATABASE_URL=sqlite:///f\n")
    monkeypatch.setitem(Settings.model_config, "env_file", str(file))  # tests are kept from reading a real one
    monkeypatch.setenv("RULEWRIGHT_GATE__TASKS", "13")
    monkeypatch.setenv("DATABASE_URL", "sqlite:///e")
    settings = load_settings(DATABASE_URL="sqlite:///x")
    assert (settings.round.tasks, settings.gate.tasks, settings.database_url) == (11, 13, "sqlite:///x")
    assert load_settings().database_url == "sqlite:///e"


def test_the_stand_in_answers_only_without_key_and_endpoint() -> None:
    assert load_settings().simulated
    assert not load_settings(OPENAI_API_KEY="k").simulated
    assert not load_settings(OPENAI_BASE_URL="http://127.0.0.1:1/v1").simulated


def test_the_key_is_not_printed() -> None:
    assert "sk-verysecret" not in repr(load_settings(OPENAI_API_KEY="sk-verysecret"))


@pytest.mark.parametrize(
    ("variable", "value", "named"),
    [
        ("RULEWRIGHT_ROUND__TASKS", "0", "round.tasks"),
        ("RULEWRIGHT_ROUND__TASKS", "many", "round.tasks"),
        ("RULEWRIGHT_LIFECYCLE__APPROVAL", "maybe", "lifecycle.approval"),
        ("RULEWRIGHT_ROUND__TUSKS", "3", "round.tusks"),
        ("RULEWRIGHT_AGENT__FAIL_REWARD", "0.9", "agent.fail_reward"),
        ("RULEWRIGHT_ROUND__SHARE_HISTORY", "0.4", "round.share_history"),
        ("RULEWRIGHT_DIGEST__MIN_TOKENS", "300", "digest.min_tokens"),
    ],
)
def test_an_unusable_value_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, named: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=named):
        load_settings()


def test_overrides_change_what_they_name_and_nothing_else() -> None:
    settings = load_settings()
    changed = with_overrides(settings, {"round.tasks": 7, "round.share_current": 0.5, "budget.per_day_usd": None})
    assert (changed.round.tasks, changed.round.share_current, changed.budget.per_day_usd) == (7, 0.5, None)
    assert changed.round.model_copy(update={"tasks": 40, "share_current": 0.7}) == settings.round
    assert settings.round.tasks == 40


def test_values_that_fit_only_together_are_accepted_together() -> None:
    together = {"round.share_current": 0.3, "round.share_history": 0.7}
    assert with_overrides(load_settings(), together).round.share_history == 0.7
    with pytest.raises(UserError, match="add up"):
        with_overrides(load_settings(), {"round.share_history": 0.7})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("round.tasks", 0),
        ("round.tasks", "many"),
        ("round.unknown", 1),
        ("round", {}),
        ("", 1),
        ("model.act", "gpt-x"),
        ("loop.seed", 2),
        ("database_url", "sqlite:///x"),
        ("agent.pass_reward", 0.2),
    ],
)
def test_overrides_refuse_what_is_out_of_range_unknown_or_fixed(name: str, value: object) -> None:
    with pytest.raises(UserError):
        with_overrides(load_settings(), {name: value})


def test_groups_that_need_a_restart_are_not_adjustable() -> None:
    assert set(ADJUSTABLE).isdisjoint({"model", "simulation", "embedding", "environment", "loop", "digest"})
