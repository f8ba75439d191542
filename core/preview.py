"""The prompt that a task would get now, with the reason for every rule in and out of it (design section 6)."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.db import Database
from core.embeddings import Embedder
from core.environments.registry import environment_factory
from core.episodes.system_prompt import stable_part
from core.errors import UserError
from core.learning.round import standing_library
from core.rules.prompt import Prompt, assemble, rule_budget
from core.rules.retrieval import Hit, LeftOut
from core.rules.wording import rule_text
from core.settings import RetrievalSettings, Settings
from core.text import estimate_tokens


@dataclass(frozen=True)
class PreviewRow:
    """What became of one rule.

    Attributes:
        rule_id: its id.
        name: its name.
        state: candidate, active or probation.
        text: as the prompt carries it.
        fate: served, trimmed (by the token budget), rank, candidates (too many of them), mutex (in conflict with
            one that is served or live), priority (one that goes before it is served) or exclusion.
        position: place among the rules of the prompt, from 1; None if it is not in it.
        score: what it was ranked by, in [0, 1].
        semantic: nearness in meaning, in [0, 1]; None, as below, for rules that were not retrieved.
        cosine: its part from embeddings.
        lexical: its part from words in common.
        utility: by the rule's figures; infinite while unused.
    """

    rule_id: str
    name: str
    state: str
    text: str
    fate: str
    position: int | None
    score: float
    semantic: float | None = None
    cosine: float | None = None
    lexical: float | None = None
    utility: float | None = None


@dataclass(frozen=True)
class PromptPreview:
    """A prompt and its rules.

    Attributes:
        text: the system prompt.
        rows: served rules in their order, then trimmed ones, then the others, best first within each reason.
        tokens: estimated tokens of the whole prompt.
        rule_tokens: of the rules in it.
        budget: tokens the rules may take.
    """

    text: str
    rows: tuple[PreviewRow, ...]
    tokens: int
    rule_tokens: int
    budget: int


class Previewer:
    """Makes previews; keeps the embedding model, which takes seconds to load."""

    def __init__(self, settings: Settings, database: Database) -> None:
        self._database = database
        self.embedder = Embedder(settings.embedding, database)

    def preview(self, settings: Settings, domain: str, query: str) -> PromptPreview:
        """Return the prompt for a typed task, with the library and the settings as they are now.

        A rule that a coin leaves out in learning is in it: this is what evaluation and production see.

        Raises:
            UserError: the query is empty, or the environment or the embedding model cannot be loaded.
        """
        if not query.strip():
            raise UserError("Type a task first: the preview shows the prompt it would get.")
        with self._database.read() as session:
            library = standing_library(session, settings, domain, self.embedder)
        retrieval = library.retrieve(query)
        stable, limits = stable_prompt(settings, domain)
        prompt = assemble(stable, retrieval.hits, limits)
        return PromptPreview(
            text=prompt.text,
            rows=tuple([*_retrieved(prompt), *(_left_out(one) for one in retrieval.left_out)]),
            tokens=estimate_tokens(prompt.text),
            rule_tokens=prompt.rule_tokens,
            budget=rule_budget(stable, limits),
        )


def stable_prompt(settings: Settings, domain: str) -> tuple[str, RetrievalSettings]:
    """Return the part of a prompt that all tasks share, and the limits for rules behind it.

    It is '' for episodes that other agents recorded, whose prompts are their own.
    """
    name, limits = settings.environment.name, settings.retrieval
    environment = None if name.startswith("recorded:") else environment_factory(name)()
    if environment is None or environment.name != domain:
        return "", limits.model_copy(update={"max_share": 1.0})  # a share of an unknown prompt cannot be told
    return stable_part(environment, settings.action_mode), limits


def _retrieved(prompt: Prompt) -> Iterator[PreviewRow]:
    for position, hit in enumerate(prompt.served, 1):
        yield _row(hit, "served", position)
    for hit in prompt.trimmed:
        yield _row(hit, "trimmed", None)


def _row(hit: Hit, fate: str, position: int | None) -> PreviewRow:
    rule = hit.rule
    return PreviewRow(
        rule_id=rule.id,
        name=rule.name,
        state=rule.state,
        text=rule_text(rule),
        fate=fate,
        position=position,
        score=hit.score,
        semantic=hit.semantic,
        cosine=hit.cosine,
        lexical=hit.lexical,
        utility=hit.utility,
    )


def _left_out(one: LeftOut) -> PreviewRow:
    rule = one.rule
    return PreviewRow(rule.id, rule.name, rule.state, rule_text(rule), one.reason, None, one.score)
