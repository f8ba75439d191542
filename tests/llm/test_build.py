from core.db import open_database
from core.llm.build import build_client
from core.llm.client import CallContext
from core.settings import ModelSettings, SimulationSettings
from tests.llm.helpers import ACT, ASK, rows, settings_for
from tests.support.model_server import ModelServer


def test_without_key_and_endpoint_the_stand_in_answers(tmp_path) -> None:
    quiet = SimulationSettings(malformed_rate=0, rate_limit_rate=0, timeout_rate=0)
    settings = settings_for(None).model_copy(update={"simulation": quiet, "model": ModelSettings()})
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    assert build_client(settings, database).chat(CallContext("digest"), ASK).content
    (row,) = rows(database)
    assert row.simulated
    assert row.cost_usd is not None, "a simulated run is priced as the model it stands in for"
    assert row.cost_usd > 0


def test_an_endpoint_needs_no_key(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ModelServer() as server:
        settings = settings_for(server.base_url).model_copy(update={"openai_api_key": None})
        database = open_database(f"sqlite:///{tmp_path}/t.db")
        client = build_client(settings, database)
        assert client.chat(ACT, ASK).content == "hello"
        client.close()
    assert [row.simulated for row in rows(database)] == [False]


def test_the_stand_in_fails_and_recovers_like_an_endpoint(tmp_path) -> None:
    faulty = SimulationSettings(rate_limit_rate=0.25, timeout_rate=0.25)
    settings = settings_for(None).model_copy(update={"simulation": faulty})
    database = open_database(f"sqlite:///{tmp_path}/t.db")
    client = build_client(settings, database)
    for number in range(20):
        client.chat(CallContext("digest"), [{"role": "user", "content": f"Condense {number}"}])
    outcomes = [row.outcome for row in rows(database)]
    assert outcomes.count("ok") == 20
    assert {"rate_limited", "timeout"} <= set(outcomes)
