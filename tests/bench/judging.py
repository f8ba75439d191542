"""What asking the judge on its triggers alone saves, on 105 real episodes. ``python -m tests.bench.judging``

Tokens are estimated, answers are the stand-in's, prices those of the model that judges by default. The calls that
are made for real (by the stand-in, over the client) are counted beside them.

The episodes with signs of displeasure are printed with the user's words, and read one by one they are:

    airline-013-0, 013-2  the user puts the agent right, which looked for another flight than the one asked for
    airline-018-0, 1, 2   the user does not take a refusal and asks for somebody else
    airline-024-1         the user insists on a waived fee and asks to have the case escalated

In all six the user is displeased with what the agent did or said, if politely: 6 of 6. The lists were written with
these conversations at hand, so that is no estimate for others. ``tests/data/displeasure.jsonl`` holds utterances in
English and Chinese, half of them misleading, that were written after the lists were closed: they give one. A list of
words finds what is said outright, and less than half of what is said in a roundabout way.

In the other 99 episodes, the later words were read as far as they hold a negation, a doubt, an insistence or a wish
for a person (275 sentences of 739 messages). Missed are mild ones: "Can't you make an exception?" (015-2) and "Can you
please double-check and honor the policy?" (023-1); "It's really inconvenient" (016-2) is about the airline's delay,
not about the agent.
"""

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import select

from core.db import Database, open_database
from core.embeddings import Embedder
from core.episodes.displeasure import later_words, signs_of_displeasure
from core.episodes.importing import import_recorded
from core.episodes.judging import judge_messages
from core.episodes.reward_rows import findings_of
from core.learning.bench import Bench
from core.learning.rewarding import reward_episodes
from core.llm.build import build_client
from core.llm.prices import TokenUsage, load_prices
from core.llm.simulated.judging import judge_episode
from core.settings import Settings, SimulationSettings
from core.statistics import wilson
from core.tables import Episode, EpisodeReward, LedgerEntry, Round
from core.text import estimate_tokens
from tests.support.recordings import airline_file

LABELLED = Path(__file__).resolve().parents[1] / "data" / "displeasure.jsonl"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings(_env_file=None, simulation=SimulationSettings(malformed_rate=0, rate_limit_rate=0, timeout_rate=0))  # type: ignore[call-arg]


def main() -> None:
    """Print shares, tokens and USD, then the words that called for the judge."""
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(f"sqlite:///{folder}/t.db")
        import_recorded(database, airline_file(), settings=SETTINGS, clock=lambda: NOW)
        with database.read() as session:
            episodes = session.exec(select(Episode).order_by(Episode.id)).all()
        found = {episode.id: findings_of(episode) for episode in episodes}
        groups = {
            "all": episodes,
            "triggered": [one for one in episodes if found[one.id].triggered],
            "asked": [one for one in episodes if found[one.id].to_be_asked],
        }
        whole = sum(_usd(one) for one in episodes)
        print(f"{SETTINGS.model.judge}, n = {len(episodes)} episodes")
        for name, group in groups.items():
            tokens = [_tokens(one) for one in group]
            print(
                f"{name:10} {len(group):4} ({len(group) / len(episodes):6.1%})  {sum(t.input for t in tokens):8,} in  "
                f"{sum(t.output for t in tokens):6,} out  {sum(map(_usd, group)):.6f} USD  "
                f"saved {1 - sum(map(_usd, group)) / whole:6.1%}"
            )
        _really_asked(database)
        _unseen()
        for episode in episodes:
            for words in later_words(episode.messages):
                if signs := signs_of_displeasure(words):
                    print(f"- {episode.task_id} trial {episode.rollout}, {episode.grade}: {', '.join(signs)} | {words}")


def _tokens(episode: Episode) -> TokenUsage:
    messages = judge_messages(episode.messages)
    answer = json.dumps(judge_episode(messages[1]["content"]))
    return TokenUsage(input=sum(estimate_tokens(one["content"]) for one in messages), output=estimate_tokens(answer))


def _usd(episode: Episode) -> float:
    return load_prices(Path("none")).cost(SETTINGS.model.judge, _tokens(episode), NOW) or 0.0


def _unseen() -> None:
    rows = [json.loads(line) for line in LABELLED.read_text(encoding="utf-8").splitlines()]
    noticed = [row for row in rows if signs_of_displeasure(row["text"])]
    right = sum(row["displeased"] for row in noticed)
    for name, n in (("precision", len(noticed)), ("recall", sum(row["displeased"] for row in rows))):
        rate = wilson(right, n)
        print(f"unseen utterances, {name}: {rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}] (n = {n} of {len(rows)})")


def _really_asked(database: Database) -> None:
    with database.write() as session:
        session.add(Round(number=1, environment="airline", seed=1, trigger="episodes", started_at=NOW))
    client = build_client(SETTINGS, database, lambda: NOW)
    bench = Bench(
        settings=SETTINGS,
        database=database,
        client=client,
        embedder=Embedder(SETTINGS.embedding, database),
        clock=lambda: NOW,
        domain="airline",
        make_environment=None,
        owner="bench",
    )
    rewarded = [reward_episodes(bench, 1) for _ in range(2)]
    with database.read() as session:
        calls = session.exec(select(LedgerEntry)).all()
        values = [row.value for row in session.exec(select(EpisodeReward))]
    spent = sum(one.input_tokens + one.output_tokens for one in calls)
    print(f"calls made: {len(calls)}, {spent:,} tokens; episodes rewarded, once and again: {rewarded}")
    print(f"rewards: {', '.join(f'{value}: {values.count(value)}' for value in sorted(set(values)))}")
    client.close()


if __name__ == "__main__":
    main()
