"""Diagnostics: what goes wrong in the loop, by which evidence, and what helps (design section 8)."""

from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.errors import UserError
from core.i18n import Translator
from core.views.diagnostics.panel import DETECTORS, Change, domains, preview, troubles
from core.views.diagnostics.trouble import Fact, Kind, Trouble
from core.views.diagnostics.window import LOOK_BACK, look
from core.views.hits import HitList, hit_list, task_types
from pages.context import Context, actor, context, settings_now, translator
from pages.labels import PURPOSES, STATES, TROUBLES, label
from pages.loop_settings import CHOICES
from pages.widgets import perform, plain, rule_link, show_notice

_UNDO = "diagnostics_undo"
_PLACES = {
    "review": ("review.py", ":material/fact_check:"),
    "conflicts": ("conflicts.py", ":material/compare_arrows:"),
    "library": ("library.py", ":material/library_books:"),
}


def _trouble(app: Context, t: Translator, place: int, trouble: Trouble) -> None:
    with st.container(border=True):
        name = label(t, TROUBLES, trouble.kind)
        if trouble.subject:
            subject = label(t, PURPOSES, trouble.subject) if trouble.kind == Kind.OVER_PLAN else trouble.subject
            name = f"{name}: {plain(subject)}"
        st.subheader(name, anchor=False)
        st.markdown(plain(t(trouble.explanation, **trouble.values)))
        st.table([_row(t, fact) for fact in trouble.facts], hide_index=True)
        for fact in trouble.facts:
            if fact.rule_id:
                rule_link(t, fact.rule_id, str(fact.values.get("name", fact.rule_id)))
        _remedy(app, t, f"diagnostics_{place}_{trouble.kind}", trouble)


def _row(t: Translator, fact: Fact) -> dict[str, str]:
    figure = fact.figure
    if fact.unit == "usd":
        value = t.money(figure.value, 4)
    elif fact.unit == "number":
        value = t.number(figure.value, 0 if figure.value == int(figure.value or 0) else 1)
    else:
        value = t.interval(figure.value, figure.low, figure.high, figure.n)
    return {t("Evidence"): plain(t(fact.what, **fact.values)), t("Figure"): value}


def _remedy(app: Context, t: Translator, key: str, trouble: Trouble) -> None:
    remedy = trouble.remedy
    st.markdown(f"**{t('What helps')}** {plain(t(remedy.advice, **remedy.values))}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if remedy.changes:
            _changes(app, t, key, trouble)
        if remedy.page in _PLACES:
            script, icon = _PLACES[remedy.page]
            names = {"review": t("Open Review"), "conflicts": t("Open Conflicts"), "library": t("Open Library")}
            st.page_link(script, label=names[remedy.page], icon=icon, query_params={"lang": t.language})


def _changes(app: Context, t: Translator, key: str, trouble: Trouble) -> None:
    try:
        changes = preview(settings_now(app), trouble.remedy)
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    if not changes:
        st.caption(t("These settings are in force already; the next rounds will show whether they help."))
        return
    st.table(
        [{t("Setting"): one.name, t("Now"): _said(t, one.before), t("After"): _said(t, one.after)} for one in changes],
        hide_index=True,
    )
    if st.button(t("Apply"), key=f"{key}_apply", icon=":material/healing:"):
        perform(t, partial(_apply, app, changes), t("Applied; it takes effect with the next round."))


def _said(t: Translator, value: Any) -> str:
    if isinstance(value, bool):
        return t("on") if value else t("off")
    return "–" if value is None else f"{value:g}" if isinstance(value, int | float) else label(t, CHOICES, value)


def _apply(app: Context, changes: list[Change]) -> None:
    _set(app, {one.name: one.after for one in changes})
    st.session_state[_UNDO] = {one.name: one.before for one in changes}


def _set(app: Context, values: dict[str, Any]) -> None:
    for name, value in values.items():
        curation.change_setting(
            app.database, name=name, value=value, settings=app.settings, actor=actor(), clock=app.clock
        )


def _undo(app: Context, t: Translator) -> None:
    before = st.session_state.get(_UNDO)
    if before and st.button(t("Take the last remedy back"), key="diagnostics_undo_button", icon=":material/undo:"):
        perform(t, partial(_take_back, app, before), t("Taken back: {names}", names=plain(", ".join(before))))


def _take_back(app: Context, before: dict[str, Any]) -> None:
    _set(app, before)
    del st.session_state[_UNDO]


def _nothing_found(t: Translator, rounds: int) -> None:
    if rounds < LOOK_BACK:
        st.info(
            t(
                "Nothing shows so far (finished rounds: {rounds}). Most of the ten troubles take {n} rounds to show.",
                rounds=t.number(rounds),
                n=t.number(LOOK_BACK),
            ),
            icon=":material/hourglass_empty:",
        )
    else:
        st.success(t("None of the ten troubles shows in the last rounds."), icon=":material/check_circle:")


def _healthy(t: Translator, found: list[Trouble]) -> None:
    quiet = [kind for kind in DETECTORS if kind not in {trouble.kind for trouble in found}]
    with st.expander(t("Looked for and not found ({n})", n=t.number(len(quiet))), icon=":material/check_circle:"):
        for kind in quiet:
            st.caption(label(t, TROUBLES, kind))


def _hits(app: Context, t: Translator, domain: str, rounds: list[int]) -> None:
    st.subheader(t("Hit list"), anchor=False)
    st.caption(t("Which rules the prompts of a task type found in the last rounds. Was the right one among them?"))
    with app.database.read() as session:
        kinds = task_types(session, domain)
    if not kinds:
        return
    kind = st.selectbox(t("Task type"), kinds, key="diagnostics_type", bind="query-params")
    with app.database.read() as session:
        found = hit_list(session, domain, kind, rounds)
    st.caption(
        t("{prompts} training prompts in rounds {rounds}", prompts=t.number(found.prompts), rounds=_numbers(t, rounds))
    )
    if found.hits:
        # Eight columns are too many for a phone: this one scrolls.
        st.dataframe(_hit_rows(t, found), hide_index=True, alt=t("Hit list"))
    elif found.prompts:
        st.info(t("None of these prompts found a rule."))


def _hit_rows(t: Translator, found: HitList) -> list[dict[str, str]]:
    return [
        {
            t("Rule"): hit.name,
            t("State"): label(t, STATES, hit.state),
            t("Found"): t.number(hit.retrieved),
            t("In the prompt"): t.number(hit.served),
            t("Left out by chance"): t.number(hit.left_out),
            t("No room"): t.number(hit.trimmed),
            t("Score"): t.number(hit.score, 2),
            t("Passed with it"): t.interval(hit.passed.value, hit.passed.low, hit.passed.high, hit.passed.n),
        }
        for hit in found.hits
    ]


def _numbers(t: Translator, rounds: list[int]) -> str:
    return ", ".join(map(t.number, rounds))


def _position_check(t: Translator) -> None:
    st.subheader(t("Position check"), anchor=False)
    st.caption(
        t(
            "Runs the same held-out tasks with the best rules at both ends of the prompt and in its middle. It makes "
            "model calls, so it is started by hand:"
        )
    )
    st.code("python -m core check-positions --tasks 60", language="bash")


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Diagnostics"), anchor=False)
    show_notice()
    with app.database.read() as session:
        known = domains(session)
    if not known:
        st.info(
            t("Ten troubles are looked for after every round. None has run to its end yet."), icon=":material/info:"
        )
        return
    domain = st.selectbox(t("Domain"), known, key="diagnostics_domain", bind="query-params")
    with app.database.read() as session:
        found = troubles(session, settings_now(app), domain)
        rounds = look(session, app.settings, domain).newest(LOOK_BACK)
    if not found:
        _nothing_found(t, len(rounds))
    for place, trouble in enumerate(found):
        _trouble(app, t, place, trouble)
    _undo(app, t)
    _healthy(t, found)
    _hits(app, t, domain, rounds)
    _position_check(t)


main()
