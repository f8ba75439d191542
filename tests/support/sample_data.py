"""Fills a database with eight rounds of credible work, for pages, screenshots and reports.

Rows are written straight into the tables; nothing here runs the loop. The same call gives the same rows.
"""

import random
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from core.db import Database
from core.rules.library import content_of
from core.tables import (
    Conflict,
    Episode,
    Lease,
    LedgerEntry,
    LoopControl,
    Proposal,
    Reflection,
    Refusal,
    Round,
    Rule,
    RuleEvent,
    RuleUse,
    Task,
)
from tests.support.sample_rules import QUERIES, RESULTS, RULES, TRAJECTORY

ROUNDS = 8
ENVIRONMENT = "incidents"
_TYPES = tuple(QUERIES)
_ARMS = (("learn", "train", 24), ("after", "held_out", 30), ("empty", "held_out", 30))


def fill(database: Database, *, now: datetime, seed: int = 5) -> None:
    """Write the sample; the newest round ended a few minutes before ``now``."""
    chance = random.Random(seed)
    with database.write() as session:
        rules = _rules(session, now)
        for number in range(1, ROUNDS + 1):
            _round(session, number, _started(number, now), rules, chance)
        session.flush()
        _waiting(session, rules, now)
        _ledger(session, now, chance)
        session.add(Lease(name="loop", owner="host-1", heartbeat_at=now, activity="resting"))
        session.add(
            LoopControl(name="loop", wanted="pause", steps=0, changed_by="local", changed_at=now - timedelta(hours=9))
        )


def _started(number: int, now: datetime) -> datetime:
    return now - timedelta(minutes=55 * (ROUNDS + 1 - number))


def _content(index: int) -> dict[str, Any]:
    type_, name, condition, action, exclusion, rationale = RULES[index % len(RULES)]
    return {
        "name": name,
        "condition": condition,
        "action": action,
        "exclusion": exclusion,
        "rationale": rationale,
        "domain": ENVIRONMENT,
        "tags": [type_, "diagnosis"],
        "priority": 0.5,
        "confidence": 0.82,
    }


_STATES = ("active",) * 5 + ("candidate",) * 4 + ("probation", "archived", "archived")


def _rules(session: Session, now: datetime) -> list[Rule]:
    rules = []
    for index, state in enumerate(_STATES):
        born = min(ROUNDS, 1 + index * 2 // 3)
        used = {"active": 96 - 9 * index, "candidate": 9 - index // 2, "probation": 31, "archived": 24}[state]
        rate = {"active": 0.8, "candidate": 0.7, "probation": 0.45, "archived": 0.3}[state]
        rules.append(
            Rule(
                **_content(index),
                id=f"rule_{index:016x}",
                origin="reflection" if index != 4 else "handbook",
                evidence=[_episode_id(born, "learn", 0), _episode_id(born, "learn", 1)],
                parents=["rule_" + f"{10:016x}"] if index == 2 else [],
                state=state,
                version=3 if state == "active" else 1,
                approved_by="local" if state in ("active", "probation") else None,
                created_at=_started(born, now) + timedelta(minutes=12),
                created_round=born,
                n_used=used,
                n_success=round(used * rate),
                avg_delta=round(rate - 0.55, 2),
                verified=round(used * rate) if state == "active" else 3 if index == 5 else index % 3,
                last_verified_at=now - timedelta(hours=1),
                last_retrieved_round=ROUNDS,
                probation_since=7 if state == "probation" else None,
            )
        )
    session.add_all(rules)
    session.flush()
    for rule in rules:
        _events(session, rule)
    return rules


def _events(session: Session, rule: Rule) -> None:
    steps = [("created", None, "candidate", "system", "written by a reflection")]
    if rule.state != "candidate":
        steps.append(("approved", "candidate", "candidate", "local", "agrees with our handbook"))
        steps.append(("verified", "candidate", "active", "system", "verified"))
    if rule.state in ("probation", "archived"):
        steps.append(("harmful", "active", "probation", "system", "harmful"))
    if rule.state == "archived":
        steps.append(("no_recovery", "probation", "archived", "system", "no_recovery"))
    content = content_of(rule)
    for place, (kind, from_state, to_state, actor, reason) in enumerate(steps):
        session.add(
            RuleEvent(
                rule_id=rule.id,
                kind=kind,
                from_state=from_state,
                to_state=to_state,
                actor=actor,
                reason=reason,
                round_number=(rule.created_round or 0) + place,
                before=None if from_state is None else content | {"state": from_state},
                after=content | {"state": to_state},
                created_at=rule.created_at + timedelta(minutes=55 * place),
            )
        )


def _round(session: Session, number: int, started: datetime, rules: list[Rule], chance: random.Random) -> None:
    committed = number not in (3, 6)
    figures = {
        "value": 0.1 if committed else -0.033,
        "low": 0.0 if committed else -0.13,
        "high": 0.2 if committed else 0.07,
        "n": 30,
        "repaired": 4 if committed else 1,
        "regressed": 1 if committed else 2,
        "mcnemar_p": 0.375 if committed else 1.0,
        "verdict": "probably_better" if committed else "not_better",
        "commit": committed,
        "noise_floor": 0.067,
    }
    measured = {**figures, "value": 0.05 * number, "low": 0.05 * number - 0.14, "high": 0.05 * number + 0.14}
    session.add(
        Round(
            number=number,
            environment=ENVIRONMENT,
            seed=number,
            trigger="episodes",
            status="committed" if committed else "rolled_back",
            phase="finished",
            verdict=figures,
            gain=measured
            | {
                "arm": "after" if committed else "before",
                "repaired": 3 + number,
                "regressed": 1,
                "mcnemar_p": 0.01,
            },
            started_at=started,
            ended_at=started + timedelta(minutes=48),
        )
    )
    session.flush()
    for arm, split, count in _ARMS:
        for place in range(count):
            _episode(session, number, arm, split, place, started, rules, chance)
    if not committed:
        before = random.Random(number)
        for place in range(30):
            _episode(session, number, "before", "held_out", place, started, rules, before)
    session.flush()
    _reflection(session, number, started, rules)


def _episode_id(number: int, arm: str, place: int) -> str:
    return f"episode_{number:02d}{arm}{place:03d}"


def _episode(
    session: Session,
    number: int,
    arm: str,
    split: str,
    place: int,
    started: datetime,
    rules: list[Rule],
    chance: random.Random,
) -> None:
    type_ = _TYPES[place % len(_TYPES)]
    if arm == "learn" and place < 2:
        type_ = next((rule.tags[0] for rule in rules if rule.created_round == number), type_)
    rate = 0.34 if arm == "empty" else 0.34 + 0.055 * number
    # The first two training episodes are a contrasting pair, so that every reflection has one.
    passed = place == 0 if arm == "learn" and place < 2 else chance.random() < rate
    grade = "pass" if passed else chance.choice(("fail", "fail", "marginal"))
    served = [] if arm == "empty" else [rule for rule in rules if (rule.created_round or 0) < number][:6]
    turns = chance.randint(3, 6) if passed else chance.randint(6, 10)
    moment = started + timedelta(minutes=1, seconds=20 * place)
    task_id = f"{ENVIRONMENT}/{split}-{type_}-{place:03d}"
    if session.get(Task, task_id) is None:
        session.add(
            Task(
                id=task_id,
                environment=ENVIRONMENT,
                type=type_,
                query=QUERIES[type_],
                split=split,
                created_at=started,
            )
        )
    episode = Episode(
        id=_episode_id(number, arm, place),
        environment=ENVIRONMENT,
        task_id=task_id,
        task_type=type_,
        query=QUERIES[type_],
        split=split,
        arm=arm,
        round_number=number,
        seed=place,
        temperature=0.8 if arm == "learn" else 0.0,
        agent="bundled",
        model="simulated-act",
        reward={"pass": 1.0, "marginal": 0.5, "fail": -0.2}[grade],
        grade=grade,
        turns=turns,
        tool_calls=turns,
        tool_errors=0 if passed else chance.randint(0, 2),
        messages=_messages(type_, served, passed),
        digest=_digest(type_, passed),
        digest_source="condensed",
        decisive_step=6,
        started_at=moment,
        ended_at=moment + timedelta(seconds=14),
        credited=True,
    )
    session.add(episode)
    session.flush()
    _uses(session, episode, served, chance)


def _uses(session: Session, episode: Episode, served: list[Rule], chance: random.Random) -> None:
    for position, rule in enumerate(served):
        left_out = chance.random() < 0.05
        complied = "complied" if chance.random() < 0.6 + 0.03 * (episode.round_number or 0) else "violated"
        session.add(
            RuleUse(
                episode_id=episode.id,
                rule_id=rule.id,
                rule_version=max(1, rule.version - 1),
                disposition="left_out" if left_out else "served",
                position=None if left_out else position,
                score=round(0.91 - 0.06 * position, 3),
                propensity=0.05 if left_out else 0.95,
                compliance=complied,
                judged_by="check",
                verified=complied == "complied" and episode.grade == "pass" and not left_out,
            )
        )


def _messages(type_: str, served: list[Rule], passed: bool) -> list[dict[str, Any]]:
    listed = "\n".join(f"{place}. When {rule.condition}: {rule.action}" for place, rule in enumerate(served, 1))
    system = "You are on call for a web shop's services. Find the cause, apply one remedy, close the incident.\n"
    messages: list[dict[str, Any]] = [
        {
            "role": "system",
            "content": f"{system}\n# Rules learned from earlier episodes\n{listed}" if listed else system,
        },
        {"role": "user", "content": QUERIES[type_]},
    ]
    for place, ((thought, tool, arguments), result) in enumerate(zip(TRAJECTORY, RESULTS, strict=True)):
        call = {"id": f"call_{place}", "type": "function", "function": {"name": tool, "arguments": arguments}}
        messages.append({"role": "assistant", "content": thought, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "name": tool, "content": result})
    closing = "Closed: latency is back to normal." if passed else "I could not bring the latency down; handing over."
    return [*messages, {"role": "assistant", "content": closing}]


def _digest(type_: str, passed: bool) -> str:
    _, _, condition, action, _, rationale = next(row for row in RULES if row[0] == type_)
    outcome = "incident closed as expected, reward 1." if passed else "worse than before, reward -0.2."
    decisive = action if passed else rationale
    return f"Task: {QUERIES[type_]}\nSeen: {condition}.\nDecisive: {decisive}\nOutcome: {outcome}"


def _reflection(session: Session, number: int, started: datetime, rules: list[Rule]) -> None:
    written = [rule for rule in rules if rule.created_round == number]
    passing = [_episode_id(number, "learn", 0)]
    failing = [_episode_id(number, "learn", 1)]
    session.add(
        Reflection(
            id=f"reflection_{number}",
            round_number=number,
            batch=0,
            status="done",
            passing=passing,
            failing=failing,
            differences=[
                {
                    "task": QUERIES[rule.tags[0]],
                    "decision_point": "First remedy",
                    "passing_did": rule.action,
                    "failing_did": rule.rationale,
                }
                for rule in written
            ],
            operations=[{"op": "ADD", "name": rule.name} for rule in written],
            outcomes=[{"op": "ADD", "result": "candidate", "rule_id": rule.id} for rule in written],
            created_at=started + timedelta(minutes=12),
        )
    )


def _waiting(session: Session, rules: list[Rule], now: datetime) -> None:
    session.add(
        Proposal(
            id="proposal_1",
            rule_id=rules[0].id,
            rule_version=rules[0].version,
            kind="edit",
            after=_content(0)
            | {"action": "Read idle-in-transaction sessions first; close those of the leaking service only."},
            reason="Two episodes restarted a healthy service.",
            evidence=[_episode_id(7, "learn", 0)],
            round_number=7,
            created_at=now - timedelta(hours=2),
        )
    )
    session.add(
        Conflict(
            id="conflict_1",
            rule_a=rules[1].id,
            rule_b=rules[6].id,
            detector="polarity",
            evidence="Under the same condition they ask for opposite acts: “{new}” against “{other}”.",
            evidence_values={"new": rules[6].action, "other": rules[1].action},
            suggestion=rules[1].id,
            round_number=7,
            created_at=now - timedelta(hours=2),
        )
    )
    for place, (detector, action, message) in enumerate(
        (
            (
                "vacuous",
                "Always be careful and think step by step.",
                "It says an attitude, not an action ({text}). Say what to do, to what.",
            ),
            (
                "single_case",
                "Restart 10.3.2.17 when order 88412 fails.",
                "It is tied to one case: it names {what} ({text}). Say it for every case of the kind.",
            ),
        )
    ):
        session.add(
            Refusal(
                id=f"refusal_{place}",
                round_number=8 - place,
                draft=_content(place) | {"name": f"Draft {place + 1}", "action": action},
                reasons=[
                    {
                        "detector": detector,
                        "template": message,
                        "values": {"what": "an address", "text": action},
                    }
                ],
                created_at=now - timedelta(hours=1 + place),
            )
        )


def _ledger(session: Session, now: datetime, chance: random.Random) -> None:
    shapes = {
        "act": (2600, 120, 40),
        "digest": (900, 240, 8),
        "reflect": (5200, 900, 2),
        "judge": (700, 30, 10),
    }
    for number in range(1, ROUNDS + 1):
        for purpose, (given, written, calls) in shapes.items():
            for call in range(calls):
                cached = given // 2 if purpose == "act" else 0
                session.add(
                    LedgerEntry(
                        request_id=f"request_{number}_{purpose}_{call}",
                        attempt=1,
                        purpose=purpose,
                        model=f"simulated-{purpose}",
                        simulated=True,
                        input_tokens=given,
                        cached_tokens=cached,
                        output_tokens=written,
                        cost_usd=(given * 0.55 + written * 2.2) / 1e6,
                        latency_ms=chance.uniform(200, 900),
                        outcome="ok" if call % 11 else "rate_limited",
                        round_number=number,
                        created_at=_started(number, now) + timedelta(seconds=call),
                    )
                )
