"""Judging by the model what could not be checked by rule, within a limit per round (design section 8)."""

from datetime import datetime

from sqlmodel import Session, col, func, select

from core.ids import derive_seed
from core.learning.bench import Bench
from core.llm.client import CallContext
from core.rules.compliance import judge_compliance
from core.rules.wording import rule_text
from core.tables import Episode, Rule, RuleEvent, RuleUse
from core.tables.rules import RuleContent


def judge_open_pairs(bench: Bench, round_number: int) -> None:
    """Judge unjudged rule-episode pairs of the round's training episodes, passing episodes first.

    Passing ones first, since they decide what counts as a verified success. Each verdict is committed at
    once; a pair that was judged in vain stays unjudged and is not tried twice.
    """
    with bench.database.read() as session:
        limit = bench.settings.round.judged_pairs - _judged_already(session, round_number)
        rows = session.exec(
            select(RuleUse, Episode)
            .join(Episode, col(Episode.id) == RuleUse.episode_id)
            .where(
                Episode.round_number == round_number,
                Episode.arm == "learn",
                Episode.status == "done",
                RuleUse.disposition == "served",
                RuleUse.compliance == "unjudged",
                RuleUse.judged_by == "",
            )
            .order_by(col(Episode.grade) != "pass", col(Episode.id), col(RuleUse.rule_id))
            .limit(max(0, limit))
        ).all()
        texts = [_text_at(session, use.rule_id, episode.started_at) for use, episode in rows]
    for done, ((open_use, episode), text) in enumerate(zip(rows, texts, strict=True)):
        bench.report(round_number, "judged", done, len(rows))
        context = CallContext("judge", episode_id=episode.id, round_number=round_number, agent=episode.agent)
        seed = derive_seed(round_number, episode.id, open_use.rule_id)
        verdict = judge_compliance(bench.client, context, text, episode.digest, seed)
        with bench.database.write() as session:
            use = session.get_one(RuleUse, open_use.id)
            use.compliance, use.judged_by = verdict, "model"
            session.add(use)


def _text_at(session: Session, rule_id: str, moment: datetime) -> str:
    """Return what a rule said when an episode began: this round's reflection may have edited it since."""
    event = session.exec(
        select(RuleEvent)
        .where(RuleEvent.rule_id == rule_id, col(RuleEvent.created_at) <= moment)
        .order_by(col(RuleEvent.id).desc())
        .limit(1)
    ).first()
    if event is None:
        return rule_text(session.get_one(Rule, rule_id))
    return rule_text(RuleContent(**{name: event.after[name] for name in RuleContent.model_fields}))


def _judged_already(session: Session, round_number: int) -> int:
    """Count the pairs that the round's model calls judged before it was interrupted."""
    query = (
        select(func.count())
        .select_from(RuleUse)
        .join(Episode, col(Episode.id) == RuleUse.episode_id)
        .where(Episode.round_number == round_number, Episode.arm == "learn", RuleUse.judged_by == "model")
    )
    return session.exec(query).one()
