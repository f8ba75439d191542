"""What a learning run will cost before it is started (the reference table of design section 8).

Nothing here reads the ledger: what was really spent is in core.views.spend. Every figure of the plan follows
from a ``Workload`` by formula, so a manager can change one input and see the total move.
"""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from core.settings import GateSettings

_MILLION = 1_000_000


class Workload(BaseModel):
    """The inputs of a plan. The defaults are the reference workload, which gives 98.1 USD.

    Tokens are per call, prices in USD per million tokens, hours in hours.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: int = Field(1200, ge=0, description="Training tasks per iteration.")
    iterations: int = Field(3, ge=0, description="Learning iterations over all tasks.")
    rollouts_per_task: int = Field(1, ge=1, description="Rollouts of each task per iteration.")
    calls_per_rollout: float = Field(6, ge=0, description="Model calls (turns) in one rollout: 7,200 for 1,200 tasks.")
    rollout_input: float = Field(3500, ge=0, description="Input tokens of a rollout call: 25.2 M for 7,200 calls.")
    rollout_output: float = Field(350, ge=0, description="Output tokens of a rollout call: 2.52 M for 7,200 calls.")
    tasks_per_reflection: int = Field(20, ge=1, description="Tasks that one reflection contrasts: 60 calls.")
    reflection_input: float = Field(12000, ge=0, description="Input tokens of a reflection: 0.72 M for 60.")
    reflection_output: float = Field(1500, ge=0, description="Output tokens of a reflection: 0.09 M for 60.")
    verifications_per_task: float = Field(1, ge=0, description="Verifications of each task per iteration.")
    verification_input: float = Field(2500, ge=0, description="Input tokens of a verification: 9.0 M for 3,600.")
    verification_output: float = Field(200, ge=0, description="Output tokens of a verification: 0.72 M for 3,600.")
    retrievals_per_task: float = Field(
        6, ge=0, description="Retrievals per task and iteration; rollouts of one task share them (cached)."
    )
    retrieval_input: float = Field(300, ge=0, description="Input tokens of a retrieval: 6.5 M for 21,600.")
    gate_tasks: int = Field(0, ge=0, description="Held-out tasks evaluated per iteration and arm; 0: no gate.")
    gate_arms: int = Field(
        5, ge=0, description="Evaluations of each held-out task: before, after, empty, and two repeated (noise floor)."
    )
    retry_share: float = Field(0.4, ge=0, description="Retries on top of everything, as a share of its cost.")
    input_price: float = Field(0.55, ge=0, description="USD per million input tokens.")
    output_price: float = Field(2.20, ge=0, description="USD per million output tokens.")
    gpus: int = Field(8, ge=0, description="GPUs of the weight training that it is compared with.")
    gpu_hours: float = Field(168, ge=0, description="Hours that each GPU runs (168: one week).")
    gpu_price: float = Field(2.5, ge=0, description="USD per GPU-hour.")


@dataclass(frozen=True)
class PlanLine:
    """One line of the table, over all iterations; tokens are counts, cost is USD, nothing is rounded."""

    name: str
    calls: float
    input_tokens: float
    output_tokens: float
    cost_usd: float


@dataclass(frozen=True)
class Plan:
    """The table: its lines, their sum, retries, total, and the weight training beside it (USD)."""

    workload: Workload
    lines: tuple[PlanLine, ...]
    sum_usd: float
    retries_usd: float
    total_usd: float
    gpu_usd: float


def plan(workload: Workload) -> Plan:
    """Compute the table. Sums add the unrounded lines; round for display only."""
    w = workload
    tasks = w.tasks * w.iterations
    calls = {
        "rollouts": tasks * w.rollouts_per_task * w.calls_per_rollout,
        "reflection": tasks / w.tasks_per_reflection,
        "verification": tasks * w.verifications_per_task,
        "retrieval": tasks * w.retrievals_per_task,
        "gate": w.gate_tasks * w.iterations * w.gate_arms * w.calls_per_rollout,
    }
    tokens = {
        "rollouts": (w.rollout_input, w.rollout_output),
        "reflection": (w.reflection_input, w.reflection_output),
        "verification": (w.verification_input, w.verification_output),
        "retrieval": (w.retrieval_input, 0.0),
        "gate": (w.rollout_input, w.rollout_output),
    }
    shown = [name for name in calls if name != "gate" or w.gate_tasks]
    lines = tuple(_line(name, calls[name], tokens[name], w) for name in shown)
    total = sum(line.cost_usd for line in lines)
    return Plan(
        workload=w,
        lines=lines,
        sum_usd=total,
        retries_usd=total * w.retry_share,
        total_usd=total * (1 + w.retry_share),
        gpu_usd=w.gpus * w.gpu_hours * w.gpu_price,
    )


def with_gate(workload: Workload, gate: GateSettings, *, rollouts_per_task: int = 3) -> Workload:
    """Return the same workload as the product really runs it: several rollouts a task, and the gate priced.

    Assumes that every iteration evaluates ``gate.tasks`` held-out tasks once per arm, and that such a rollout
    takes as many calls and tokens as a training one. Reflection, verification and retrieval go by task, so
    more rollouts change the rollout line alone.
    """
    return workload.model_copy(update={"rollouts_per_task": rollouts_per_task, "gate_tasks": gate.tasks})


def _line(name: str, calls: float, tokens: tuple[float, float], w: Workload) -> PlanLine:
    taken, given = calls * tokens[0], calls * tokens[1]
    return PlanLine(name, calls, taken, given, (taken * w.input_price + given * w.output_price) / _MILLION)
