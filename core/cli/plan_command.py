"""``plan``: what a run will cost, before it is started."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from core.i18n import Translator
    from core.planning import Plan, Workload


def plan_command(
    figures: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="Inputs to change; the output lists every name."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Price a workload, beside training the weights instead.

    Shows the reference table, and the same workload as the product runs it:
    several rollouts of each task, and the gate's held-out rollouts priced.

    For example:

    python -m core plan

    python -m core plan tasks=2400 input_price=0.15 output_price=0.6
    """
    from core.cli.edge import settings_for
    from core.planning import plan, with_gate

    settings = settings_for(None)
    changes = _changes(figures or [])
    reference = _workload(changes)
    gated = with_gate(reference, settings.gate, rollouts_per_task=settings.agent.rollouts_per_task)
    plans = {"reference": plan(reference), "with_gate": plan(_workload({**gated.model_dump(), **changes}))}
    if as_json:
        typer.echo(json.dumps({name: _as_dict(each) for name, each in plans.items()}, indent=2))
    else:
        _show(list(plans.values()))


def _changes(figures: "Sequence[str]") -> dict[str, str]:
    from core.errors import UserError

    pairs = [figure.partition("=") for figure in figures]
    for name, equals, _ in pairs:
        if not equals:
            raise UserError("{text} is not NAME=VALUE; for example tasks=2400.", text=name)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _workload(changes: "Mapping[str, object]") -> "Workload":
    from pydantic import ValidationError

    from core.errors import UserError
    from core.planning import Workload

    unknown = sorted(set(changes) - set(Workload.model_fields))
    if unknown:
        raise UserError(
            "There is no figure {name} in a plan. There are: {known}.",
            name=", ".join(unknown),
            known=", ".join(Workload.model_fields),
        )
    try:
        return Workload.model_validate(changes)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise UserError("The plan cannot be computed: {problems}", problems=problems) from error


def _as_dict(each: "Plan") -> dict[str, object]:
    return {**asdict(each), "workload": each.workload.model_dump()}


def _show(plans: "Sequence[Plan]") -> None:
    from core.cli.edge import table, translator
    from core.i18n import mark

    t = translator()
    titles = (mark("Reference workload"), mark("As the product runs it: more rollouts, and the gate priced"))
    columns = [t("Line"), t("Calls"), t("Input tokens, M"), t("Output tokens, M"), t("USD")]
    names = {
        "rollouts": t("rollouts"),
        "reflection": t("reflection"),
        "verification": t("verification"),
        "retrieval": t("retrieval"),
        "gate": t("gate"),
    }
    for title, each in zip(titles, plans, strict=True):
        rows = [
            [
                names[line.name],
                t.number(line.calls),
                t.number(line.input_tokens / 1e6, 2),
                t.number(line.output_tokens / 1e6, 2),
                t.number(line.cost_usd, 1),
            ]
            for line in each.lines
        ]
        share = t.percent(each.workload.retry_share)
        sums = {t("sum"): each.sum_usd, t("retries ({share})", share=share): each.retries_usd}
        sums |= {t("total"): each.total_usd, t("weight training instead"): each.gpu_usd}
        rows += [[name, "", "", "", t.number(usd, 1)] for name, usd in sums.items()]
        table(t(title), columns, rows)
    _show_inputs(t, plans)


def _show_inputs(t: "Translator", plans: "Sequence[Plan]") -> None:
    from core.cli.edge import table
    from core.planning import Workload

    values = [each.workload.model_dump() for each in plans]
    table(
        t("Inputs (change any with NAME=VALUE)"),
        [t("Name"), t("Reference"), t("As run"), t("Meaning")],
        [
            [name, *(f"{each[name]:g}" for each in values), t(field.description or "")]
            for name, field in Workload.model_fields.items()
        ],
        words=(0, 3),
    )
