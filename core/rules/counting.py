"""What an episode counts for the rules that were in its prompt (design section 5), and how that is put right later.

The one place that writes ``n_used``, ``n_success``, ``avg_delta`` and ``verified``. When an episode is counted, and
against which baseline, is ``core.learning.credit``'s matter; who says that it was another one, ``core.curation``'s.
"""

from collections.abc import Iterable, Sequence

from sqlmodel import Session, col, func, select

from core.rules.kinship import merged_from, with_merges
from core.tables import Episode, Rule, RuleUse

PASS = "pass"


def count_episode(session: Session, episode: Episode, baseline: float) -> None:
    """Count an episode for its rules and for what they became part of after they were served.

    A merge took over what its parents had counted when it was made; this is what was still to be counted.
    Like there, a use of each parent counts, and an episode is one verified success at most.

    Args:
        session: a write session.
        episode: done, and not counted yet.
        baseline: mean reward of its task type.
    """
    uses = _served(session, episode)
    for use in uses:
        for rule in with_merges(session, use.rule_id):
            rule.avg_delta += (episode.reward - baseline - rule.avg_delta) / (rule.n_used + 1)
            rule.n_used += 1
            rule.n_success += episode.grade == PASS
            session.add(rule)
    if episode.grade == PASS:
        _verify(session, episode, uses)


def recount_episode(session: Session, episode: Episode, reward: float, grade: str) -> None:
    """Give an episode another outcome, and put it in the place of the former one wherever that was counted.

    The baseline stays what it was when the episode was counted, so that the difference of the rewards is all that
    changes. An episode that was not counted yet will be, with its new outcome.

    Args:
        session: a write session.
        episode: changed here, with what was counted from it.
        reward: in [-1, 1].
        grade: pass, marginal or fail.
    """
    counted = episode.credited and episode.status == "done"
    uses = _served(session, episode) if counted else []
    gained, passed = reward - episode.reward, (grade == PASS) - (episode.grade == PASS)
    episode.reward, episode.grade = reward, grade
    session.add(episode)
    for use in uses:
        for rule in with_merges(session, use.rule_id):
            # A merge that was taken apart and put together again may not have counted what its parts did meanwhile.
            if rule.n_used and 0 <= rule.n_success + passed <= rule.n_used:
                rule.avg_delta += gained / rule.n_used
                rule.n_success += passed
                session.add(rule)
    if passed > 0:
        _verify(session, episode, uses)
    elif passed < 0:
        _unverify(session, uses)
    session.flush()


def _served(session: Session, episode: Episode) -> Sequence[RuleUse]:
    query = select(RuleUse).where(RuleUse.episode_id == episode.id, RuleUse.disposition == "served")
    return session.exec(query.order_by(col(RuleUse.id))).all()


def _verify(session: Session, episode: Episode, uses: Sequence[RuleUse]) -> None:
    # Stricter than "not violated": a rule that did not apply has not proved anything.
    proved = [use for use in uses if use.compliance == "complied"]
    for use in proved:
        use.verified = True
        session.add(use)
    for rule in _once(session, proved):
        rule.verified += 1
        rule.last_verified_at = max(rule.last_verified_at or episode.ended_at, episode.ended_at)
        session.add(rule)


def _unverify(session: Session, uses: Sequence[RuleUse]) -> None:
    taken_back = [use for use in uses if use.verified]
    for use in taken_back:
        use.verified = False
        session.add(use)
    session.flush()
    for rule in _once(session, taken_back):
        family = {rule.id} | merged_from(session, [rule.id])
        rule.verified -= 1
        rule.last_verified_at = session.exec(
            select(func.max(Episode.ended_at))
            .join(RuleUse, col(RuleUse.episode_id) == col(Episode.id))
            .where(col(RuleUse.rule_id).in_(family), col(RuleUse.verified).is_(True))
        ).one()
        session.add(rule)


def _once(session: Session, uses: Iterable[RuleUse]) -> list[Rule]:
    """Return the rules of the uses and what they are part of, each once."""
    return list({rule.id: rule for use in uses for rule in with_merges(session, use.rule_id)}.values())
