"""What can be done with one rule: pin, edit, archive (with what comes from it), restore, take a merge apart."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

import streamlit as st

from core import curation
from core.i18n import Translator
from core.people.permissions import Action
from core.views.library import RuleRow, RuleStory
from pages.context import Context, actor, can
from pages.library_write import show_edit
from pages.widgets import has_reason, perform, plain, seen_version


def show_actions(
    app: Context, t: Translator, story: RuleStory, descendants: Sequence[RuleRow], *, pinned: bool
) -> None:
    """Show the actions that the rule's state and the visitor's roles allow."""
    row = story.row
    live = [one for one in descendants if one.state != "archived"]
    with ExitStack() as seen:
        version = seen.enter_context(seen_version(row))
        versions = {one.id: seen.enter_context(seen_version(one)) for one in live}
        _pin(app, t, row, version, pinned=pinned)
        if row.state != "archived" and can(Action.EDIT):
            with st.expander(t("Edit this rule"), icon=":material/edit:"):
                show_edit(app, t, story, version)
        if row.state == "archived" and can(Action.RESTORE):
            _restore(app, t, row, version)
        if row.state != "archived" and can(Action.ARCHIVE):
            _archive(app, t, row, version, [(one, versions[one.id]) for one in live])
        if row.origin == "merge" and row.state != "archived" and can(Action.UNMERGE):
            _unmerge(app, t, row, version)


def _pin(app: Context, t: Translator, row: RuleRow, version: int, *, pinned: bool) -> None:
    key = f"library_{row.id}"
    if pinned and can(Action.UNPIN):
        if st.button(t("Take the pin away"), icon=":material/keep_off:", key=f"{key}_unpin"):
            perform(
                t, partial(_act, app, curation.unpin, row, version), t("Pin taken away: {name}", name=plain(row.name))
            )
    elif not pinned and row.state != "archived" and can(Action.PIN):
        told = t("A pinned rule is never pruned. Harm and conflicts still demote it.")
        if st.button(t("Pin"), icon=":material/keep:", key=f"{key}_pin", help=told):
            perform(t, partial(_act, app, curation.pin, row, version), t("Pinned: {name}", name=plain(row.name)))


def _restore(app: Context, t: Translator, row: RuleRow, version: int) -> None:
    key = f"library_{row.id}"
    with _form(t("Restore this rule"), ":material/unarchive:", f"{key}_form"):
        st.caption(t("It comes back as a candidate and has to prove itself again."))
        reason = st.text_input(t("Why?"), key=f"{key}_reason")
        sent = st.form_submit_button(t("Restore"), key=f"{key}_send")
    if sent and has_reason(t, reason):
        action = partial(_act, app, curation.restore, row, version, reason=reason)
        perform(t, action, t("Restored: {name}", name=plain(row.name)))


def _archive(
    app: Context, t: Translator, row: RuleRow, version: int, descendants: Sequence[tuple[RuleRow, int]]
) -> None:
    key = f"library_{row.id}"
    chosen: dict[str, int] = {}
    with _form(t("Archive this rule"), ":material/inventory_2:", f"{key}_form"):
        st.caption(t("It leaves all prompts from the next episode on; you can restore it later."))
        if descendants and can(Action.QUARANTINE):
            st.caption(t("Rules that come from it. If it did harm, archive these too:"))
            for one, seen in descendants:
                if st.checkbox(plain(one.name), help=plain(one.text), key=f"{key}_with_{one.id}"):
                    chosen[one.id] = seen
        reason = st.text_input(t("Why?"), key=f"{key}_reason")
        sent = st.form_submit_button(t("Archive"), key=f"{key}_send")
    if not sent or not has_reason(t, reason):
        return
    name = plain(row.name)
    if chosen:
        do = partial(curation.quarantine, descendants=chosen)
        done = t.plural(
            "Archived with {n} descendant: {name}", "Archived with {n} descendants: {name}", len(chosen), name=name
        )
    else:
        do, done = partial(curation.archive), t("Archived: {name}", name=name)
    perform(t, partial(_act, app, do, row, version, reason=reason), done)


def _unmerge(app: Context, t: Translator, row: RuleRow, version: int) -> None:
    key = f"library_{row.id}_unmerge"
    with _form(t("Take the merge apart"), ":material/call_split:", f"{key}_form"):
        st.caption(
            t(
                "The rules it was merged from come back as they were, with their own figures. "
                "This one goes to the archive and keeps what was counted since."
            )
        )
        reason = st.text_input(t("Why?"), key=f"{key}_reason")
        sent = st.form_submit_button(t("Take the merge apart"), key=f"{key}_send")
    if sent and has_reason(t, reason):
        action = partial(_act, app, curation.unmerge, row, version, reason=reason)
        perform(t, action, t("Taken apart: {name}", name=plain(row.name)))


@contextmanager
def _form(title: str, icon: str, key: str) -> Iterator[None]:
    with st.expander(title, icon=icon), st.form(key, border=False):
        yield


def _act(app: Context, do: Callable[..., None], row: RuleRow, version: int, **more: str) -> None:
    do(app.database, rule_id=row.id, version=version, actor=actor(), clock=app.clock, **more)
