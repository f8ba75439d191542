"""Policies: which candidates need no person, with a dry run on the past month before they are saved."""

from functools import partial

import streamlit as st

from core import curation
from core.i18n import Translator, mark
from core.people.permissions import Action
from core.rules.policies import Decision, PolicyTerms
from core.views.library import library_counts
from core.views.policies import DryRun, dry_run, policies_in_force
from pages.context import Context, actor, can, settings_now
from pages.labels import ORIGINS, label
from pages.widgets import perform, plain, rule_link

_LIST = "review_policies_list"
_SEEN = "review_policies_seen"

DECISIONS = {
    "approve": mark("Live by itself once verified"),
    "refuse": mark("Refuse"),
    "person": mark("A person decides"),
    "none": mark("No policy fits"),
}
_PEOPLE = {"approve": mark("People approved"), "refuse": mark("People refused"), "none": mark("Not decided")}


def show_policies(app: Context, t: Translator) -> None:
    """Show the list of policies for change, and what it would have done."""
    st.caption(
        t(
            "The first policy that fits a candidate decides; what none fits follows the setting lifecycle.approval. "
            "Nothing goes live unverified or where no held-out test follows; a rule in an open conflict, one that "
            "takes several approvals and one that a person has taken up always wait for people."
        )
    )
    with app.database.read() as session:
        stored = policies_in_force(session)
        domains = [domain for domain in library_counts(session).by_domain if domain]
    listed: list[PolicyTerms] = st.session_state.setdefault(_LIST, list(stored))
    st.session_state.setdefault(_SEEN, list(stored))
    _rows(t, listed)
    if can(Action.SET_POLICIES):
        _add(t, listed, domains)
        _save(app, t, listed, stored)
    if st.button(t("Try it on the past month"), icon=":material/science:", key="review_policies_try"):
        with app.database.read() as session:
            _tell(t, dry_run(session, listed, settings_now(app), now=app.clock()))


def _rows(t: Translator, listed: list[PolicyTerms]) -> None:
    if not listed:
        st.info(t("There are no policies: every candidate follows the setting lifecycle.approval."))
    for place, one in enumerate(listed):
        with st.container(horizontal=True, vertical_alignment="center", border=True):
            st.text(f"{place + 1}. {_said(t, one)}")
            for key, icon, step in (("up", ":material/arrow_upward:", -1), ("down", ":material/arrow_downward:", 1)):
                st.button(
                    t("Move up") if step < 0 else t("Move down"),
                    icon=icon,
                    type="tertiary",
                    key=f"review_policy_{place}_{key}",
                    on_click=_swap,
                    args=(listed, place, place + step),
                    disabled=not 0 <= place + step < len(listed),
                )
            st.button(
                t("Remove"),
                icon=":material/delete:",
                type="tertiary",
                key=f"review_policy_{place}_remove",
                on_click=_remove,
                args=(listed, place),
            )


def _said(t: Translator, one: PolicyTerms) -> str:
    return t(
        "{origin}, domain {domain}, confidence {low} to {high}: {decision}",
        origin=label(t, ORIGINS, one.origin) if one.origin else t("any origin"),
        domain=one.domain or t("any"),
        low=t.number(one.min_confidence, 2),
        high=t.number(one.max_confidence, 2),
        decision=label(t, DECISIONS, one.decision.value),
    )


def _remove(listed: list[PolicyTerms], place: int) -> None:
    del listed[place]


def _swap(listed: list[PolicyTerms], here: int, there: int) -> None:
    listed[here], listed[there] = listed[there], listed[here]


def _add(t: Translator, listed: list[PolicyTerms], domains: list[str]) -> None:
    with st.form("review_policy_new", border=True):
        first, second = st.columns(2)
        origin = first.selectbox(
            t("Origin"), list(ORIGINS), None, format_func=partial(label, t, ORIGINS), placeholder=t("any"),
            key="review_policy_origin",
        )  # fmt: skip
        domain = second.selectbox(t("Domain"), domains, None, placeholder=t("any"), key="review_policy_domain")
        low, high = st.slider(t("Confidence"), 0.0, 1.0, (0.7, 1.0), 0.05, key="review_policy_confidence")
        decision = st.segmented_control(
            t("What it says"),
            [one.value for one in Decision],
            format_func=partial(label, t, DECISIONS),
            default="person",
            required=True,
            key="review_policy_decision",
        )
        if st.form_submit_button(t("Add to the list"), icon=":material/add:", key="review_policy_add"):
            listed.append(PolicyTerms(origin or "", domain or "", low, high, Decision(decision)))
            st.rerun()


def _save(app: Context, t: Translator, listed: list[PolicyTerms], stored: list[PolicyTerms]) -> None:
    if listed == stored:
        return
    st.caption(t("The list is not saved yet."))
    with st.container(horizontal=True):
        if st.button(t("Save the policies"), type="primary", icon=":material/save:", key="review_policies_save"):
            action = partial(
                curation.set_policies,
                app.database,
                policies=list(listed),
                seen=st.session_state[_SEEN],
                actor=actor(),
                clock=app.clock,
            )
            perform(t, partial(_saved, action), t("Policies saved."))
        st.button(t("Back to what is saved"), key="review_policies_reset", on_click=_reset)


def _saved(action: partial[None]) -> None:
    action()
    _reset()


def _reset() -> None:
    for key in (_LIST, _SEEN):
        st.session_state.pop(key, None)


def _tell(t: Translator, found: DryRun) -> None:
    st.subheader(t("What it would have done to the past month"), anchor=False)
    if not found.total:
        st.info(t("No candidate came up or was decided in the past 30 days."))
        return
    rows = [
        {t("The policies"): label(t, DECISIONS, said)}
        | {t(name): t.number(found.counts.get((said, person), 0)) for person, name in _PEOPLE.items()}
        for said in DECISIONS
    ]
    st.table(rows, hide_index=True, alt=t("What policies would have done against what people did"))
    st.caption(
        t(
            "{n} candidates in all; {kept} of them a policy would have decided, but they were in a conflict or take "
            "several approvals, so they wait for a person.",
            n=t.number(found.total),
            kept=t.number(found.kept_back),
        )
    )
    if found.against:
        st.markdown(t("**Against what people did**"))
    for one in found.against:
        with st.container(horizontal=True, vertical_alignment="center"):
            rule_link(t, one.rule_id, one.name)
            st.caption(
                plain(f"{label(t, DECISIONS, one.policy)} · {label(t, _PEOPLE, one.person)}"), width="content"
            )  # fmt: skip
