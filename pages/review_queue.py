"""The queue of Review: which item is before the visitor, how many are left, and who has what."""

from datetime import datetime, timedelta
from functools import partial

import streamlit as st

from core import curation
from core.errors import ClaimedError, NotAllowedError
from core.i18n import Translator
from core.people.permissions import Action
from core.views.review_queue import (
    QueueFilter,
    QueueItem,
    candidate_domains,
    find_item,
    next_item,
    parked_count,
    place_of,
    queue,
)
from core.views.review_work import reviewers
from core.views.undo import decided_since, newest_entry
from pages.context import Context, actor, can
from pages.labels import ORIGINS, label
from pages.widgets import perform, plain

ITEM = "review_item"
"""The item before the visitor, a QueueItem."""

_CLAIM = "review_claim"
_SINCE = "review_since"
_LISTED = 5
_TRIES = 5


def choose(app: Context, t: Translator) -> QueueFilter:
    """Let the visitor filter the queue."""
    with app.database.read() as session:
        domains, parked = candidate_domains(session), parked_count(session)
    with st.popover(t("Filters"), icon=":material/filter_list:", width="stretch"):
        domain = st.selectbox(
            t("Domain"), domains, None, key="review_domain", placeholder=t("All"), persist_state="session"
        )
        origin = st.selectbox(
            t("Origin"),
            list(ORIGINS),
            None,
            format_func=partial(label, t, ORIGINS),
            key="review_origin",
            placeholder=t("All"),
            persist_state="session",
        )
        low, high = st.slider(
            t("Confidence"), 0.0, 1.0, (0.0, 1.0), 0.05, key="review_confidence", persist_state="session"
        )
        mine = st.toggle(t("Assigned to me"), key="review_mine", persist_state="session")
        unruled = st.toggle(t("Without what a policy approves"), key="review_unruled", persist_state="session")
        waits = st.toggle(
            t("Waiting for evidence ({n})", n=t.number(parked)), key="review_parked", persist_state="session"
        )
    return QueueFilter(domain or None, origin or None, low, high, mine, waits, unruled)


def show_queue(app: Context, t: Translator, wanted: QueueFilter) -> QueueItem | None:
    """Show where the visitor is in the queue, and return the item before them; None if nothing is left."""
    item = _take(app, wanted)
    now, me = app.clock(), actor()
    with app.database.read() as session:
        total = queue(session, wanted, actor=me, limit=1).total
        place = place_of(session, item, wanted, actor=me) if item is not None else 0
        coming = queue(session, wanted, actor=me, now=now, limit=_LISTED, offset=place).items
        since = st.session_state.setdefault(_SINCE, newest_entry(session, me))
        decided = decided_since(session, me, since)
    if decided:
        told = t.plural("{n} decided in this visit", "{n} decided in this visit", decided)
        st.progress(decided / (decided + total), told)
    if item is None:
        _nothing_left(t, total, wanted)
        return None
    _position(app, t, wanted, item, (place, total))
    _coming(t, item, coming, now)
    _assignment(app, t, item)
    return item


def go_to(item: QueueItem | None) -> None:
    """Put an item before the visitor at the next run; None: what they have a claim on, else the oldest."""
    st.session_state[ITEM] = item


def _take(app: Context, wanted: QueueFilter) -> QueueItem | None:
    """Return the item before the visitor, or the next one that nobody else has, and claim it."""
    me = actor()
    for _ in range(_TRIES):
        now, before = app.clock(), st.session_state.get(ITEM)
        with app.database.read() as session:
            item = find_item(session, before.id, wanted, actor=me, now=now) if before is not None else None
            if item is None:
                item = next_item(session, wanted, actor=me, now=now, after=before)
        if item is None:
            st.session_state[ITEM] = None
            return None
        st.session_state[ITEM] = item
        if item.claimed_by not in (None, me) or _claimed(app, item, now):
            return item
        # Somebody else was faster: go on from here.
        with app.database.read() as session:
            go_to(next_item(session, wanted, actor=me, now=now, after=item))
    return st.session_state.get(ITEM)


def _claimed(app: Context, item: QueueItem, now: datetime) -> bool:
    """Hold the item for the visitor; False if somebody else was faster."""
    held, until = st.session_state.get(_CLAIM, ("", now))
    if held == item.id and until - now > timedelta(minutes=1) and item.claimed_by == actor():
        return True
    try:
        until = curation.claim(
            app.database, item_id=item.id, settings=app.settings, actor=actor(), clock=app.clock
        )  # fmt: skip
    except ClaimedError:
        return False
    except NotAllowedError:  # may look, and decide nothing
        return True
    if held and held != item.id:
        curation.release(app.database, item_id=held, actor=actor())
    st.session_state[_CLAIM] = (item.id, until)
    return True


def _position(app: Context, t: Translator, wanted: QueueFilter, item: QueueItem, at: tuple[int, int]) -> None:
    place, total = at
    st.badge(t.plural("{n} waiting", "{n} waiting", total), icon=":material/inbox:", color="blue")
    st.caption(
        t(
            "{place} of {total}, waiting for {age}",
            place=t.number(place + 1),
            total=t.number(total),
            age=t.duration(app.clock() - item.created_at),
        )
    )
    if total > 1:
        with st.container(horizontal=True, gap="small"):
            for key, name, step, icon, shortcut in (
                ("review_back", t("Back"), -1, ":material/chevron_left:", "k"),
                ("review_later", t("Later"), 1, ":material/chevron_right:", "j"),
            ):
                move = partial(_move, app, wanted, item, step)
                st.button(name, icon=icon, on_click=move, key=key, shortcut=shortcut)


def _move(app: Context, wanted: QueueFilter, item: QueueItem, step: int) -> None:
    with app.database.read() as session:
        found = next_item(
            session, wanted, actor=actor(), now=app.clock(), after=item, step=1 if step > 0 else -1
        )  # fmt: skip
    go_to(found or item)


def _coming(t: Translator, item: QueueItem, coming: tuple[QueueItem, ...], now: datetime) -> None:
    for one in coming:
        if one.id == item.id:
            continue
        taken = one.claimed_by not in (None, actor())
        st.button(
            plain(one.name)[:160] or t("(no name)"),
            type="tertiary",
            key=f"review_go_{one.id}",
            on_click=go_to,
            args=(one,),
            disabled=taken,
        )
        facts = [t.duration(now - one.created_at)]
        facts += [t("with {name}", name=plain(str(one.claimed_by)))] if taken else []
        facts += [t("for {name}", name=plain(one.assigned_to))] if one.assigned_to else []
        st.caption(" · ".join(facts))


def _nothing_left(t: Translator, total: int, wanted: QueueFilter) -> None:
    if total:
        st.info(
            t("What waits is with somebody else at the moment, or assigned to somebody else. Come back later."),
            title=t("Nothing waits for you"),
            icon=":material/group:",
        )
    elif wanted != QueueFilter():
        st.info(t("Nothing fits the filters. Change them, or come back later."), icon=":material/filter_list:")
    else:
        st.info(
            t("Candidate rules appear here after a learning round. Start one on the page Loop, or come back later."),
            title=t("Nothing waits for you"),
            icon=":material/task_alt:",
        )
        st.page_link("loop.py", label=t("Open Loop"), icon=":material/autorenew:", query_params={"lang": t.language})


def _assignment(app: Context, t: Translator, item: QueueItem) -> None:
    with app.database.read() as session:
        people = reviewers(session)
    if item.assigned_to:
        st.caption(t("Assigned to {name}", name=plain(item.assigned_to)))
    if not people or not can(Action.ASSIGN):
        return
    with st.popover(t("Assign"), icon=":material/person_add:", width="stretch"):
        place = people.index(item.assigned_to) if item.assigned_to in people else None
        person = st.selectbox(
            t("To whom?"), people, place, key=f"review_{item.id}_person", placeholder=t("Nobody in particular")
        )
        if st.button(t("Assign"), key=f"review_{item.id}_assign"):
            action = partial(
                curation.assign, app.database, item_id=item.id, person=person, actor=actor(), clock=app.clock
            )
            done = t("Assigned to {name}", name=plain(person)) if person else t("Assigned to nobody in particular")
            perform(t, action, done)
