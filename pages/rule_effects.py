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
            t("Effect of the rule"): effect_said(t, one.effect),
            t("What it says"): finding_said(t, one.metric, one.effect.finding)[0],
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


def effect_said(t: Translator, effect: Effect) -> str:
    """Say an effect with its interval and how many episodes it rests on."""
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


def finding_said(t: Translator, metric: str, finding: Finding) -> tuple[str, str]:
    """Say what an effect on a metric means, and how it looks: good, bad or open."""
    if finding == Finding.TOO_FEW:
        return t("Too few to tell"), "open"
    if finding == Finding.UNCLEAR:
        return t("No effect to be seen"), "open"
    better = (finding == Finding.ABOVE) == (metric in ("success_rate", "compliance_rate"))
    return (t("It helps"), "good") if better else (t("It harms"), "bad")


def _raw(t: Translator, interval: Interval) -> str:
    return t.interval(interval.value, interval.low, interval.high, interval.n)
