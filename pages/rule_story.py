"""One rule: what it says, how it did, its history and versions, its relatives, and what can be done with it."""

import streamlit as st

from core.i18n import Translator
from core.views.effects import rule_effects
from core.views.library import RoundUse, RuleStory, descendants, rule_story
from core.views.lineage import lineage
from core.views.rule_history import carrying_episodes, is_pinned, persons_actions, rule_versions
from pages.context import Context
from pages.labels import COMPLIANCE, GRADES, ORIGINS, label
from pages.library_actions import show_actions
from pages.library_lineage import show_lineage
from pages.library_versions import show_decisions, show_timeline, show_versions
from pages.rule_effects import show_effects
from pages.widgets import audit_link, episode_link, pager, plain, rate_card, rule_badges

_EPISODES = 10


def show_story(app: Context, t: Translator, rule_id: str) -> None:
    """Show the rule's page, or say that there is no such rule."""
    with app.database.read() as session:
        story = rule_story(session, rule_id)
        if story is None:
            st.warning(t("There is no rule {id}.", id=plain(rule_id)), icon=":material/search_off:")
            return
        pinned, offspring = is_pinned(session, rule_id), descendants(session, rule_id)
    _head(t, story, pinned=pinned)
    names = (t("History"), t("Versions"), t("Who decided"), t("Effect"), t("Episodes"), t("Lineage"))
    history, versions, decisions, effect, episodes, family = st.tabs(names)
    with app.database.read() as session:
        with history:
            show_timeline(t, story.history)
        with versions:
            show_versions(t, rule_versions(session, rule_id), f"library_{rule_id}_versions")
        actions = persons_actions(session, rule_id)
        with effect:
            show_effects(t, rule_effects(session, rule_id))
        with family:
            show_lineage(t, lineage(session, rule_id), rule_id)
    with decisions:
        audit_link(t, t("Who did what to it, in Audit"), kind="rule", object=rule_id)
        show_decisions(app, t, actions)
    with episodes:
        _episodes(app, t, story)
    show_actions(app, t, story, offspring, pinned=pinned)


def _head(t: Translator, story: RuleStory, *, pinned: bool) -> None:
    row = story.row
    st.title(plain(row.name), anchor=False)
    rule_badges(t, row)
    if pinned:
        st.badge(t("Pinned"), icon=":material/keep:", color="violet")
    st.code(row.text, language=None, wrap_lines=True)
    if story.content.rationale:
        st.text(story.content.rationale)
    st.caption(_facts(t, story))
    _figures(t, story)


def _facts(t: Translator, story: RuleStory) -> str:
    row = story.row
    facts = [label(t, ORIGINS, row.origin), t.moment(row.created_at)]
    if row.created_round is not None:
        facts.append(t("round {number}", number=t.number(row.created_round)))
    facts.append(t("version {number}", number=t.number(row.version)))
    if story.tags:
        facts.append(t("tags: {tags}", tags=plain(", ".join(story.tags))))
    return " · ".join(facts)


def _figures(t: Translator, story: RuleStory) -> None:
    first, second, third = st.columns(3)
    with first:
        rate_card(t, t("Success with it"), story.row)
    second.metric(t("Reward against the baseline"), t.signed(story.row.avg_delta), border=True, height="stretch")
    third.metric(t("Verified successes"), t.number(story.row.verified), border=True, height="stretch")


def _episodes(app: Context, t: Translator, story: RuleStory) -> None:
    """Show what a rule was learned from, its uses by round, and the episodes that carried it."""
    if story.evidence:
        st.caption(t("Episodes it rests on"))
        with st.container(horizontal=True):
            for place, episode_id in enumerate(story.evidence, 1):
                episode_link(t, episode_id, t("Episode {number}", number=t.number(place)))
    if not story.uses:
        st.caption(t("No prompt has carried this rule yet."))
        return
    st.dataframe([_use(t, use) for use in story.uses], hide_index=True, alt=t("Uses by round"))
    with app.database.read() as session:
        total = carrying_episodes(session, story.row.id, limit=1).total
        offset = pager(t, total, _EPISODES, f"library_{story.row.id}_episodes")
        found = carrying_episodes(session, story.row.id, limit=_EPISODES, offset=offset)
    for one in found.items:
        with st.container(horizontal=True, vertical_alignment="center"):
            episode_link(t, one.episode_id, t("Episode of {moment}", moment=t.moment(one.at)))
            st.caption(
                " · ".join((plain(one.task_type), label(t, GRADES, one.grade), label(t, COMPLIANCE, one.compliance)))
            )


def _use(t: Translator, use: RoundUse) -> dict[str, str | int]:
    return {
        t("Round"): "–" if use.round_number is None else t.number(use.round_number),
        t("Retrieved"): use.retrieved,
        t("In the prompt"): use.served,
        t("Of these passed"): use.passed,
        t("Not followed"): use.violated,
    }
