"""Episodes: a list, and a reader for one trajectory with its prompt's rules (design section 12)."""

import streamlit as st

from core.i18n import Translator
from core.views.episodes import (
    ARMS,
    GRADES,
    EpisodeChoices,
    EpisodeRow,
    episode_choices,
    episode_story,
    episodes,
)
from core.views.paging import Page
from core.views.rewards import reward_story
from pages.address import choice
from pages.context import Context, context, translator
from pages.episode_reader import show_episode
from pages.labels import ARMS as ARM_NAMES
from pages.labels import GRADE_LOOKS, label
from pages.labels import GRADES as GRADE_NAMES
from pages.widgets import badge, pager, plain, show_notice

_ROWS = 10
_EVERY = ""
_PAGE = "episodes_page"


def _open(episode_id: str) -> None:
    st.query_params["episode"] = episode_id


def _close() -> None:
    del st.query_params["episode"]


def _choice(name: str, key: str, options: dict[str, str]) -> str | None:
    return choice(name, key, options, _PAGE) or None


def _list(app: Context, t: Translator) -> None:
    with app.database.read() as session:
        choices = episode_choices(session)
    if not choices.environments:
        st.info(
            t(
                "Every attempt of the agent at a task appears here. "
                "Start a round on the page Loop to see the first ones."
            ),
            title=t("No episodes yet"),
            icon=":material/forum:",
        )
        st.page_link("loop.py", label=t("Open Loop"), icon=":material/autorenew:", query_params={"lang": t.language})
        return
    found = _filtered(app, t, choices)
    if not found.items:
        st.info(t("No episode fits these filters. Choose “All” in one of them."), icon=":material/search_off:")
    for row in found.items:
        _row(t, row)


def _filtered(app: Context, t: Translator, choices: EpisodeChoices) -> Page[EpisodeRow]:
    every = {_EVERY: t("All")}
    first, second, third, fourth = st.columns(4)
    with first:
        number = _choice(t("Round"), "episodes_round", every | {str(one): t.number(one) for one in choices.rounds})
    with second:
        arm = _choice(t("Kind"), "episodes_arm", every | {arm: label(t, ARM_NAMES, arm) for arm in ARMS})
    with third:
        grade = _choice(t("Grade"), "episodes_grade", every | {grade: label(t, GRADE_NAMES, grade) for grade in GRADES})
    with fourth:
        environment = _choice(
            t("Environment"), "episodes_environment", every | {one: one for one in choices.environments}
        )
    round_number = int(number) if number else None
    with app.database.read() as session:
        total = episodes(
            session, environment=environment, arm=arm, grade=grade, round_number=round_number, limit=1
        ).total
        offset = pager(t, total, _ROWS, _PAGE)
        return episodes(
            session,
            environment=environment,
            arm=arm,
            grade=grade,
            round_number=round_number,
            limit=_ROWS,
            offset=offset,
        )


def _row(t: Translator, row: EpisodeRow) -> None:
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            badge(t, GRADE_NAMES, GRADE_LOOKS, row.grade)
            st.caption(plain(row_facts(t, row)), width="content")
        st.text(row.query)
        st.button(
            t("Read the episode"),
            icon=":material/article:",
            key=f"episodes_open_{row.id}",
            on_click=_open,
            args=(row.id,),
        )


def row_facts(t: Translator, row: EpisodeRow) -> str:
    """Say in one line where an episode belongs and how it went."""
    facts = [row.task_type, label(t, ARM_NAMES, row.arm)]
    if row.round_number is not None:
        facts.append(t("round {number}", number=t.number(row.round_number)))
    facts.append(t("reward {reward}", reward=t.number(row.reward, 2)))
    facts.append(t.plural("{n} turn", "{n} turns", row.turns))
    if row.tool_errors:
        facts.append(t.plural("{n} failed call", "{n} failed calls", row.tool_errors))
    return " · ".join(facts)


def main() -> None:
    """Show the page."""
    app, t = context(), translator()
    show_notice()
    episode_id = st.query_params.get("episode")
    if not episode_id:
        st.title(t("Episodes"), anchor=False)
        _list(app, t)
        return
    st.button(t("All episodes"), icon=":material/arrow_back:", on_click=_close, key="episodes_close")
    with app.database.read() as session:
        story, reward = episode_story(session, episode_id), reward_story(session, episode_id)
    if story is None:
        st.warning(t("There is no episode {id}.", id=plain(episode_id)), icon=":material/search_off:")
        return
    show_episode(app, t, story, reward)


main()
