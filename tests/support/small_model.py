"""A small real language model behind an OpenAI-compatible endpoint, for tests; skipped where nothing serves one."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

import pytest

from tests.conftest import ROOT
from tests.tools.ports import free_port

_READY_S = 900
"""The first start downloads the model."""


@contextmanager
def serving(model: str, environment: Mapping[str, str], log: Path) -> Iterator[tuple[str, str]]:
    """Serve a model of a size; gives its address and its name. Ended by its process id."""
    script = Path(environment.get("RULEWRIGHT_SHARED", ROOT.parent / "shared")) / "serve_llm.sh"
    if not script.exists():
        pytest.skip(f"no script that serves a small model ({script}); set RULEWRIGHT_SHARED")
    with log.open("w") as errors:
        server = subprocess.Popen(
            [script],
            env={**environment, "MODEL": model, "PORT": str(free_port())},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        too_slow = Timer(_READY_S, server.kill)
        too_slow.start()
        try:
            assert server.stdout is not None
            ready = next((line for line in server.stdout if line.startswith("READY ")), None)
            too_slow.cancel()
            if ready is None:
                pytest.fail(f"the small model did not start:\n{log.read_text()[-4000:]}")
            _, address, name = ready.split()
            yield address, name.removeprefix("model=")
        finally:
            too_slow.cancel()
            server.terminate()
            server.wait(timeout=60)
