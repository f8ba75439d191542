"""Assembling what a round needs from settings: environment, model client, embedder."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlmodel import select

from core.clock import Clock
from core.control import current_settings
from core.db import Database
from core.embeddings import Embedder
from core.environments.protocol import Environment, EnvironmentFactory
from core.environments.registry import environment_factory
from core.environments.splits import check_splits
from core.learning.bench import Bench, ProgressEvent
from core.learning.gate import held_out_tasks
from core.llm.build import build_client
from core.llm.client import ModelClient
from core.settings import GateSettings, Settings
from core.tables import Task

RECORDED = "recorded:"


@dataclass
class BenchMaker:
    """Makes benches, keeping what is dear to make: the embedding model, and the client while settings last."""

    settings: Settings
    database: Database
    clock: Clock
    owner: str
    progress: Callable[[ProgressEvent], None] = field(default=lambda _event: None)
    should_stop: Callable[[], bool] = field(default=lambda: False)
    pinned: frozenset[str] = frozenset()
    _embedder: Embedder | None = None
    _client: tuple[Settings, ModelClient] | None = None

    def effective_settings(self) -> Settings:
        """Return the settings with what people changed while running."""
        with self.database.read() as session:
            return current_settings(session, self.settings, self.pinned)

    def own_domain(self) -> str:
        """Return the domain of the configured environment; stores its tasks if they are new.

        Raises:
            UserError: there is no such environment, it lacks something, or its splits overlap.
        """
        name = self.settings.environment.name
        if name.startswith(RECORDED):
            return name.removeprefix(RECORDED)
        environment = environment_factory(name)()
        _store_tasks(self.database, environment)
        return environment.name

    def make(self, domain: str) -> Bench:
        """Return a bench for a domain; only the configured environment's can roll tasks out."""
        settings = self.effective_settings()
        if self._embedder is None:
            self._embedder = Embedder(settings.embedding, self.database)
        if self._client is None or self._client[0] != settings:
            if self._client is not None:
                self._client[1].close()
            self._client = (settings, build_client(settings, self.database, self.clock))
        factory = self._factory(domain)
        return Bench(
            settings=settings,
            database=self.database,
            client=self._client[1],
            embedder=self._embedder,
            clock=self.clock,
            domain=domain,
            make_environment=factory,
            testable=factory is not None and self._has_enough_tasks(settings.gate, domain),
            owner=self.owner,
            progress=self.progress,
            should_stop=self.should_stop,
        )

    def _has_enough_tasks(self, gate: GateSettings, domain: str) -> bool:
        with self.database.read() as session:
            return len(held_out_tasks(session, domain, gate.tasks)) >= gate.min_tasks

    def _factory(self, domain: str) -> EnvironmentFactory | None:
        name = self.settings.environment.name
        if name.startswith(RECORDED):
            return None
        factory = environment_factory(name)
        return factory if factory().name == domain else None


def _store_tasks(database: Database, environment: Environment) -> None:
    """Write an environment's tasks down, once; an overlap of its splits is refused before anything is."""
    tasks = list(environment.tasks())
    check_splits(tasks)
    with database.write() as session:
        known = set(session.exec(select(Task.id).where(Task.environment == environment.name)))
        session.add_all(
            Task(
                id=f"{environment.name}/{task.id}",
                environment=environment.name,
                type=task.type,
                query=task.query,
                split=task.split,
                created_at=task.created_at,
            )
            for task in tasks
            if f"{environment.name}/{task.id}" not in known
        )
