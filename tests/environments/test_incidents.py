"""The incidents world as an agent meets it."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.environments.incidents import Incidents, solution
from core.environments.incidents_content import load_types, load_world
from core.environments.incidents_schedule import load_cases
from core.environments.protocol import Action, Environment, StepResult, TaskSpec
from core.errors import UserError

TASKS = list(Incidents().tasks())
ROLES = ["service", "database", "cache", "upstream", "gateway", "host"]


def _task(kind: str) -> TaskSpec:
    return next(task for task in TASKS if task.type == kind)


def _opened(task: TaskSpec, seed: int = 1) -> Incidents:
    environment = Incidents()
    parts = ", ".join(load_types()[task.type].topology)
    assert environment.reset(task, seed) == f"Parts involved: {parts}."
    return environment


def _look(tool: str, component: str) -> Action:
    return Action(tool, {"component": component})


def _apply(remedy: str, component: str) -> Action:
    return Action("apply_remedy", {"remedy": remedy, "component": component})


def _parts(task: TaskSpec, remedy: str) -> list[str]:
    """Parts of the incident that a remedy can be applied to."""
    fitting = load_world().remedies[remedy].components
    return [role for role in load_types()[task.type].topology if role in fitting]


def _harmless(task: TaskSpec) -> Action:
    """A legal remedy that is neither the right nor the harmful one."""
    hidden = solution(task.id)
    others = [name for name in load_world().remedies if name not in (hidden.remedy, hidden.wrong)]
    name = next(name for name in others if _parts(task, name))
    return _apply(name, _parts(task, name)[0])


def test_it_is_an_environment_with_six_tools_to_look_and_one_to_act():
    environment: Environment = Incidents()
    assert len(environment.tools) == 7
    for tool in environment.tools:
        assert tool.parameters["properties"]["component"]["enum"] == ROLES
    assert environment.tools[-1].parameters["required"] == ["remedy", "component"]
    assert len(environment.task_types) == 15


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_whoever_knows_the_cause_gets_full_marks(task):
    hidden = solution(task.id)
    environment = _opened(task)
    first = environment.step(_look(*hidden.decisive[0]))
    last = environment.step(_apply(hidden.remedy, hidden.component))
    assert (first.reward, first.done, first.failed) == (0.2, False, False)
    assert (last.reward, last.done, last.failed) == (0.8, True, False)


@pytest.mark.parametrize("kind", load_types())
def test_every_decisive_place_counts_once(kind):
    task = _task(kind)
    environment = _opened(task)
    rewards = [environment.step(_look(*place)).reward for place in solution(task.id).decisive]
    assert rewards == [0.2] + [0.0] * (len(rewards) - 1)


@pytest.mark.parametrize("kind", load_types())
def test_the_wrong_fix_harms_wherever_it_can_be_applied_and_a_second_time_ends_it(kind):
    task = _task(kind)
    for component in _parts(task, solution(task.id).wrong):
        environment = _opened(task)
        environment.step(_look(*solution(task.id).decisive[0]))
        harmed = environment.step(_apply(solution(task.id).wrong, component))
        assert "worse" in harmed.observation
        assert (harmed.reward, harmed.done) == (-0.2, False)
        assert environment.step(_apply(solution(task.id).wrong, component)).done


def test_the_right_remedy_on_another_part_has_no_effect():
    task = _task("pool_exhaustion")
    environment = _opened(task)
    missed = environment.step(_apply("shorten_timeouts", "gateway"))
    assert "no effect" in missed.observation
    assert (missed.reward, missed.done, missed.failed) == (0.0, False, False)
    assert environment.step(_apply("shorten_timeouts", "service")).reward == 0.6


def test_the_right_remedy_after_a_harmful_one_gives_what_is_left():
    environment = _opened(_task("slow_query"))
    environment.step(_apply("roll_back_release", "service"))
    assert environment.step(_apply("rebuild_index", "database")).reward == 0.4


def test_three_wrong_remedies_end_the_incident_and_nothing_can_follow():
    task = _task("cache_stampede")
    environment = _opened(task)
    results = [environment.step(_harmless(task)) for _ in range(3)]
    assert [result.done for result in results] == [False, False, True]
    after = environment.step(_apply("stagger_expiry", "cache"))
    assert (after.reward, after.done, after.failed) == (0.0, True, True)


BAD_CALLS = [
    (Action("reboot", {}), "query_metrics"),
    (Action("query_metrics", {}), "service, database, cache, upstream, gateway, host"),
    (Action("query_metrics", {"component": "orders-pg"}), "service, database, cache"),
    (Action("query_metrics", {"component": ["service"]}), "service, database, cache"),
    (Action("query_metrics", {"component": None}), "service, database, cache"),
    (Action("query_metrics", {"component": "service", "since": "1h"}), "component"),
    (Action("query_metrics", "service"), "component"),
    (Action("query_metrics", {"component": "host"}), "service, database, cache, gateway"),
    (Action("list_deploys", {"component": "database"}), "service, upstream, gateway"),
    (Action("apply_remedy", {"component": "service"}), "rebuild_index"),
    (Action("apply_remedy", {"remedy": "pray", "component": "service"}), "rebuild_index"),
    (Action("apply_remedy", {"remedy": "rebuild_index", "component": "upstream"}), "it works on: database"),
    (
        Action("apply_remedy", {"remedy": "trim_archives", "component": "host"}),
        "service, database, cache, gateway",
    ),
]


@pytest.mark.parametrize(("action", "known"), BAD_CALLS)
def test_a_bad_call_is_flagged_says_what_is_known_and_costs_nothing(action, known):
    environment = _opened(_task("slow_query"))  # involves service, database, cache and gateway
    failed = environment.step(action)
    assert failed.failed
    assert (failed.reward, failed.done) == (0.0, False)
    assert failed.observation.startswith("error: ")
    assert known in failed.observation
    environment.step(_look("query_metrics", "database"))
    assert environment.step(_apply("rebuild_index", "database")).reward == 0.8


def test_a_step_before_any_reset_is_flagged():
    assert Incidents().step(_look("query_metrics", "service")).failed


def test_a_task_of_another_world_is_refused():
    stranger = TaskSpec("else-1", "slow_query", "?", TASKS[0].created_at, "train")
    with pytest.raises(UserError, match="else-1"):
        Incidents().reset(stranger, 1)


def test_the_same_task_and_seed_give_the_same_episode():
    task = TASKS[17]
    actions = [_look("query_metrics", role) for role in ROLES] + [_harmless(task)]
    runs = [[environment.step(action) for action in actions] for environment in (_opened(task), _opened(task))]
    assert runs[0] == runs[1]


def test_other_seeds_change_numbers_but_not_the_evidence():
    task = _task("retry_storm")
    seen = {_opened(task, seed).step(_look("query_metrics", "upstream")).observation for seed in range(20)}
    assert len(seen) > 10
    assert all("four of five arrivals are repeats" in text for text in seen)


def test_instances_do_not_disturb_each_other():
    one, other = _opened(_task("disk_full")), _opened(_task("memory_leak"))
    one.step(_apply("restart_processes", "database"))
    assert other.step(_apply("restart_processes", "service")).reward == 0.9
    assert one.step(_apply("trim_archives", "host")).reward == 0.4


def test_an_instance_is_cheap():
    Incidents()
    start = time.perf_counter()
    for _ in range(100):
        Incidents()
    assert time.perf_counter() - start < 1


def test_nothing_an_agent_sees_gives_the_solution_away():
    for task in TASKS:
        hidden = solution(task.id)
        environment = _opened(task)
        seen = [task.query, task.id, environment.background, environment.scoring]
        seen += [
            environment.step(_look(tool.name, role)).observation for tool in environment.tools[:6] for role in ROLES
        ]
        harmful = _apply(hidden.wrong, _parts(task, hidden.wrong)[0])
        seen += [environment.step(action).observation for action in (_harmless(task), harmful)]
        assert not any(hidden.remedy in text or hidden.wrong in text for text in seen)


TOOL_NAMES = st.one_of(st.sampled_from([tool.name for tool in Incidents().tools]), st.text(max_size=8))
COMPONENTS = st.one_of(st.sampled_from(ROLES), st.none(), st.integers(), st.lists(st.text(), max_size=1))
REMEDIES = st.one_of(st.sampled_from(list(load_world().remedies)), st.text(max_size=8), st.none())
ARGUMENTS = st.one_of(
    st.fixed_dictionaries({"component": COMPONENTS}, optional={"remedy": REMEDIES}),
    st.dictionaries(st.text(max_size=9), st.integers(), max_size=2),
)
ACTIONS = st.lists(st.builds(Action, TOOL_NAMES, ARGUMENTS), max_size=14)


@settings(max_examples=150, deadline=None)
@given(task=st.sampled_from(TASKS), seed=st.integers(0, 2**31 - 1), actions=ACTIONS)
def test_whatever_is_done_the_total_stays_between_0_and_1(task, seed, actions):
    environment = _opened(task, seed)
    total, done = 0.0, False
    for action in actions:
        result = environment.step(action)
        assert isinstance(result, StepResult)
        assert result.observation
        assert not (result.failed and result.reward)
        total += result.reward
        assert -1e-9 <= total <= 1 + 1e-9
        assert result.done or not done
        done = result.done


def test_the_hidden_solution_is_no_attribute_of_the_environment():
    public = [name for name in dir(Incidents()) if not name.startswith("_")]
    assert public == ["background", "name", "reset", "scoring", "step", "task_types", "tasks", "tools"]
    assert set(load_cases()) == {task.id for task in TASKS}
