"""Provenance: what came from what, and which rules a change of a metric is owed to (design section 12)."""

import streamlit as st

from core.i18n import Translator
from core.views.diagnostics.panel import domains
from core.views.episodes import episode_story
from core.views.health import METRICS
from core.views.library_list import LibraryFilter, listed_rules
from core.views.loop import rounds
from core.views.provenance import Explained, explain_change
from pages.context import Context, context, translator
from pages.labels import COMPLIANCE, DISPOSITIONS, EVENTS, label
from pages.labels import METRICS as METRIC_NAMES
from pages.provenance_flow import show_flow
from pages.provenance_rule import show_rule
from pages.widgets import episode_link, plain, rule_link

_ROWS = 10
_MOST_RULES = 200


def _change(app: Context, t: Translator, domain: str, metric: str) -> None:
    with app.database.read() as session:
        numbers = [one.number for one in rounds(session, limit=_MOST_RULES).items if one.environment == domain]
    if len(numbers) < 2:
        st.info(t("A change needs two rounds; there is only one so far."))
        return
    left, right = st.columns(2)
    later = left.selectbox(t("Later round"), numbers[:-1], key="provenance_later", bind="query-params")
    before = [number for number in numbers if number < later]
    earlier = right.selectbox(t("Earlier round"), before, key="provenance_earlier", bind="query-params")
    with app.database.read() as session:
        found = explain_change(session, domain, metric, earlier, later)
    _explained(t, found)


def _explained(t: Translator, found: Explained) -> None:
    parts = found.attribution
    if parts is None:
        st.info(t("There is nothing to compare: one of the rounds has no training episodes, or nothing varies."))
        return
    st.metric(t("Change on training tasks"), t.signed(parts.change, 3), border=True)
    st.caption(
        t(
            "{before} episodes before, {after} after. Other task types: {mix}; rules that were there all along: "
            "{others}; not explained: {rest}.",
            before=t.number(parts.n_before),
            after=t.number(parts.n_after),
            mix=t.signed(parts.mix, 3),
            others=t.signed(parts.others, 3),
            rest=t.signed(parts.rest, 3),
        )
    )
    if not parts.shares:
        st.info(t("No rule that changed in between was in a prompt of these rounds."))
        return
    rows = []
    for share in parts.shares[:_ROWS]:
        suspects = [found.suspects[rule] for rule in share.rules if rule in found.suspects]
        rows.append(
            {
                t("Rule"): plain(" + ".join(one.name for one in suspects)),
                t("Share of the change"): t(
                    "{value} ({low} to {high})",
                    value=t.signed(share.value, 3),
                    low=t.signed(share.low, 3),
                    high=t.signed(share.high, 3),
                ),
                t("In prompts, before and after"): f"{t.percent(share.before)} → {t.percent(share.after)}",
                t("What happened to it"): ", ".join(
                    f"{label(t, EVENTS, kind)} ({t.number(number)})" for one in suspects for number, kind in one.events
                ),
                t("Told apart"): t("yes") if len(share.rules) == 1 else t("cannot be told apart"),
            }
        )
    st.table(rows, hide_index=True)
    st.caption(
        t(
            "Estimated by a regression of each episode's outcome on the rules its prompt carried; the coin that leaves "
            "rules out helps to tell them apart. An interval that holds 0 means: perhaps nothing. Rules that nearly "
            "always stand in the same prompts are judged as one."
        )
    )
    with st.expander(t("Go to a rule")):
        for share in parts.shares[:_ROWS]:
            for rule in share.rules:
                if rule in found.suspects:
                    rule_link(t, rule, found.suspects[rule].name)


def _episode(app: Context, t: Translator) -> None:
    episode_id = st.text_input(t("Id of an episode"), key="provenance_episode", bind="query-params").strip()
    if not episode_id:
        return
    with app.database.read() as session:
        story = episode_story(session, episode_id)
    if story is None:
        st.warning(t("There is no episode {id}.", id=plain(episode_id)), icon=":material/search_off:")
        return
    if story.library_left_out:
        st.caption(t("Chance left the whole library out of this prompt."))
    rows = [
        {
            t("Place"): t.number(one.position),
            t("Rule"): plain(one.name),
            t("Version served"): t.number(one.served_version),
            t("Version now"): t.number(one.version),
            t("In the prompt"): label(t, DISPOSITIONS, one.disposition),
            t("Followed"): label(t, COMPLIANCE, one.compliance if one.disposition == "served" else None),
        }
        for one in story.rules
    ]
    if rows:
        st.table(rows, hide_index=True)
    else:
        st.info(t("Its prompt found no rule."))
    episode_link(t, episode_id)


def _rule(app: Context, t: Translator, domain: str) -> None:
    with app.database.read() as session:
        found = listed_rules(session, LibraryFilter(domain=domain), limit=_MOST_RULES).items
    known = {one.row.id: one.row.name for one in found}
    if not known:
        st.info(t("There are no rules yet. A learning round writes them; start one on the page Loop."))
        return
    rule_id = st.selectbox(
        t("Rule"), list(known), format_func=known.__getitem__, key="provenance_rule", bind="query-params"
    )
    show_rule(app, t, rule_id)


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Provenance"), anchor=False)
    with app.database.read() as session:
        known = domains(session)
    if not known:
        st.info(t("Nothing to trace back yet: no round has run to its end."), icon=":material/info:")
        return
    left, right = st.columns(2)
    domain = left.selectbox(t("Domain"), known, key="provenance_domain", bind="query-params")
    metric = right.selectbox(
        t("Metric"), METRICS, format_func=lambda one: label(t, METRIC_NAMES, one), key="provenance_metric",
        bind="query-params",
    )  # fmt: skip
    flow, change, rule, episode = st.tabs(
        [t("From episodes to effects"), t("A change"), t("A rule"), t("An episode")], key="provenance_tabs"
    )
    with flow:
        show_flow(app, t, domain, metric)
    with change:
        _change(app, t, domain, metric)
    with rule:
        _rule(app, t, domain)
    with episode:
        _episode(app, t)


main()
