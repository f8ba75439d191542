"""A rule in a person's own words. What is typed stays in the address until it is sent, so that a reload keeps it."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.i18n import Translator
from core.views.library import RuleStory, library_counts
from pages.context import Context, actor
from pages.labels import FIELDS, label
from pages.widgets import perform, plain

_LONG = ("condition", "action", "exclusion", "rationale")
_SENT = "library_new_sent"
_LONGEST_ADDRESS = 2_000


def known_domains(app: Context) -> list[str]:
    """Return the domains that have rules; the agent's environment if there are none yet."""
    with app.database.read() as session:
        domains = [domain for domain in library_counts(session).by_domain if domain]
    return domains or [app.settings.environment.name]


def show_new(app: Context, t: Translator) -> None:
    """Show the form for a new rule."""
    st.caption(t("It becomes a candidate, and has to be approved and verified like what the loop learns."))
    if st.session_state.pop(_SENT, False):
        for field in ("name", *_LONG, "tags"):
            st.session_state[f"library_new_{field}"] = ""
    with st.form("library_new", border=True):
        domains = known_domains(app)
        domain = st.selectbox(
            t("Domain"), domains, key="library_new_domain", accept_new_options=True, bind="query-params"
        )
        content = rule_fields(t, "library_new", {})
        sent = st.form_submit_button(
            t("Save as a candidate"), type="primary", icon=":material/save:", key="library_new_save"
        )
    if sent:
        done = t("Saved as a candidate: {name}", name=plain(content["name"]))
        perform(t, partial(_create, app, {**content, "domain": domain or ""}), done)


def _create(app: Context, content: Mapping[str, Any]) -> None:
    rule_id = curation.create(
        app.database, content=content, settings=app.settings, actor=actor(), clock=app.clock
    )  # fmt: skip
    st.session_state[_SENT] = True
    st.query_params["rule"] = rule_id


def show_edit(app: Context, t: Translator, story: RuleStory, version: int) -> None:
    """Show the form for a new version of a rule in use."""
    row, key = story.row, f"library_{story.row.id}"
    if row.state == "candidate":
        st.caption(t("The new text waits for approval, even if the old one was approved."))
    else:
        st.caption(t("The rule stays in use and counts as approved by you. What was counted about it is kept."))
    with st.form(f"{key}_edit", border=False):
        content = rule_fields(t, key, story.content.model_dump())
        reason = st.text_input(t("Why?"), key=f"{key}_edit_reason")
        sent = st.form_submit_button(t("Save as a new version"), icon=":material/save:", key=f"{key}_edit_save")
    if sent and not reason.strip():
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    elif sent:
        action = partial(
            curation.edit,
            app.database,
            rule_id=row.id,
            version=version,
            content=content,
            reason=reason,
            settings=app.settings,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("Changed: {name}", name=plain(content["name"])))


def rule_fields(t: Translator, key: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Show the fields of a rule with what it says now; return what they hold."""
    given: dict[str, Any] = {
        "name": st.text_input(
            label(t, FIELDS, "name"), content.get("name", ""), key=f"{key}_name", **_bound(content, "name")
        )
    }
    for field in _LONG:
        given[field] = st.text_area(
            label(t, FIELDS, field),
            content.get(field, ""),
            key=f"{key}_{field}",
            height="content",
            help=_help(t, field),
            **_bound(content, field),
        )
    tags = st.text_input(
        label(t, FIELDS, "tags"), ", ".join(content.get("tags", ())), key=f"{key}_tags", help=t("Parted by commas.")
    )
    return {name: value or "" for name, value in given.items()} | {"tags": _parted(tags)}


def _bound(content: Mapping[str, Any], field: str) -> dict[str, Any]:
    """Keep what is typed in the address, unless it would not fit there."""
    return {"bind": "query-params"} if len(content.get(field, "")) <= _LONGEST_ADDRESS else {}


def _help(t: Translator, field: str) -> str | None:
    return {
        "condition": t("Without “when”: the prompt adds it."),
        "action": t("An act, not an attitude. With condition and exception at most 40 words or Chinese characters."),
        "exclusion": t("When it does not apply all the same; may be empty."),
        "rationale": t("For people; prompts do not carry it."),
    }.get(field)


def _parted(tags: str) -> Sequence[str]:
    return [one.strip() for one in tags.replace("，", ",").split(",") if one.strip()]
