"""A host with one unit and no router goes through every task, on the shipped profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.service.alone import FLAG, Alone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

pytestmark = pytest.mark.system

SGLANG = Alone("sglang-single", "sglang.service", 30000, "/root/serve_sglang.sh")
OPENAI = Alone("openai-single", "vllm.service", 8000, None)


@pytest.fixture(params=[SGLANG, OPENAI], ids=lambda alone: alone.profile)
def alone(request: pytest.FixtureRequest, operators: Operator, host: TestHost) -> Iterator[Alone]:
    server: Alone = request.param
    server.lay(host)
    server.describe(operators, host)
    yield server
    server.take_away(host)


def test_one_server_goes_through_every_task(alone: Alone, operators: Operator, host: TestHost) -> None:
    planned = operators.run("plan", "gpu1").document["plan"]
    assert [restart["unit"] for restart in planned["restarts"]] == ([alone.unit] if alone.script else [])
    deployed = operators.run("deploy", "gpu1")
    assert (deployed.code, deployed.document["outcome"]) == (0, "pass"), deployed.document["error"]
    assert [run["name"] for run in deployed.document["validations"]] == ["own"]
    assert [step for step in deployed.steps if step.startswith("restart")] == (
        ["restart server"] if alone.script else []
    )
    if alone.script:
        assert host.read(alone.script) == alone.text()
    verified = operators.run("verify", "gpu1")
    assert verified.code == 0, verified.document["findings"]
    status = operators.run("status", "gpu1").document["status"]
    assert [(unit["role"], unit["state"]) for unit in status["units"]] == [("server", "active/running")]
    assert status["current"]["verdict"] == "proven"
    assert len(operators.run("releases", "gpu1").document["releases"]) == (2 if alone.script else 1)
    assert operators.run("restart", "gpu1").code == 0
    assert operators.run("logs", "gpu1").code == 0
    assert operators.run("validate", "gpu1").code == 0


def test_one_server_goes_back(alone: Alone, operators: Operator, host: TestHost) -> None:
    deployed = operators.run("deploy", "gpu1")
    back = operators.run("rollback", "gpu1")
    if alone.script is None:
        assert (deployed.code, back.code) == (0, 2), "the first release has no parent"
        return
    assert (deployed.code, back.code) == (0, 0), back.document["error"]
    assert host.read(alone.script) == alone.text(**{FLAG: "1"})
