"""A handbook becomes candidates: each drafted rule is looked at and can be changed before anything is stored."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.curation.handbook import HandbookRule
from core.errors import UserError
from core.i18n import Translator
from core.rules.handbook import Drafted, Reading, Unread, decode_handbook, read_handbook
from core.views.handbook import CheckedDraft, check_drafts
from pages.context import Context, actor, settings_now
from pages.labels import FIELDS, label
from pages.library_write import known_domains
from pages.widgets import pager, perform, plain

_TYPES = ("md", "markdown", "txt")
_DRAFTS, _LINES = 10, 50
_FIELDS = ("name", "condition", "action", "exclusion")


def show_import(app: Context, t: Translator) -> None:
    """Take a file or pasted text, show what was read in it, and import what the visitor wants."""
    st.caption(
        t(
            "Markdown or plain text, English or Chinese. Sentences such as “When …, …” or “如果……，则……” become rules; "
            "nothing is stored before you have seen it."
        )
    )
    left, right = st.columns([3, 1])
    file = left.file_uploader(t("Handbook"), type=list(_TYPES), key="library_handbook_file")
    domain = right.selectbox(
        t("Domain"), known_domains(app), key="library_handbook_domain", accept_new_options=True
    )  # fmt: skip
    pasted = st.text_area(
        t("Or paste its text"), key="library_handbook_text", height=160, persist_state="session", disabled=bool(file)
    )
    try:
        text = decode_handbook(file.getvalue()) if file else pasted or ""
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    if text.strip():
        name = file.name if file else t("pasted text")
        _reading(app, t, name, read_handbook(text, domain or ""))


def _reading(app: Context, t: Translator, file: str, reading: Reading) -> None:
    drafts = [(one, _changes(one)) for one in reading.drafts]
    with app.database.read() as session:
        checks = check_drafts(session, drafts, settings_now(app).rules)
    first, second = st.tabs(
        [
            t("Rules {n}", n=t.number(len(drafts))),
            t("Not read {n}", n=t.number(len(reading.unread))),
        ]
    )
    with first:
        _drafts(app, t, file, list(zip(reading.drafts, checks, strict=True)))
    with second:
        _unread(t, reading.unread)


def _drafts(app: Context, t: Translator, file: str, drafts: Sequence[tuple[Drafted, CheckedDraft]]) -> None:
    if not drafts:
        st.info(
            t("No sentence could be read as a rule. See what was not read, and why, on the other tab."),
            icon=":material/search_off:",
        )
        return
    wanted = [one for one, check in drafts if _is_wanted(one, check)]
    known = sum(bool(check.known) for _, check in drafts)
    faulty = sum(bool(check.findings) and not check.known for _, check in drafts)
    st.markdown(
        t(
            "{wanted} of {all} chosen · {known} in the library already · {faulty} with objections",
            wanted=t.number(len(wanted)),
            all=t.number(len(drafts)),
            known=t.number(known),
            faulty=t.number(faulty),
        )
    )
    _send(app, t, file, wanted)
    offset = pager(t, len(drafts), _DRAFTS, "library_handbook_page")
    for one, check in drafts[offset : offset + _DRAFTS]:
        _draft(t, one, check)


def _send(app: Context, t: Translator, file: str, wanted: Sequence[Drafted]) -> None:
    name = t.plural("Import {n} rule as a candidate", "Import {n} rules as candidates", len(wanted))
    if st.button(
        name, type="primary", icon=":material/upload:", key="library_handbook_import", disabled=not wanted
    ):  # fmt: skip
        rules = [HandbookRule(one.id, one.lines[-1], one.draft.model_dump() | _changes(one)) for one in wanted]
        action = partial(
            curation.import_handbook,
            app.database,
            file=file,
            rules=rules,
            settings=app.settings,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t.plural("{n} rule imported", "{n} rules imported", len(rules)))


def _draft(t: Translator, one: Drafted, check: CheckedDraft) -> None:
    with st.container(border=True):
        lines = ", ".join(t.number(number) for number in one.lines)
        if check.known:
            st.badge(t("In the library already"), icon=":material/check:", color="gray")
        else:
            st.checkbox(
                t("Import this rule"),
                value=_is_wanted(one, check),
                key=f"library_draft_{one.id}_wanted",
                disabled=bool(check.findings),
                persist_state="session",
            )
        st.text(check.text)
        st.caption(t("Lines {lines}", lines=lines))
        if check.findings and not check.known:
            problems = (t.message({"template": one.template, "values": one.values}) for one in check.findings)
            st.warning(" ".join(map(plain, problems)), icon=":material/report:")
        if check.hidden:
            st.warning(
                t("The text holds characters that you cannot see: {names}", names=plain(", ".join(check.hidden))),
                icon=":material/visibility_off:",
            )
        if not check.known:
            _edit(t, one)


def _edit(t: Translator, one: Drafted) -> None:
    with st.expander(t("Change it"), icon=":material/edit:"):
        for field in _FIELDS:
            kind = st.text_input if field == "name" else st.text_area
            kind(
                label(t, FIELDS, field),
                getattr(one.draft, field),
                key=f"library_draft_{one.id}_{field}",
                persist_state="session",
            )


def _changes(one: Drafted) -> dict[str, Any]:
    keys = {field: f"library_draft_{one.id}_{field}" for field in _FIELDS}
    return {field: st.session_state[key] or "" for field, key in keys.items() if key in st.session_state}


def _is_wanted(one: Drafted, check: CheckedDraft) -> bool:
    if check.findings or check.known:
        return False
    return bool(st.session_state.get(f"library_draft_{one.id}_wanted", True))


def _unread(t: Translator, unread: Sequence[Unread]) -> None:
    if not unread:
        st.caption(t("Every line went into a rule."))
        return
    offset = pager(t, len(unread), _LINES, "library_handbook_lines")
    rows = [
        {
            t("Line"): "–".join(t.number(number) for number in dict.fromkeys((one.lines[0], one.lines[-1]))),
            t("Text"): plain(one.text),
            t("Why it was not read"): t(one.reason),
        }
        for one in unread[offset : offset + _LINES]
    ]
    st.table(rows, hide_index=True)
