"""Judging by the model what could not be checked by rule, within a limit per round (design section 8)."""

from sqlmodel import Session, col, func, select

from core.ids import derive_seed
from core.learning.bench import Bench
from core.llm.client import CallContext
from core.rules.compliance import judge_compliance
from core.rules.wording import rule_text
from core.tables import Episode, Rule, RuleUse


def judge_open_pairs(bench: Bench, round_number: int) -> None:
    """Judge unjudged rule-episode pairs of the round's training episodes, passing episodes first.

    Passing ones first, since they decide what counts as a verified success. Each verdict is committed at
    once; a pair that was judged in vain stays unjudged and is not tried twice.
    """
    with bench.database.read() as session:
        limit = bench.settings.round.judged_pairs - _judged_already(session, round_number)
        rows = session.exec(
            select(RuleUse.id, RuleUse.rule_id, Episode.id, Episode.digest)
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
        texts = {rule.id: rule_text(rule) for rule in session.exec(select(Rule)).all()}
    for done, (use_id, rule_id, episode_id, digest) in enumerate(rows):
        bench.report(round_number, "judged", done, len(rows))
        context = CallContext("judge", episode_id=episode_id, round_number=round_number)
        seed = derive_seed(round_number, episode_id, rule_id)
        verdict = judge_compliance(bench.client, context, texts[rule_id], digest, seed)
        with bench.database.write() as session:
            use = session.get_one(RuleUse, use_id)
            use.compliance, use.judged_by = verdict, "model"
            session.add(use)


def _judged_already(session: Session, round_number: int) -> int:
    """Count the pairs that the round's model calls judged before it was interrupted."""
    query = (
        select(func.count())
        .select_from(RuleUse)
        .join(Episode, col(Episode.id) == RuleUse.episode_id)
        .where(Episode.round_number == round_number, Episode.arm == "learn", RuleUse.judged_by == "model")
    )
    return session.exec(query).one()
