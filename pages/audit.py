"""Audit: what people did, on what, and whether the trail is still as it was written (design section 12)."""

import io
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial

import streamlit as st

from core.audit import fingerprint, first_broken_link
from core.errors import UserError
from core.i18n import Translator
from core.people.names import KIND_NAMES
from core.views.audit import COUNTED, AuditFilter, people_in_trail, trail, trail_as_csv, trail_as_json
from pages.audit_entry import ACTIONS, show_entry
from pages.context import Context, context, translator
from pages.labels import label
from pages.widgets import audit_link, pager, show_notice

_ROWS = 20


def _wanted(app: Context, t: Translator) -> AuditFilter:
    """Show the filters; they live in the address, so that what was found can be passed on."""
    with app.database.read() as session:
        people = people_in_trail(session)
    first, second, third = st.columns(3)
    with first:
        person = _choice(t("Person"), "person", people, str)
    with second:
        action = _choice(t("Action"), "action", [*ACTIONS], lambda one: label(t, ACTIONS, one))
    with third:
        kind = _choice(t("Kind of object"), "kind", [*KIND_NAMES], lambda one: label(t, KIND_NAMES, one))
    first, second, third = st.columns(3)
    with first:
        object_id = _words(t("Object"), t("an id, as in the address of its page"))
    with second:
        since = _day(t("From"), "since")
    with third:
        until = _day(t("Until"), "until")
    return AuditFilter(
        person=person,
        action=action,
        kind=kind,
        object_id=object_id,
        since=_start(t, since) if since else None,
        before=_start(t, until + timedelta(days=1)) if until else None,
        entry_id=_entry_id(),
    )


def _choice(name: str, parameter: str, options: Sequence[str], show: Callable[[str], str]) -> str:
    key, given = f"audit_{parameter}", st.query_params.get(parameter, "")
    known = [str(option) for option in options]
    st.session_state[key] = given or None
    chosen = st.selectbox(
        name,
        known if not given or given in known else [*known, given],
        index=None,
        format_func=show,
        key=key,
        placeholder="–",
        on_change=_keep,
        args=(parameter,),
    )
    return chosen or ""


def _words(name: str, hint: str) -> str:
    st.session_state["audit_object"] = st.query_params.get("object", "")
    return st.text_input(name, key="audit_object", placeholder=hint, on_change=_keep, args=("object",)).strip()


def _day(name: str, parameter: str) -> date | None:
    try:
        given = date.fromisoformat(st.query_params.get(parameter, ""))
    except ValueError:
        given = None
    st.session_state[f"audit_{parameter}"] = given
    chosen: date | None = st.date_input(
        name, value=None, key=f"audit_{parameter}", on_change=_keep, args=(parameter,), format="YYYY-MM-DD"
    )
    return chosen


def _keep(parameter: str) -> None:
    """Put what was chosen into the address; an entry shown alone gives way to the list."""
    chosen = st.session_state[f"audit_{parameter}"]
    if chosen:
        st.query_params[parameter] = str(chosen)
    else:
        st.query_params.pop(parameter, None)
    st.query_params.pop("entry", None)
    st.session_state["audit_page"] = 1


def _entry_id() -> int | None:
    given = st.query_params.get("entry", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 19 else None


def _start(t: Translator, day: date) -> datetime:
    return datetime.combine(day, time(), t.timezone)


def _entries(app: Context, t: Translator, wanted: AuditFilter) -> None:
    with app.database.read() as session:
        found = trail(session, wanted, limit=0)
        offset = pager(t, found.total, _ROWS, "audit_page")
        found = trail(session, wanted, limit=_ROWS, offset=offset)
    if not found.items and wanted == AuditFilter():
        st.info(
            t("Whatever people decide from now on is written down here: approve a rule in Review, for example."),
            title=t("Nobody has done anything yet"),
            icon=":material/history:",
        )
    elif not found.items:
        st.info(t("No entry fits. Leave out a filter, or take a longer period."), icon=":material/search_off:")
    if found.total == COUNTED:
        st.caption(t("The newest {n} entries are listed. Filter by period to see older ones.", n=t.number(COUNTED)))
    for row in found.items:
        show_entry(app, t, row, opened=wanted.entry_id is not None)


def _verify(app: Context, t: Translator) -> None:
    with app.database.read() as session:
        end, broken = fingerprint(session), first_broken_link(session)
    if broken is None:
        st.success(
            t.plural(
                "{n} entry checked: it is as it was written.",
                "{n} entries checked: all are as they were written.",
                end.entries,
            ),
            icon=":material/verified:",
        )
        if end.digest:
            st.caption(t("Fingerprint of the last entry, which covers all before it; keep a copy elsewhere:"))
            st.code(end.digest, language=None, wrap_lines=True)
    elif broken.entry_id is None:
        st.error(t(broken.problem), icon=":material/gpp_bad:")
    else:
        st.error(
            t("First broken: entry {number}. {problem}", number=broken.entry_id, problem=t(broken.problem)),
            icon=":material/gpp_bad:",
        )
        audit_link(t, t("Show entry {number}", number=broken.entry_id), entry=str(broken.entry_id))


def _export(app: Context, t: Translator, wanted: AuditFilter) -> None:
    for name, kind, read in (("CSV", "text/csv", trail_as_csv), ("JSON", "application/json", trail_as_json)):
        st.download_button(
            t("Export {format}", format=name),
            partial(_file, app, read, wanted),
            file_name=f"audit.{name.lower()}",
            mime=kind,
            icon=":material/download:",
            key=f"audit_export_{name.lower()}",
            on_click="ignore",
        )


def _file(app: Context, read: Callable[..., Iterator[str]], wanted: AuditFilter) -> io.BytesIO:
    """Write what the filter finds, read some entries at a time, once somebody asks for it."""
    target = io.BytesIO()
    with app.database.read() as session:
        for piece in read(session, wanted):
            target.write(piece.encode())
    target.seek(0)
    return target


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Audit"), anchor=False)
    show_notice()
    wanted = _wanted(app, t)
    with st.container(horizontal=True, vertical_alignment="center"):
        verify = st.button(t("Verify the trail"), icon=":material/verified:", key="audit_verify")
        _export(app, t, wanted)
    if verify:
        _verify(app, t)
    if wanted.entry_id is not None:
        audit_link(t, t("All entries"))
    try:
        _entries(app, t, wanted)
    except UserError as error:
        st.error(t.error(error), icon=":material/gpp_bad:")


main()
