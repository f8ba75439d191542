"""What the adapter learned, in words: each sentence with its episodes, and as a draft rule for review."""

import streamlit as st

from core.i18n import Translator
from core.people.permissions import Action
from core.text import clip
from core.views.policy import Explanation, explanations
from pages.context import Context, can
from pages.policy_snapshots import no_policy
from pages.widgets import episode_link, pager, plain

_ROWS = 10
_EPISODES = 5
_EXAMPLE = 60


def show_explanations(app: Context, t: Translator, environment: str) -> None:
    """Show the explanations, newest first."""
    with app.database.read() as session:
        total = explanations(session, environment, limit=1).total
        offset = pager(t, total, _ROWS, "memory_explanation_page")
        found = explanations(session, environment, limit=_ROWS, offset=offset).items
    if not found:
        no_policy(t)
        return
    st.caption(
        t(
            "What the adapter prefers now and did not before, told after each update. A sentence changes nothing by "
            "itself: as a rule it has to be written, approved and verified like any other."
        )
    )
    for one in found:
        _explanation(t, one, environment)


def _explanation(t: Translator, one: Explanation, environment: str) -> None:
    with st.container(border=True):
        st.markdown(_sentence(t, one))
        st.caption(_facts(t, one))
        st.caption(t("Such a state:"))
        st.text(one.example)
        with st.container(horizontal=True, vertical_alignment="center"):
            for number, episode in enumerate(one.episodes[:_EPISODES], 1):
                episode_link(t, episode, t("Episode {number}", number=t.number(number)))
            if can(Action.CREATE):
                st.page_link(
                    "library.py",
                    label=t("Write it as a rule"),
                    icon=":material/edit_note:",
                    query_params=_draft(t, one, environment),
                )


def _sentence(t: Translator, one: Explanation) -> str:
    values = {
        "words": plain(", ".join(one.words)),
        "action": plain(one.action),
        "before": t.signed(one.before),
        "after": t.signed(one.after),
    }
    if one.after >= one.before:
        return t("Where it is about **{words}**, **{action}** is preferred more: {before} → {after} logits", **values)
    return t("Where it is about **{words}**, **{action}** is preferred less: {before} → {after} logits", **values)


def _facts(t: Translator, one: Explanation) -> str:
    facts = [
        t.moment(one.created_at),
        t.plural("from {n} decision", "from {n} decisions", one.n),
        t.plural("{n} episode", "{n} episodes", len(one.episodes)),
    ]
    if one.round_number is not None:
        facts.append(t("round {number}", number=t.number(one.round_number)))
    return " · ".join(facts)


def _draft(t: Translator, one: Explanation, environment: str) -> dict[str, str]:
    """Return the address of the form for a new rule, filled in with what the sentence says."""
    words = ", ".join(one.words)
    condition = t("it is about {words}, as in “{example}”", words=words, example=clip(one.example, _EXAMPLE))
    preferred = t("prefer {action}", action=one.action)
    avoided = t("avoid {action}", action=one.action)
    return {
        "library_part": "write",
        "library_new_domain": environment,
        "library_new_name": f"{one.action}: {words}",
        "library_new_condition": condition,
        "library_new_action": preferred if one.after >= one.before else avoided,
        "library_new_rationale": t(
            "Learned by the adapter from {n} decisions: its bias went from {before} to {after} logits.",
            n=t.number(one.n),
            before=t.signed(one.before),
            after=t.signed(one.after),
        ),
        "lang": t.language,
    }
