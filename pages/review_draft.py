"""Editing a candidate's text before it is approved; what is typed is kept in the database as it is typed."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from core import curation
from core.i18n import Translator
from core.views.review import RuleItem
from core.views.review_work import TEXTS, Draft, draft_of
from pages.context import Context, actor
from pages.labels import FIELDS, label
from pages.widgets import perform, plain


def edit_form(app: Context, t: Translator, item: RuleItem, version: int) -> None:
    """Offer the texts of a candidate for change; no form, so that each field is kept when it is left."""
    key = f"review_{item.row.id}"
    with app.database.read() as session:
        draft = draft_of(session, actor(), item.row.id, "edit")
    start = {name: str(getattr(item.content, name)) for name in TEXTS}
    if draft is not None:
        tell_draft(app, t, item.row.id, "edit", draft, {item.row.id: version}, key)
        start |= {name: str(draft.content[name]) for name in TEXTS if name in draft.content}
    keep = partial(_keep, app, item.row.id, key, version)
    content = text_fields(t, key, start, keep)
    if st.button(
        t("Save and approve"), type="primary", icon=":material/check:", key=f"{key}_save", shortcut="ctrl+enter"
    ):
        action = partial(
            curation.edit_and_approve,
            app.database,
            settings=app.settings,
            rule_id=item.row.id,
            version=version,
            content=content,
            actor=actor(),
            clock=app.clock,
        )
        perform(t, action, t("Changed and approved: {name}", name=plain(str(content["name"]))))


def text_fields(t: Translator, key: str, start: Mapping[str, str], keep: Any) -> dict[str, Any]:
    """Show the texts of a rule for change and return them; ``keep`` is called whenever one is left."""
    content: dict[str, Any] = {
        "name": st.text_input(label(t, FIELDS, "name"), start["name"], key=f"{key}_name", on_change=keep)
    }
    for field in TEXTS[1:]:
        content[field] = st.text_area(label(t, FIELDS, field), start[field], key=f"{key}_{field}", on_change=keep)
    return content


def typed(key: str, fields: Sequence[str] = TEXTS) -> dict[str, str]:
    """Return what the fields hold at the moment."""
    return {name: str(st.session_state[f"{key}_{name}"]) for name in fields if f"{key}_{name}" in st.session_state}


def tell_draft(
    app: Context, t: Translator, item_id: str, kind: str, draft: Draft, now: Mapping[str, int], key: str
) -> None:
    """Say that a draft is shown, whether its rules have changed since, and offer to forget it."""
    if any(draft.seen.get(one, version) < version for one, version in now.items()):
        st.warning(
            t("The rule has changed since you wrote this draft. Compare it with the text above before you save."),
            icon=":material/sync_problem:",
        )
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(t("Your draft, saved {moment}", moment=t.moment(draft.saved_at)), width="content")
        st.button(
            t("Forget the draft"),
            type="tertiary",
            icon=":material/delete:",
            key=f"{key}_{kind}_forget",
            on_click=_forget,
            args=(app, item_id, kind, key),
        )


def _keep(app: Context, rule_id: str, key: str, version: int) -> None:
    curation.save_draft(
        app.database,
        item_id=rule_id,
        kind="edit",
        content=typed(key),
        seen={rule_id: version},
        actor=actor(),
        clock=app.clock,
    )


def _forget(app: Context, item_id: str, kind: str, key: str) -> None:
    curation.discard_draft(app.database, item_id=item_id, kind=kind, actor=actor())
    for name in [one for one in st.session_state if str(one).startswith(f"{key}_")]:
        if str(name).removeprefix(f"{key}_").rsplit("_", 1)[-1] in TEXTS:
            del st.session_state[name]
