from __future__ import annotations

from runbook.model import FileState
from runbook.stages import exposure
from tests.building import DECODE, PREFILL, observation, script


def test_a_script_that_everybody_can_write_is_said_with_what_closes_it() -> None:
    files = {
        DECODE: FileState(DECODE, "/srv/shared/decode.sh", script(), mode=0o777),
        PREFILL: FileState(PREFILL, PREFILL, script(), mode=0o775),
        "/etc/gone.env": FileState("/etc/gone.env", "/etc/gone.env", None, mode=0o666),
    }
    (said,) = exposure.warnings(observation()._replace(files=files))
    assert said.startswith(f"{DECODE} can be written by everybody on the host (mode 0777)")
    assert said.endswith("`chmod o-w /srv/shared/decode.sh`")
