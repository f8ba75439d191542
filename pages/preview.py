"""Preview: the prompt a task would get now, and why each rule is in it or not (design section 6)."""

from math import isinf

import streamlit as st

from core.episodes.memory.recall import Recalled
from core.errors import UserError
from core.experience_preview import Advice
from core.i18n import Translator
from core.preview import PreviewRow, PromptPreview
from core.views.library import library_counts
from pages.context import Context, context, settings_now, translator
from pages.labels import FATES, POLICY_PHASES, STATES, TIERS, label
from pages.models import experience_reader, previewer
from pages.widgets import plain


def _asked(app: Context, t: Translator) -> tuple[str, str]:
    with app.database.read() as session:
        domains = [domain for domain in library_counts(session).by_domain if domain]
    left, right = st.columns([3, 1])
    query = left.text_area(
        t("Task"),
        key="preview_task",
        placeholder=t("What an agent would be told, in its user's words"),
        persist_state="session",
    )
    domain = right.selectbox(t("Domain"), domains, key="preview_domain", persist_state="session") if domains else ""
    return query or "", domain or ""


def _figures(t: Translator, preview: PromptPreview) -> None:
    served = [row for row in preview.rows if row.fate == "served"]
    first, second, third = st.columns(3)
    first.metric(t("Rules in the prompt"), t.number(len(served)), border=True)
    second.metric(
        t("Tokens of the rules"),
        t("{tokens} of {budget}", tokens=t.number(preview.rule_tokens), budget=t.number(preview.budget)),
        border=True,
    )
    third.metric(t("Tokens of the prompt (estimated)"), t.number(preview.tokens), border=True)


def _served(t: Translator, rows: list[PreviewRow]) -> None:
    st.subheader(t("In the prompt"), anchor=False)
    if not rows:
        st.caption(t("No rule is in it."))
        return
    table = [
        {
            t("Place"): t.number(row.position),
            t("Rule"): plain(row.text),
            t("State"): label(t, STATES, row.state),
            t("Score"): t.number(row.score, 2),
            t("Meaning"): t.number(row.semantic, 2),
            t("Embedding"): t.number(row.cosine, 2),
            t("Words"): t.number(row.lexical, 2),
            t("Utility"): _utility(t, row.utility),
        }
        for row in rows
    ]
    st.table(table, hide_index=True)
    st.caption(
        t(
            "The score is made of meaning (embedding and words in common) and utility; all but utility run from 0 "
            "to 1 within this library. A rule nobody has used yet counts as the most useful, so that it is tried."
        )
    )


def _utility(t: Translator, utility: float | None) -> str:
    return t("not used yet") if utility is not None and isinf(utility) else t.number(utility, 2)


def _others(t: Translator, rows: list[PreviewRow]) -> None:
    st.subheader(t("Left out"), anchor=False)
    if not rows:
        st.caption(t("No rule is left out."))
        return
    table = [
        {
            t("Rule"): plain(row.text),
            t("State"): label(t, STATES, row.state),
            t("Score"): t.number(row.score, 2),
            t("Why"): label(t, FATES, row.fate),
        }
        for row in rows
    ]
    st.table(table, hide_index=True)


def _experience(t: Translator, advice: Advice | None, phase: str) -> None:
    st.subheader(t("From experience"), anchor=False)
    if advice is None:
        st.caption(t("The phase is {phase}: nothing is taken from experience.", phase=label(t, POLICY_PHASES, phase)))
        return
    st.caption(
        t(
            "In the phase {phase}, before its first decision, a training episode is told this besides. A held-out "
            "test never sees the memories of its own task.",
            phase=label(t, POLICY_PHASES, phase),
        )
    )
    if advice.told:
        st.table([_told(t, one) for one in advice.told], hide_index=True)
    if advice.text:
        st.code(advice.text, language=None, wrap_lines=True)
    else:
        st.caption(t("Nothing: no memory is near enough, and no action is preferred clearly enough."))
    if advice.bends:
        st.caption(
            t("Preferences are added to the model's log-probabilities, so that the prompt says nothing of them.")
        )


def _told(t: Translator, one: Recalled) -> dict[str, str]:
    memory = one.memory
    return {
        t("Memory"): plain(memory.action),
        t("Similarity"): t.number(one.similarity, 2),
        t("Score"): t.signed(one.score),
        t("Return"): t.signed(memory.value),
        "Q": t.signed(memory.q),
        t("Tier"): label(t, TIERS, memory.tier),
    }


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Preview"), anchor=False)
    st.caption(t("Type a task and see the prompt it would get now: which rules are in it, which are not, and why."))
    query, domain = _asked(app, t)
    if not domain:
        st.info(t("There are no rules yet. A learning round writes them; start one on the page Loop."))
        return
    if not query.strip():
        return
    try:
        with st.spinner(t("Looking up rules …")):
            settings = settings_now(app)
            preview = previewer().preview(settings, domain, query)
            advice = experience_reader().advice(settings, domain, query)
    except UserError as error:
        st.error(t.error(error), icon=":material/error:")
        return
    _figures(t, preview)
    _served(t, [row for row in preview.rows if row.fate == "served"])
    _others(t, [row for row in preview.rows if row.fate != "served"])
    _experience(t, advice, settings.policy.phase)
    with st.expander(t("The whole prompt"), icon=":material/description:"):
        st.code(preview.text, language=None, wrap_lines=True)


main()
