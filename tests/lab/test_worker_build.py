from __future__ import annotations

import pytest

from runbook.lab.model.race import never
from runbook.lab.model.switches import Switches
from runbook.lab.worker import pace_of, parse_arguments, strike_of

RACING = Switches(bf16_index_k=True)


def test_the_command_line_of_a_serve_script_is_understood() -> None:
    serving, delay_s = parse_arguments(
        ["--role", "decode", "--host", "127.0.0.1", "--port", "30002", "--bootstrap-port", "8998"]
    )
    assert (serving.role, serving.port, serving.bootstrap_port, delay_s) == ("decode", 30002, 8998, 0.0)
    assert serving.served_model_name == "deepseek-v4-flash"


@pytest.mark.parametrize("argv", [[], ["--role", "router", "--port", "1"], ["--role", "decode"]])
def test_a_command_line_without_role_or_port_is_refused(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parse_arguments(argv)
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "switches", "races"),
    [
        ([], RACING, True),
        (["--disable-cuda-graph"], RACING, False),
        ([], Switches(bf16_index_k=True, overlap=False), False),
        ([], Switches(), False),
    ],
)
def test_the_race_needs_capture_bf16_keys_and_overlap(
    arguments: list[str], switches: Switches, races: bool
) -> None:
    serving, _ = parse_arguments(["--role", "decode", "--port", "1", *arguments])
    assert (strike_of(serving, switches) is not never) is races


def test_the_pace_knows_what_makes_a_step_slower() -> None:
    serving, _ = parse_arguments(["--role", "decode", "--port", "1", "--pace-tok-s", "100"])
    uncaptured, _ = parse_arguments(
        ["--role", "decode", "--port", "1", "--pace-tok-s", "100", "--disable-cuda-graph"]
    )
    plain = pace_of(serving, Switches()).step_s(1)
    assert pace_of(serving, Switches(slow=1.05)).step_s(1) == pytest.approx(1.05 * plain)
    assert pace_of(serving, Switches(overlap=False)).step_s(1) == pytest.approx(1.04 * plain)
    assert pace_of(uncaptured, Switches()).step_s(1) == pytest.approx(1.5 * plain)
