"""Review of one candidate: its text and the decision in the middle, its evidence to the right."""

import streamlit as st

from core.i18n import Translator, mark
from core.views.effects import effects_by_rule
from core.views.parting import parting
from core.views.review import DigestCard, RuleItem
from core.views.review_queue import QueueItem
from core.views.review_work import Standing, other_rules, standing
from core.views.touched import touched
from pages.context import Context, settings_now
from pages.labels import FIELDS, ORIGINS, label
from pages.review_decide import approvals_told, show_decisions
from pages.review_evidence import Evidence, show_evidence
from pages.review_near import rule_map, show_conflicts, show_neighbours, stored_vectors
from pages.widgets import plain, rule_badges, seen_version

_SAID = {
    "approve": mark("A policy lets it go live by itself once it is verified, unless its environment cannot be tested."),
    "refuse": mark("A policy will refuse it in the next round."),
    "person": mark("A policy asks for a person."),
}


def show_rule(app: Context, t: Translator, item: RuleItem, waiting: QueueItem) -> None:
    """Show a candidate with its neighbours and evidence, and offer every decision."""
    settings = settings_now(app)
    with app.database.read() as session:
        stands = standing(session, item.row.id, item.row.text, settings)
        near = rule_map().nearest(session, item.content, item.row.id)
        neighbours = other_rules(session, [one.rule_id for one in near.rules])
        sides = (item.contrast.passing, item.contrast.failing) if item.contrast else (item.evidence, item.evidence)
        evidence = Evidence(
            effect=effects_by_rule(session, [item.row.id])[item.row.id],
            parting=parting(session, *_ids(sides)),
            touched=touched(
                session, rule_map(), stored_vectors(), item.content, rivals=settings.retrieval.top_k
            ),
            needed=settings.lifecycle.verified_successes,
        )  # fmt: skip
    middle, right = st.columns([4, 5])
    with middle:
        with st.container(border=True):
            _text(t, item)
            _standing(t, stands)
            with seen_version(item.row) as version:
                show_decisions(app, t, item, waiting, version, neighbours)
        show_neighbours(t, item, near, neighbours)
        show_conflicts(t, item)
    with right:
        show_evidence(t, item, evidence)


def _ids(sides: tuple[tuple[DigestCard, ...], tuple[DigestCard, ...]]) -> tuple[list[str], list[str]]:
    passing, failing = sides
    good = [card.episode_id for card in passing if card.grade == "pass"]
    return good, [card.episode_id for card in failing if card.grade != "pass"]


def _text(t: Translator, item: RuleItem) -> None:
    row = item.row
    rule_badges(t, row)
    st.subheader(plain(row.name), anchor=False)
    st.caption(t("As it stands in a prompt:"))
    st.code(row.text, language=None, wrap_lines=True)
    for field in ("condition", "action", "exclusion"):
        value = getattr(item.content, field)
        if value.strip():
            st.markdown(f"**{label(t, FIELDS, field)}** {plain(' '.join(value.split()))}")
    if item.content.rationale:
        st.text(item.content.rationale)
    st.caption(_origin(t, item))
    if item.hidden:
        st.warning(
            t("The text holds characters that you cannot see: {names}", names=plain(", ".join(item.hidden))),
            icon=":material/visibility_off:",
        )


def _origin(t: Translator, item: RuleItem) -> str:
    facts = [label(t, ORIGINS, item.row.origin)]
    if item.row.created_round is not None:
        facts.append(t("round {number}", number=t.number(item.row.created_round)))
    facts.append(t("confidence {value}", value=t.number(item.content.confidence, 2)))
    return " · ".join(facts)


def _standing(t: Translator, stands: Standing | None) -> None:
    if stands is None:
        return
    st.caption(t.plural("About {n} token in each prompt", "About {n} tokens in each prompt", stands.tokens))
    if stands.needed > 1:
        approvals_told(t, stands)
    if stands.policy:
        st.caption(t(_SAID[stands.policy]))
    if stands.asked_by:
        st.caption(t("{name} asked for more evidence before.", name=plain(stands.asked_by)))
