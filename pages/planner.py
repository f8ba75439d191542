"""The planner: what a run would cost before it is started; every figure can be changed, and is in the address."""

from typing import Any

import streamlit as st
from pydantic import ValidationError

from core.i18n import Translator, mark
from core.planning import Plan, Workload, plan, with_gate
from core.settings import Settings

_LINES = {
    "rollouts": mark("rollouts"),
    "reflection": mark("reflection"),
    "verification": mark("verification"),
    "retrieval": mark("retrieval"),
    "gate": mark("gate"),
}
_PREFIX = "plan_"


def show_planner(t: Translator, settings: Settings) -> None:
    """Show the reference table, the same workload as the product runs it, and training the weights instead."""
    changes = _inputs(t)
    try:
        reference = Workload.model_validate(changes)
    except ValidationError as error:
        st.error(t("The plan cannot be computed: {problems}", problems=_problems(error)), icon=":material/error:")
        return
    gated = with_gate(reference, settings.gate, rollouts_per_task=settings.agent.rollouts_per_task)
    honest = gated.model_copy(update={name: getattr(reference, name) for name in changes if name in _OWN})
    left, right = st.columns(2)
    with left:
        _table(t, t("Reference workload"), plan(reference))
    with right:
        _table(t, t("As the product runs it: more rollouts, and the gate priced"), plan(honest))
    st.caption(t("Every figure that was changed is in this page's address: share it to share the plan."))


_OWN = ("rollouts_per_task", "gate_tasks")


def _inputs(t: Translator) -> dict[str, Any]:
    """Return the figures that differ from the reference, as given in the address or typed in."""
    with st.expander(t("Figures of the plan"), icon=":material/tune:"):
        columns = st.columns(3)
        values = {name: _input(t, columns[place % 3], name) for place, name in enumerate(Workload.model_fields)}
    return {name: value for name, value in values.items() if value != Workload.model_fields[name].default}


def _input(t: Translator, column: Any, name: str) -> Any:
    field = Workload.model_fields[name]
    low = next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), 0)
    kind = int if field.annotation is int else float
    return column.number_input(
        name.replace("_", " "),
        min_value=kind(low),
        value=kind(field.default),
        step=kind(1) if kind is int or field.default >= 10 else 0.05,
        key=f"{_PREFIX}{name}",
        help=t(field.description or ""),
        bind="query-params",
    )


def _table(t: Translator, title: str, found: Plan) -> None:
    with st.container(border=True, height="stretch"):
        st.caption(title)  # a metric's own label is cut off on a narrow screen
        st.metric(title, t.money(found.total_usd), label_visibility="collapsed")
        rows = [
            {
                t("Line"): _name(t, line.name),
                t("Calls"): t.number(line.calls),
                t("Input tokens, M"): t.number(line.input_tokens / 1e6, 2),
                t("Output tokens, M"): t.number(line.output_tokens / 1e6, 2),
                t("USD"): t.number(line.cost_usd, 1),
            }
            for line in found.lines
        ]
        share = t.percent(found.workload.retry_share)
        sums = {t("sum"): found.sum_usd, t("retries ({share})", share=share): found.retries_usd}
        sums |= {t("total"): found.total_usd, t("weight training instead"): found.gpu_usd}
        blank = dict.fromkeys((t("Calls"), t("Input tokens, M"), t("Output tokens, M")), "")
        rows += [{t("Line"): name, **blank, t("USD"): t.number(usd, 1)} for name, usd in sums.items()]
        st.table(rows, hide_index=True)
        if found.total_usd > 0:
            st.caption(
                t(
                    "Training the weights on {gpus} GPUs for {hours} hours costs {times} times as much.",
                    gpus=t.number(found.workload.gpus),
                    hours=t.number(found.workload.gpu_hours),
                    times=t.number(found.gpu_usd / found.total_usd, 1),
                )
            )


def _name(t: Translator, line: str) -> str:
    return t(_LINES[line])


def _problems(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
