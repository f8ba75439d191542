"""Merging a candidate into another rule: choosing the rule, and the text of both together."""

from collections.abc import Mapping
from functools import partial

import streamlit as st

from core import curation
from core.curation import SeenRule
from core.i18n import Translator
from core.views.library import RuleRow
from core.views.library_list import LibraryFilter, listed_rules
from core.views.review import RuleItem
from core.views.review_work import TEXTS, OtherRule, draft_of, other_rules
from pages.context import Context, actor
from pages.review_draft import tell_draft, text_fields, typed
from pages.widgets import perform, plain, seen_version

_FOUND = 10


def merge_form(app: Context, t: Translator, item: RuleItem, version: int, neighbours: tuple[OtherRule, ...]) -> None:
    """Offer the nearest rules, or those that a search finds, and then the merged text for change."""
    key = f"review_{item.row.id}"
    search = st.text_input(
        t("Merge into which rule? Search by words, or take one of the nearest"), key=f"{key}_merge_search"
    )
    offered = _offered(app, item, search, neighbours)
    if not offered:
        st.caption(t("No rule in use has these words."))
        return
    with app.database.read() as session:
        draft = draft_of(session, actor(), item.row.id, "merge")
    wanted = str(draft.content.get("other", "")) if draft is not None else ""
    other = st.selectbox(
        t("Other rule"),
        list(offered),
        list(offered).index(wanted) if wanted in offered else 0,
        format_func=lambda one: offered[one].row.name,
        key=f"{key}_merge_other",
    )
    chosen = offered[other or next(iter(offered))]
    row = chosen.row
    st.code(row.text, language=None, wrap_lines=True)
    form = f"{key}_{row.id}"
    start = dict(chosen.texts)
    start["exclusion"] = start["exclusion"] or item.content.exclusion
    if draft is not None and wanted == row.id:
        tell_draft(app, t, item.row.id, "merge", draft, {item.row.id: version, row.id: row.version}, form)
        start |= {name: str(draft.content[name]) for name in TEXTS if name in draft.content}
    st.caption(t("The text of both as one: it starts as the other rule's. Change it until it covers both."))
    _send(app, t, item, version, row, form, start)


def _send(
    app: Context,
    t: Translator,
    item: RuleItem,
    version: int,
    row: RuleRow,
    form: str,
    start: Mapping[str, str],
) -> None:
    with seen_version(row) as other_version:
        seen = {item.row.id: version, row.id: other_version}
        content = text_fields(t, form, start, partial(_keep, app, item.row.id, row.id, form, seen))
        if st.button(
            t("Merge and approve"), type="primary", icon=":material/merge:", key=f"{form}_save", shortcut="ctrl+enter"
        ):
            action = partial(
                curation.merge_into,
                app.database,
                candidate=SeenRule(item.row.id, version),
                other=SeenRule(row.id, other_version),
                content=content,
                settings=app.settings,
                actor=actor(),
                clock=app.clock,
            )
            done = t("Merged: {name} and {other}", name=plain(item.row.name), other=plain(row.name))
            perform(t, action, done)


def _offered(app: Context, item: RuleItem, search: str, neighbours: tuple[OtherRule, ...]) -> dict[str, OtherRule]:
    found = list(neighbours)
    if search.strip():
        with app.database.read() as session:
            page = listed_rules(session, LibraryFilter(domain=item.row.domain, text=search), limit=_FOUND)
            ids = [one.row.id for one in page.items if one.row.state != "archived" and one.row.id != item.row.id]
            found = list(other_rules(session, ids))
    return {one.row.id: one for one in found}


def _keep(app: Context, rule_id: str, other_id: str, form: str, seen: Mapping[str, int]) -> None:
    curation.save_draft(
        app.database,
        item_id=rule_id,
        kind="merge",
        content=typed(form) | {"other": other_id},
        seen=seen,
        actor=actor(),
        clock=app.clock,
    )
