"""What a rule does to each health metric, told from what merely goes together with it."""

from collections.abc import Sequence

import streamlit as st

from core.effects import Effect, Finding
from core.i18n import TOO_FEW, Translator
from core.statistics import Interval
from core.views.effects import MetricEffect
from pages.labels import METRICS, label


def show_effects(t: Translator, effects: Sequence[MetricEffect]) -> None:
    """Show a row for each metric, and say how it was found out."""
    rows = [
        {
            t("Metric"): label(t, METRICS, one.metric),
            t("Effect of the rule"): effect_text(t, one.effect),
            t("What it says"): _said(t, one),
            t("With it (raw)"): _raw(t, one.raw_with),
            t("Without it (raw)"): _raw(t, one.raw_without),
        }
        for one in effects
    ]
    st.table(rows, hide_index=True)
    st.caption(
        t(
            "Now and then a coin leaves a retrieved rule out of a prompt. The effect compares those episodes with the "
            "ones that kept it, so it does not matter for which tasks the rule is retrieved. The raw figures do not "
            "tell cause from circumstance. Below {n} episodes on either side nothing is said.",
            n=t.number(TOO_FEW),
        )
    )


def effect_text(t: Translator, effect: Effect) -> str:
    """Say an effect with its interval and counts; the counts alone if they are too few."""
    counts = {"kept": t.number(effect.n_with), "without": t.number(effect.n_without)}
    if effect.finding == Finding.TOO_FEW:
        return t("{kept} episodes with it, {without} without", **counts)
    return t(
        "{value} ({low} to {high}; {kept} episodes with it, {without} without)",
        value=t.signed(effect.value),
        low=t.signed(effect.low),
        high=t.signed(effect.high),
        **counts,
    )


def _said(t: Translator, one: MetricEffect) -> str:
    more_is_better = one.metric in ("success_rate", "compliance_rate")
    if one.effect.finding == Finding.TOO_FEW:
        return t("Too few to tell")
    if one.effect.finding == Finding.UNCLEAR:
        return t("No effect to be seen")
    better = (one.effect.finding == Finding.ABOVE) == more_is_better
    return t("It helps") if better else t("It harms")


def _raw(t: Translator, interval: Interval) -> str:
    return t.interval(interval.value, interval.low, interval.high, interval.n)
