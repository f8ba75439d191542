"""Small widgets that several pages share."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import streamlit as st

from core import curation
from core.errors import UserError
from core.i18n import TOO_FEW, Translator
from core.people.names import ACTION_NAMES
from core.people.permissions import Action
from core.views.library import RuleRow
from core.views.review import DigestCard
from core.views.undo import OwnAction, entries_since, newest_entry, own_action
from pages.context import actor, context, translator
from pages.labels import DIGEST_HEADINGS, GRADE_LOOKS, GRADES, STATE_LOOKS, STATES, label

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])")
_LINKED = re.compile(r"(?<=http)\\:(?=//)|(?<=https)\\:(?=//)|(?<=www)\\\.|@", re.IGNORECASE)
_DIGEST_STEP = re.compile(r"(?P<mark>[-*]) (?:\[\d+\] )?(?P<text>.+)")
_NOTICE = "shell_notice"


@dataclass(frozen=True)
class _Notice:
    """What an action came to: a text, and the entries of the audit trail it made, newest first."""

    text: str
    entries: tuple[int, ...] = ()
    failed: bool = False


def plain(text: str) -> str:
    """Escape Markdown: what models and tools wrote is shown as written, never as links or images.

    Bare addresses become links after escapes are resolved, so each is cut in two by a piece of its own.
    """
    return _LINKED.sub(r":small[\g<0>]", _MARKDOWN.sub(r"\\\1", text))


def address(text: str) -> str:
    """Write an e-mail address or another name of an account; as plain Markdown an address would become a link."""
    return f"`{text.replace('`', '')}`" if text else "–"


def badge(t: Translator, names: Mapping[str, str], looks: Mapping[str, tuple[str, str]], value: str) -> None:
    """Show a value as a badge: by word, icon and colour, so that colour alone carries nothing."""
    color, icon = looks.get(value, ("gray", ":material/circle:"))
    st.badge(label(t, names, value), icon=icon, color=color)  # type: ignore[arg-type]


def perform(t: Translator, action: Callable[[], object], done: str | Callable[[object], str]) -> None:
    """Do what a person asked, say so and show the page anew; or say why not and keep what was typed.

    ``done`` is what to say, or makes it from what the action returned.
    """
    app, name, board = context(), actor(), _notice_board()
    with app.database.read() as session:
        before = newest_entry(session, name)
    try:
        result = action()
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    told = done if isinstance(done, str) else done(result)
    with app.database.read() as session:
        board.append(_Notice(told, entries_since(session, name, before)))
    st.rerun()


def has_reason(t: Translator, reason: str) -> bool:
    """Ask for a reason if there is none."""
    if not reason.strip():
        st.error(t("Give a reason first; one line is enough."), icon=":material/error:")
    return bool(reason.strip())


class _Versioned(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def version(self) -> int: ...


@contextmanager
def seen_version(row: _Versioned) -> Iterator[int]:
    """Give the version that the visitor had on screen when pressing a button.

    A press runs the script again, which reads the rule or episode anew: acting on what is read then would overwrite a
    change that the visitor has not seen.
    """
    key = f"shell_seen_{row.id}"
    yield st.session_state.get(key, row.version)
    st.session_state[key] = row.version


def show_notice() -> None:
    """Tell what the last action did, once, and offer to take it back."""
    board = _notice_board()
    if not board:
        return
    notice = board[-1]
    board.clear()
    if notice.failed:
        st.error(notice.text, icon=":material/error:")
        return
    t = translator()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.success(notice.text, icon=":material/check_circle:")
        if notice.entries:
            st.button(t("Undo"), icon=":material/undo:", key="shell_undo", on_click=take_back, args=(t, notice.entries))


def _notice_board() -> list[_Notice]:
    """Return where actions leave what the next run tells.

    Taken out before an action: every access to the session's state is a point at which Streamlit may end a run for
    the sake of the next click, and what was done has to be told all the same.
    """
    board: list[_Notice] = st.session_state.setdefault(_NOTICE, [])
    return board


def take_back(t: Translator, entries: tuple[int, ...]) -> None:
    """Undo entries of the audit trail, newest first, and have the next run tell what was undone."""
    app, name, board = context(), actor(), _notice_board()
    with app.database.read() as session:
        before = newest_entry(session, name)
    try:
        for entry in entries:
            curation.undo(app.database, entry_id=entry, actor=name, clock=app.clock)
    except UserError as error:
        board.append(_Notice(t.error(error), failed=True))
        return
    with app.database.read() as session:
        made = entries_since(session, name, before)
        told = [one for one in (own_action(session, entry) for entry in reversed(made)) if one is not None]
    board.append(_Notice("  \n".join(_told(t, one) for one in told), made))


def _told(t: Translator, one: OwnAction) -> str:
    values = {"action": t(ACTION_NAMES[Action(one.action)]), "name": plain(one.name)}
    return t("Undone: {action} – {name}", **values) if one.taken_back else t("Done again: {action} – {name}", **values)


def pager(t: Translator, total: int, size: int, key: str) -> int:
    """Show page numbers if there is more than one page; return the offset of the first row."""
    pages = max(1, -(-total // size))
    if pages == 1:
        return 0
    if st.session_state.get(key, 1) > pages:
        st.session_state[key] = pages
    with st.container(horizontal=True, vertical_alignment="center"):
        number = st.pagination(pages, key=key)
        st.caption(t("{total} in all", total=t.number(total)))
    return (int(number) - 1) * size


def rule_badges(t: Translator, row: RuleRow) -> None:
    """Show a rule's state, domain and how it came about."""
    with st.container(horizontal=True, gap="small"):
        badge(t, STATES, STATE_LOOKS, row.state)
        if row.domain:
            st.badge(plain(row.domain), color="gray", icon=":material/category:")
        if row.approved_by:
            st.badge(
                t("Approved by {name}", name=plain(row.approved_by)),
                color="gray",
                icon=":material/how_to_reg:",
            )


def rule_figures(t: Translator, row: RuleRow) -> str:
    """Say a rule's statistics in one line."""
    rate = row.success
    return " · ".join(
        (
            t("success with it {rate}", rate=t.interval(rate.value, rate.low, rate.high, rate.n)),
            t("reward {delta} against the type's baseline", delta=t.signed(row.avg_delta)),
            t.plural("{n} verified success", "{n} verified successes", row.verified),
        )
    )


def rate_card(t: Translator, name: str, row: RuleRow) -> None:
    """Show the success rate of episodes with a rule as a figure with its interval and n below."""
    rate = row.success
    with st.container(border=True, height="stretch"):
        st.metric(name, t.number(rate.value, 2) if rate.n >= TOO_FEW else "–")
        st.caption(t.interval(rate.value, rate.low, rate.high, rate.n))


def digest_card(t: Translator, card: DigestCard) -> None:
    """Show a digest with its outcome and the way to the whole episode."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            badge(t, GRADES, GRADE_LOOKS, card.grade)
            st.caption(
                t("reward {reward}", reward=t.number(card.reward, 2))
                + " · "
                + t.plural("{n} turn", "{n} turns", card.turns)
            )
        if card.digest:
            digest_text(t, card.digest)
        else:
            st.caption(t("This episode has no digest yet."))
        episode_link(t, card.episode_id)


def digest_text(t: Translator, digest: str) -> None:
    """Show a digest as paragraphs and a list, its decisive step marked; a line of any other form as it is."""
    lines = [_digest_line(t, line) for line in digest.splitlines() if line.strip()]
    st.markdown("\n".join(lines))


def _digest_line(t: Translator, line: str) -> str:
    step = _DIGEST_STEP.fullmatch(line)
    if step is not None:
        text = plain(step["text"])
        return f"- :violet[:material/flag:] **{text}**" if step["mark"] == "*" else f"- {text}"
    heading, colon, text = line.partition(":")
    if colon and heading in DIGEST_HEADINGS:
        return f"\n**{label(t, DIGEST_HEADINGS, heading)}** {plain(text.strip())}\n"
    return f"\n{plain(line)}\n"


def episode_link(t: Translator, episode_id: str, name: str = "") -> None:
    """Link to an episode's reader."""
    st.page_link(
        "episodes.py",
        label=name or t("Read the episode"),
        icon=":material/article:",
        query_params={"episode": episode_id, "lang": t.language},
    )


def episodes_link(t: Translator, name: str, round_number: int, arm: str = "") -> None:
    """Link to the list of a round's episodes, of one arm or of all."""
    filters = {"episodes_round": str(round_number)} | ({"episodes_arm": arm} if arm else {})
    st.page_link("episodes.py", label=name, icon=":material/forum:", query_params={**filters, "lang": t.language})


def rule_link(t: Translator, row_id: str, name: str) -> None:
    """Link to a rule's page in the library."""
    st.page_link(
        "library.py",
        label=plain(name),
        icon=":material/rule:",
        query_params={"rule": row_id, "lang": t.language},
    )


def audit_link(t: Translator, name: str, **filters: str) -> None:
    """Link to the entries of the audit trail that fit; ``filters`` as in that page's address."""
    st.page_link("audit.py", label=name, icon=":material/history:", query_params={**filters, "lang": t.language})
