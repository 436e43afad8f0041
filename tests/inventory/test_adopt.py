"""A host file written from what is found loads, and declares exactly that."""

from __future__ import annotations

import datetime
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.inventory import adopt_text, load, roles
from runbook.model import SshTarget, Unit
from tests.inventory.cases import hosts_dir

if TYPE_CHECKING:
    from runbook.model import Host

_TODAY = datetime.date(2026, 11, 30)
_PAIR = (
    Unit("prefill", "sglang-prefill.service", "/root/p.sh", "http://127.0.0.1:30000/health"),
    Unit("decode", "sglang-decode.service", "/root/d.sh", "http://127.0.0.1:30002/health"),
    Unit("router", "sglang-router.service", url="http://127.0.0.1:30001"),
)
_FOUND = {
    "prefill": {"BOTH": "1", "DIFFERS": "0", "API_KEY": "***"},
    "decode": {"BOTH": "1", "DIFFERS": "1", "ONE": "0777", "LINES": "a\nb"},
}
_WANT = """\
# gpu1 as it was found on 2026-11-30. Give every flag its reason and an owner, a diagnostic an expiry,
# and what should go `absent: true`. hosts/example.yml is the manual; `./invoke hosts.check` reads this file.
ssh: "gpu1"
units:   # in start order
  prefill:
    unit: "sglang-prefill.service"
    script: "/root/p.sh"
    health: "http://127.0.0.1:30000/health"
  decode:
    unit: "sglang-decode.service"
    script: "/root/d.sh"
    health: "http://127.0.0.1:30002/health"
  router:
    unit: "sglang-router.service"
    # script: "/root/r.sh"   # sets no flag; declared, flags without `units` go there, too
    url: "http://127.0.0.1:30001"
model: "deepseek-v4-flash"
flags:
  # API_KEY on prefill is not shown here
  BOTH:   # a diagnostic (slow)
    value: "1"
    why: "found running on 2026-11-30; FILL IN why"
    since: 2026-11-30
  DIFFERS:
    value: "1"
    units: [decode]
    why: "found running on 2026-11-30; FILL IN why"
    since: 2026-11-30
  # DIFFERS on prefill has another value; one file gives a name one value
  # LINES on decode is not shown here
  ONE:
    value: "0777"
    units: [decode]
    why: "found running on 2026-11-30; FILL IN why"
    since: 2026-11-30
wait:
  health: {attempts: 360, every_s: 5, timeout_s: 10}   # a cold JIT cache takes up to 30 minutes
# What proves a release: clean agent sessions, 80 at once, and the speed before and after. Both load the host for minutes.
traffic: live   # a deploy or verify loads it only with --load; `none`, where nobody else is served: always
validations:
  - {name: final80, sessions: 80, rounds: 3, ctx: 350, max_tokens: 2000, timeout_s: 260}
  - {name: final60, sessions: 60, rounds: 4, ctx: 300, max_tokens: 2500, timeout_s: 240}
bench: {concurrency: [1, 8, 32, 64, 80], input_tokens: 350, output_tokens: 256, repeats: 5, max_regression: 0.10}
"""

_values = st.text(st.characters(exclude_categories=["Cc"]), max_size=20)
_environment = st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,12}", fullmatch=True), _values, max_size=6)


def _loaded(text: str) -> Host:
    with tempfile.TemporaryDirectory() as root:
        return load("gpu1", hosts_dir=hosts_dir(Path(root), text))


def test_what_is_found_is_declared_once_with_its_roles() -> None:
    text = adopt_text(
        "gpu1",
        ssh=SshTarget("gpu1"),
        units=_PAIR,
        environments=_FOUND,
        model="deepseek-v4-flash",
        today=_TODAY,
        notes={"BOTH": "a diagnostic\n(slow)"},
        spare={"router": "/root/r.sh"},
    )
    assert text == _WANT
    host = _loaded(text)
    assert host.units == _PAIR
    assert {flag.name: (flag.value, flag.units) for flag in host.flags} == {
        "BOTH": ("1", ("prefill", "decode")),
        "DIFFERS": ("1", ("decode",)),
        "ONE": ("0777", ("decode",)),
    }


def test_what_the_profiles_measure_is_declared_and_nothing_loads_the_host_unasked(tmp_path: Path) -> None:
    text = adopt_text("gpu1", ssh=SshTarget("gpu1"), units=_PAIR, environments={}, model="m", today=_TODAY)
    adopted = _loaded(text)
    profile = load("gpu1", hosts_dir=hosts_dir(tmp_path, "profile: sglang-dsv4-pd\nssh: gpu1\nflags: {}\n"))
    assert adopted.traffic == "live"
    assert (adopted.validations, adopted.bench) == (profile.validations, profile.bench)
    assert adopted.wait.health == profile.wait.health


def test_an_ssh_target_with_everything_comes_back() -> None:
    ssh = SshTarget("gpu1.example.net", "root", 2222, "~/.ssh/k", "~/known hosts", "~/conf")
    text = adopt_text("gpu1", ssh=ssh, units=_PAIR, environments={}, model="m", today=_TODAY)
    assert _loaded(text).ssh == ssh
    assert _loaded(text).flags == ()


def test_a_users_units_are_declared_as_theirs_with_a_place_for_their_state() -> None:
    text = adopt_text(
        "gpu1", ssh=SshTarget("gpu1"), units=_PAIR, environments={}, model="m", today=_TODAY,
        state_dir="/home/ann/.local/state/runbook",
    )  # fmt: skip
    host = _loaded(text)
    assert (host.scope, host.state_dir) == ("user", "/home/ann/.local/state/runbook")


@pytest.mark.parametrize(
    ("kept", "state_dir"),
    [
        ("/var/lib/runbook/sglang-dsv4-pd", None),
        ("/srv/runbook/sglang-dsv4-pd", None),
        ("/home/ann/.local/state/runbook/gpu", "/home/ann/.local/state/runbook"),
        ("/var/lib/runbook/gpu", "/home/ann/.local/state/runbook"),
    ],
)
def test_a_host_that_keeps_releases_of_these_units_gets_no_second_state(
    kept: str, state_dir: str | None
) -> None:
    text = adopt_text(
        "gpu1", ssh=SshTarget("gpu1"), units=_PAIR, environments={}, model="m", today=_TODAY,
        state_dir=state_dir, kept=kept,
    )  # fmt: skip
    assert _loaded(text).state == kept


def test_what_is_not_known_is_a_guess_that_says_so() -> None:
    text = adopt_text(
        "gpu1", ssh=SshTarget("gpu1"), units=_PAIR[:1], environments={}, model=None, today=_TODAY
    )
    assert text.count("FILL IN") == 2
    assert _loaded(text).endpoint is not None


@given(prefill=_environment, decode=_environment)
def test_any_environment_adopted_loads_and_is_declared_as_found(
    prefill: dict[str, str], decode: dict[str, str]
) -> None:
    found = {"prefill": prefill, "decode": decode}
    host = _loaded(
        adopt_text("gpu1", ssh=SshTarget("gpu1"), units=_PAIR, environments=found, model="m", today=_TODAY)
    )
    assert all(found[role][flag.name] == flag.value for flag in host.flags for role in flag.units)
    shown = {
        name for each in found.values() for name, value in each.items() if value.isascii() and value != "***"
    }
    hidden = {name for name, value in decode.items() if not value.isascii() or value == "***"}
    assert shown - hidden <= {flag.name for flag in host.flags}


@pytest.mark.parametrize(
    ("names", "want"),
    [
        (["sglang-dsv4-prefill.service", "sglang-dsv4-decode.service"], ["prefill", "decode"]),
        (["sglang.service"], ["sglang"]),
        (["a-server.service", "b-server.service", "router.service"], ["a-server", "b-server", "router"]),
        (["sglang@0.service", "sglang@1.service"], ["unit-0", "unit-1"]),
        (["SGLang-Decode.service"], ["decode"]),
    ],
)
def test_roles_are_the_last_word_of_a_unit(names: list[str], want: list[str]) -> None:
    assert list(roles(names).values()) == want
