"""Limits on spend: how much of each is used, and warnings from the soft limit on."""

import streamlit as st

from core.i18n import Translator
from core.views.budget import Budget, Limit, LimitState

_CENT = 0.01
_LONG = 3650
"""Days beyond which nobody plans."""


def limit_alert(t: Translator, budget: Budget) -> None:
    """Warn at the soft limit, and say at the hard one that no call is made; silent below."""
    for limit, name in ((budget.day, t("today")), (budget.total, t("in total"))):
        if limit.state == LimitState.HARD:
            st.error(
                t(
                    "The limit on spend {name} is reached: {spent} of {hard}. No model call is made until it is raised "
                    "(Loop, Settings, Budget); then press Run.",
                    name=name,
                    spent=t.money(limit.spent),
                    hard=t.money(limit.hard),
                ),
                icon=":material/block:",
            )
        elif limit.state == LimitState.SOFT:
            st.warning(
                t(
                    "Spend {name} has passed its soft limit of {soft}: {spent} of {hard} are used.",
                    name=name,
                    soft=t.money(limit.soft),
                    spent=t.money(limit.spent),
                    hard=t.money(limit.hard),
                ),
                icon=":material/payments:",
            )


def limit_card(t: Translator, title: str, limit: Limit) -> None:
    """Show a limit with how much of it is used."""
    with st.container(border=True, height="stretch"):
        st.metric(title, t.money(limit.spent))
        if limit.hard is None:
            st.caption(t("no limit"))
            return
        used = 1.0 if limit.hard == 0 else min(1.0, limit.spent / limit.hard)
        st.progress(used, t("of {hard}; warns from {soft}", hard=t.money(limit.hard), soft=t.money(limit.soft)))


def forecast_line(t: Translator, budget: Budget) -> str:
    """Say where spend is heading."""
    forecast = budget.forecast
    if forecast is None:
        return t("Nothing was paid yet, so there is no forecast: the stand-in model costs nothing.")
    line = t(
        "{usd} a day on average over the last {days} days.",
        usd=t.money(forecast.per_day, 2 if forecast.per_day >= _CENT else 4),
        days=t.number(forecast.days, 1),
    )
    if forecast.days_left is None:
        return line
    if forecast.days_left > _LONG:
        return line + " " + t("If it goes on so, the total limit is not reached within ten years.")
    return (
        line + " " + t("If it goes on so, the total limit is reached in {n} days.", n=t.number(forecast.days_left, 1))
    )
