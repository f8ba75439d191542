"""The settings that may change while the loop runs, each with its range and what it means."""

from functools import partial
from itertools import groupby
from typing import Any

import streamlit as st

from core import curation
from core.errors import UserError
from core.i18n import Translator, mark
from core.views.loop import SettingRow, settings_in_force
from pages.context import Context, actor
from pages.labels import GROUPS, label
from pages.widgets import perform, plain

CHOICES = {
    "required": mark("A person approves"),
    "auto": mark("Nobody has to approve"),
    "ucb": mark("UCB formula"),
    "thompson": mark("Thompson sampling"),
    "default": mark("Positive mean difference"),
    "similar": mark("By similarity"),
    "two_phase": mark("By similarity and learned Q"),
    "hint": mark("A line in the prompt"),
    "logit": mark("Added to the model's log-probabilities"),
    "strict": mark("Interval above 0"),
}


def show_settings(app: Context, t: Translator) -> None:
    """Show one form per group of settings; they take effect with the next round."""
    st.caption(t("Changes take effect with the next round. What needs a restart is in the environment or in .env."))
    try:
        with app.database.read() as session:
            rows = settings_in_force(session, app.settings)
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    for group, members in groupby(rows, key=lambda row: row.group):
        changed_here = list(members)
        changed = sum(row.changed_by is not None for row in changed_here)
        title = label(t, GROUPS, group)
        if changed:
            title += " · " + t.plural("{n} changed", "{n} changed", changed)
        with st.expander(title, key=f"loop_group_{group}"):
            _group(app, t, group, changed_here)


def _group(app: Context, t: Translator, group: str, rows: list[SettingRow]) -> None:
    with st.form(f"loop_form_{group}", border=False):
        values = {row.name: _input(t, row) for row in rows}
        sent = st.form_submit_button(t("Save"), key=f"loop_save_{group}", icon=":material/save:")
    if not sent:
        return
    changes = {row.name: values[row.name] for row in rows if values[row.name] != row.value}
    if not changes:
        st.info(t("Nothing was changed."))
        return
    perform(t, partial(_save, app, changes), t("Saved: {names}", names=plain(", ".join(changes))))


def _save(app: Context, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        curation.change_setting(
            app.database, name=name, value=value, settings=app.settings, actor=actor(), clock=app.clock
        )


def _input(t: Translator, row: SettingRow) -> Any:
    key, name = f"loop_setting_{row.name}", t(row.description)
    help_ = _help(t, row)
    if row.kind == "bool":
        return st.checkbox(name, value=row.value, key=key, help=help_)
    if row.kind == "choice":
        place = row.choices.index(row.value)
        return st.selectbox(
            name, row.choices, place, format_func=lambda one: label(t, CHOICES, one), key=key, help=help_
        )
    if row.kind == "str":
        return st.text_input(name, row.value, key=key, help=help_).strip()
    if row.kind == "int":
        return _whole_number(row, name, key, help_)
    return _number(t, row, name, key, help_)


def _whole_number(row: SettingRow, name: str, key: str, help_: str) -> int:
    low, high = (None if limit is None else int(limit) for limit in (row.low, row.high))
    return int(st.number_input(name, low, high, int(row.value), 1, key=key, help=help_))


def _number(t: Translator, row: SettingRow, name: str, key: str, help_: str) -> float | None:
    return st.number_input(
        name,
        row.low,
        row.high,
        None if row.value is None else float(row.value),
        0.05,
        "%.4g",
        placeholder=t("no limit") if row.kind == "optional" else None,
        key=key,
        help=help_,
    )


def _help(t: Translator, row: SettingRow) -> str:
    facts = [f"`{row.name}`", t("default {value}", value=row.default)]
    if row.low is not None and row.high is not None:
        facts.append(t("from {low} to {high}", low=f"{row.low:g}", high=f"{row.high:g}"))
    elif row.low is not None:
        facts.append(t("at least {low}", low=f"{row.low:g}"))
    if row.changed_by is not None:
        facts.append(t("changed by {name}, {moment}", name=plain(row.changed_by), moment=t.moment(row.changed_at)))
    return " · ".join(facts)
