"""Overview: is the agent getting better, what does it cost, is the loop alive (design section 12)."""

from collections.abc import Sequence

import streamlit as st

from core.i18n import Translator
from core.views.budget import Budget, budget
from core.views.diagnostics.trouble import Trouble
from core.views.health import Gain, gain_by_round, health_rows, shrinking_gain
from core.views.history import library_history, waiting
from core.views.library import STATES, LibraryCounts, library_counts
from core.views.review_queue import queue
from core.views.spend import Spend, spend
from pages.context import Context, context, settings_now, translator
from pages.health import health_cards, health_charts, health_lines
from pages.labels import PURPOSES, STATE_LOOKS, TROUBLES, label
from pages.labels import STATES as STATE_NAMES
from pages.limits import limit_alert
from pages.loop_status import loop_controls, loop_status
from pages.overview_history import change_marks, gain_trend, library_over_time, queues
from pages.sign_in import stay_admitted
from pages.troubles import known_troubles
from pages.widgets import show_notice

_REFRESH_S = 10


def _introduction(app: Context, t: Translator) -> None:
    """Explain at first visits, as long as no rule went live; later on demand."""
    with app.database.read() as session:
        states, open_items = library_counts(session).by_state, queue(session, limit=1).total
    told = states["active"] + states["probation"] + states["archived"] > 0
    with st.expander(t("What you see here"), expanded=not told, icon=":material/lightbulb:"):
        what = t(
            "Rulewright lets an agent get better without retraining it: it contrasts episodes that succeeded "
            "with episodes that failed, writes short rules, and tests them on tasks it never learned from."
        )
        shown = t("The figures below compare the agent with its rules to the same agent without any, by round.")
        st.markdown(f"{what} {shown} {_next_step(t, open_items)}")
        page, name = ("review.py", t("Open Review")) if open_items else ("loop.py", t("Open Loop"))
        st.page_link(page, label=name, icon=":material/arrow_forward:", query_params={"lang": t.language})


def _next_step(t: Translator, waiting: int) -> str:
    if waiting:
        return t.plural(
            "Next, open Review: {n} item waits for your decision before it can go into prompts.",
            "Next, open Review: {n} items wait for your decision before they can go into prompts.",
            waiting,
        )
    return t("Next, let the loop run a round; the first rules will then wait for you in Review.")


@st.fragment(run_every=_REFRESH_S)
def _figures() -> None:
    stay_admitted()
    app, t = context(), translator()
    with app.database.read() as session:
        rows, costs = health_rows(session), spend(session, now=app.clock())
        counts, shrinking = library_counts(session), shrinking_gain(session)
        paid = budget(session, settings_now(app).budget, now=app.clock())
        history, gains = library_history(session), gain_by_round(session)
        held_up, alarms = waiting(session, now=app.clock()), known_troubles(app)
    limit_alert(t, paid)
    _gain_alert(t, shrinking)
    _trouble_alert(t, alarms)
    lines = health_lines(rows, gains)
    health_cards(t, lines)
    left, middle, right = st.columns(3)
    with left.container(border=True, height="stretch"):
        _gain(t, gains[-1] if gains else None)
        _link(t, "loop.py", t("Rounds and their verdicts"))
    with middle.container(border=True, height="stretch"):
        _spend(t, costs, paid)
        _link(t, "spend.py", t("Open Spend"))
    with right.container(border=True, height="stretch"):
        _library(t, counts)
        _link(t, "library.py", t("Open Library"))
    queues(t, held_up)
    health_charts(t, lines, change_marks(t, history))
    left, right = st.columns(2)
    with left.container(border=True):
        gain_trend(t, gains)
    with right.container(border=True):
        library_over_time(t, history)


def _gain_alert(t: Translator, shrinking: list[Gain]) -> None:
    if shrinking:
        st.warning(
            t(
                "The gain by the rules has shrunk for {rounds} rounds in a row, from {first} to {last}. "
                "Look in Library for rules that harm, and in Loop at what the last rounds changed.",
                rounds=t.number(len(shrinking) - 1),
                first=t.signed(shrinking[0].value),
                last=t.signed(shrinking[-1].value),
            ),
            icon=":material/trending_down:",
        )


def _trouble_alert(t: Translator, found: Sequence[Trouble]) -> None:
    if not found:
        return
    names = dict.fromkeys(label(t, TROUBLES, trouble.kind) for trouble in found)
    st.warning(" · ".join(names), icon=":material/troubleshoot:")
    _link(t, "diagnostics.py", t("Open Diagnostics"))


def _link(t: Translator, page: str, name: str) -> None:
    st.page_link(page, label=name, icon=":material/arrow_forward:", query_params={"lang": t.language})


def _gain(t: Translator, measured: Gain | None) -> None:
    help_ = t("Mean reward on held-out tasks with the library minus that with an empty one, same tasks and seeds.")
    if measured is None or measured.value is None:
        st.metric(t("Gain by the rules"), "–", help=help_)
        st.caption(t("No round has measured it yet."))
        return
    st.metric(t("Gain by the rules"), t.signed(measured.value), help=help_)
    interval = t.interval(measured.value, measured.low, measured.high, measured.n)
    st.caption(t("{interval} in mean reward", interval=interval))
    st.caption(
        t(
            "Round {number}: {repaired} tasks repaired, {regressed} regressed; McNemar p: {p}; noise floor {floor}",
            number=t.number(measured.round),
            repaired=t.number(measured.repaired),
            regressed=t.number(measured.regressed),
            p=t.probability(measured.mcnemar_p),
            floor=t.number(measured.noise_floor, 3),
        )
    )


def _spend(t: Translator, costs: Spend, paid: Budget) -> None:
    unknown = costs.unknown_price_calls
    total = None if unknown and not costs.total.cost_usd else costs.total.cost_usd
    st.metric(t("Spend"), t.money(total), help=t("All model calls so far, from the ledger."))
    if unknown:
        st.caption(t("The price of {unknown} calls is unknown: they are not in the sum.", unknown=t.number(unknown)))
    limit, today = paid.day.hard, t.money(paid.day.spent)
    st.caption(
        t("Paid today {today}, no daily limit", today=today)
        if limit is None
        else t("Paid today {today} of {limit}", today=today, limit=t.money(limit))
    )
    parts = [f"{label(t, PURPOSES, purpose)} {t.money(usage.cost_usd)}" for purpose, usage in costs.by_purpose.items()]
    st.caption(" · ".join(parts) or t("No model call yet."))
    st.caption(
        t(
            "Retries {retries} of calls, cached {cached} of input tokens",
            retries=t.percent(costs.retry_share, 1),
            cached=t.percent(costs.cache_share),
        )
    )


def _library(t: Translator, counts: LibraryCounts) -> None:
    st.metric(t("Rules in the library"), t.number(sum(counts.by_state.values()) - counts.by_state["archived"]))
    with st.container(horizontal=True, gap="small"):
        for state in STATES:
            color, icon = STATE_LOOKS[state]
            text = f"{label(t, STATE_NAMES, state)} {t.number(counts.by_state[state])}"
            st.badge(text, icon=icon, color=color)  # type: ignore[arg-type]


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    st.title(t("Overview"), anchor=False)
    show_notice()
    _introduction(app, t)
    with st.container(border=True, horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with st.container(width="content"):
            loop_status()
        loop_controls(app, t, "overview")
    _figures()


main()
