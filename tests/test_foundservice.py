"""What a host file is written from: roles, order, addresses and flags as scripts and unit files give them."""

from __future__ import annotations

import datetime
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from runbook import adopting, foundservice, inventory, ledger, planning
from runbook.errors import MissingOnHostError, PreflightError, UsageError
from runbook.model import SshTarget, Unit
from runbook.places.origins import of as origins_of
from runbook.places.reading import Files
from tests.building import file_state, observation, unit_state
from tests.fakehost import FakeHost
from tests.places import laying

if TYPE_CHECKING:
    from pathlib import Path

CATALOGUE = ledger.parse(inventory.document(ledger.SHIPPED))
ANSWER: dict[str, Any] = {
    "sglang-router.service": {"script": "/r.sh"},
    "sglang-decode.service": {"script": "/d.sh"},
    "sglang-prefill.service": {"script": "/p.sh"},
}
SCRIPTS = {
    "/p.sh": b"export SGLANG_A=1 PATH=/x\nexec python -m sglang.launch_server --port 30000\n",
    "/d.sh": b"export SGLANG_A=1 SGLANG_API_KEY=sesame\nexec python --port=30002 --served-model-name m\n",
    "/r.sh": b"exec python -m sglang_router.launch_router --port 30001\n",
}


def found(answer: dict[str, Any] = ANSWER, scripts: dict[str, bytes] = SCRIPTS) -> foundservice.Found:
    units = foundservice.units(answer)
    states = {unit.name: unit_state(unit.name, {"SGLANG_RUNS": "2", "HOME": "/"}) for unit in units}
    files = {path: file_state(path, content) for path, content in scripts.items()}
    return foundservice.described(units, observation(units=states, files=files), CATALOGUE)


def test_units_get_roles_addresses_and_start_order() -> None:
    assert [(unit.role, unit.health, unit.url) for unit in found().units] == [
        ("prefill", "http://127.0.0.1:30000/health", None),
        ("decode", "http://127.0.0.1:30002/health", None),
        ("router", None, "http://127.0.0.1:30001"),
    ]


def test_only_the_engines_variables_are_declared_and_secrets_are_not_copied() -> None:
    assert found().environments == {
        "prefill": {"SGLANG_A": "1"},
        "decode": {"SGLANG_A": "1", "SGLANG_API_KEY": "***"},
    }
    assert found().model == "m"


def test_a_routers_script_in_which_no_flag_stands_is_left_out_and_told() -> None:
    assert [unit.script for unit in found().units] == ["/p.sh", "/d.sh", None]
    assert found().spare == {"router": "/r.sh"}


def test_a_routers_script_in_which_a_flag_stands_is_declared() -> None:
    flagged = found(scripts={**SCRIPTS, "/r.sh": b"export SGLANG_R=1\n" + SCRIPTS["/r.sh"]})
    assert ([unit.script for unit in flagged.units][-1], flagged.spare) == ("/r.sh", {})
    assert flagged.environments["router"] == {"SGLANG_R": "1"}


def test_a_router_by_itself_keeps_its_script() -> None:
    alone = found({"sglang-router.service": {"script": "/r.sh"}})
    assert (alone.units[0].script, alone.spare) == ("/r.sh", {})


def test_one_server_by_itself_answers_chat() -> None:
    alone = found({"vllm.service": {"script": "/p.sh"}}).units[0]
    assert (alone.role, alone.url) == ("vllm", "http://127.0.0.1:30000")


def test_a_script_that_cannot_be_read_leaves_what_runs() -> None:
    alone = found({"vllm.service": {"script": "/p.sh"}}, {"/p.sh": b"export A='open\n"})
    assert alone.environments == {"vllm": {"SGLANG_RUNS": "2"}}


@pytest.mark.parametrize(
    ("words", "port"),
    [
        ("--port 1 --port 2", "2"),
        ('--port 1 "$@"', "1"),
        ('--port "$PORT"', None),
        ("-- --port 1", None),
        ("--port", None),
    ],
)
def test_a_port_is_the_one_that_the_launch_counts_as_far_as_it_is_written(
    words: str, port: str | None
) -> None:
    alone = found({"vllm.service": {"script": "/p.sh"}}, {"/p.sh": f"exec python -m s {words}\n".encode()})
    assert alone.units[0].url == (port and f"http://127.0.0.1:{port}")


def test_a_diagnostic_gets_a_note_and_one_that_is_off_does_not() -> None:
    text = b"export SGLANG_SIMULATE_ACC_LEN=3 SGLANG_DEBUG_POISON_POOL=0\nexec python\n"
    noted = found({"a.service": {"script": "/p.sh"}}, {"/p.sh": text})
    assert noted.notes == {"SGLANG_SIMULATE_ACC_LEN": "a diagnostic: garbage output"}


def test_a_host_that_serves_nothing_says_how_to_name_units() -> None:
    class Silent(FakeHost):
        def _serving(self, units: list[str], words: list[str]) -> dict[str, Any]:
            return {}

    with pytest.raises(MissingOnHostError, match="--unit"):
        adopting.look(Silent(), ())  # type: ignore[arg-type]


class Serving(FakeHost):
    """A host one of whose managers runs the units of ANSWER, or none; HOME is known to whoever asks for it."""

    def __init__(self, found: dict[str, Any]) -> None:
        super().__init__()
        self.found = found

    def _serving(self, units: list[str], words: list[str]) -> dict[str, Any]:
        return self.found

    def _observe(self, files: list[str], units: list[str], **asked: Any) -> dict[str, Any]:
        seen = super()._observe(files=files, units=[])
        home = {"HOME": "/srv/ann"} if "HOME" in asked["names"] else {}
        return {**seen, "manager": {"environ": home, "error": None}, "units": self.found}


UNIT: dict[str, Any] = {
    "script": None,
    "properties": {},
    "processes": {"kind": "unknown", "pid": 0, "started_at": 0.0, "environ": {}, "detail": ""},
}


def test_a_users_own_units_are_found_where_the_machine_runs_none_and_their_state_has_a_place() -> None:
    managers = {"system": Serving({}), "user": Serving({"vllm.service": UNIT})}
    found = adopting.find(lambda scope: nullcontext(managers[scope]), ())  # type: ignore[arg-type, return-value]
    assert [unit.name for unit in found.units] == ["vllm.service"]
    assert found.state_dir == "/srv/ann/.local/state/runbook"


def test_where_releases_of_these_units_are_kept_already_is_found_the_youngest_first() -> None:
    host = Serving({"vllm.service": UNIT})
    none: dict[str, Any] = {"state": "/var/lib/runbook/begun", "units": [], "current": None, "lock": None}
    host.beside = [
        none,
        none | {"state": "/srv/b", "current": "r2"},
        none | {"state": "/srv/a", "current": "r1"},
    ]
    assert adopting.look(host, ()).kept == "/srv/b"  # type: ignore[arg-type]
    assert found().kept is None


def test_scripts_that_the_login_may_not_read_are_no_scripts_without_flags() -> None:
    host = Serving({"vllm.service": UNIT | {"script": "/root/serve.sh"}})
    host.closed = {"/root/serve.sh"}
    with pytest.raises(PreflightError, match=r"^not readable as ann: /root/serve\.sh; log in for this once"):
        adopting.look(host, ())  # type: ignore[arg-type]


def test_the_machines_units_come_first_and_no_user_is_asked() -> None:
    managers = {"system": Serving({"vllm.service": UNIT})}
    found = adopting.find(lambda scope: nullcontext(managers[scope]), ())  # type: ignore[arg-type, return-value]
    assert found.state_dir is None


def test_where_neither_serves_both_are_told() -> None:
    class NoManager:
        def __enter__(self) -> None:
            raise MissingOnHostError("no systemd of uid 1000 runs on this host")

        def __exit__(self, *ended: object) -> None:
            raise AssertionError("it was never entered")

    managers = {"system": nullcontext(Serving({})), "user": NoManager()}
    with pytest.raises(
        MissingOnHostError, match=r"no service unit of this host .*; and .* own: no systemd of uid"
    ):
        adopting.find(lambda scope: managers[scope], ())  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("gpu1", SshTarget("gpu1")),
        ("root@gpu1.example.net:2222", SshTarget("gpu1.example.net", user="root", port=2222)),
        ("[2001:db8::1]:22", SshTarget("2001:db8::1", port=22)),
    ],
)
def test_an_address_is_taken_as_people_write_it(text: str, want: SshTarget) -> None:
    assert adopting.address(text) == want


@pytest.mark.parametrize("text", ["", "-oProxyCommand=x", "a@b@c", "a b", "gpu1:port"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--address"):
        adopting.address(text)


ADOPTED: dict[str, dict[str, Any]] = {
    "a drop-in": {"drop_ins": {"a.conf": "[Service]\nEnvironment=SGLANG_A=1 SGLANG_API_KEY=sesame\n"}},
    "the unit file": {"unit": "[Service]\nEnvironment=SGLANG_A=1\n"},
    "an environment file": {"env_files": {"e": "SGLANG_A=1\nHOME=/x\n"}},
    "a sourced file": {"script": ". /c.sh\nexec python\n", "sourced": {"/c.sh": "export SGLANG_A=1\n"}},
    "a sourced file over the script": {
        "script": "export SGLANG_A=0\n. /c.sh\nexec python\n",
        "sourced": {"/c.sh": "export SGLANG_A=1\n"},
    },
    "a file under set -a": {
        "script": "set -a; . /c.sh; set +a\nexec python\n",
        "sourced": {"/c.sh": "SGLANG_A=1\n"},
    },
    "a drop-in under the script": {
        "script": "export SGLANG_A=2\nexec python\n",
        "drop_ins": {"a.conf": "[Service]\nEnvironment=SGLANG_A=1\n"},
    },
    "the manager": {"manager": {"SGLANG_A": "1"}},
    "a drop-in over the manager": {
        "manager": {"SGLANG_A": "1"},
        "drop_ins": {"a.conf": "[Service]\nEnvironment=SGLANG_A=2\n"},
    },
    "all of them": {
        "script": "export SGLANG_S=1\n. /c.sh\nexec python\n",
        "unit": "[Service]\nEnvironment=SGLANG_U=1\n",
        "drop_ins": {
            "a.conf": "[Service]\nEnvironment=SGLANG_D=1\n",
            "b.conf": "[Service]\nEnvironment=SGLANG_D=2\n",
        },
        "env_files": {"e": "SGLANG_E=1\n"},
        "sourced": {"/c.sh": "export SGLANG_C=1\n"},
    },
}


@pytest.mark.parametrize("name", ADOPTED)
def test_what_was_adopted_plans_nothing_wherever_a_value_stands(name: str, tmp_path: Path) -> None:
    case = {"script": "exec python\n", **ADOPTED[name]}
    look = laying.seen(case)
    unit = Unit("decode", "decode.service", laying.SCRIPT)
    adopted = foundservice.described((unit,), look, CATALOGUE)
    text = inventory.adopt_text(
        "gpu1", ssh=SshTarget("gpu1"), units=adopted.units, environments=adopted.environments,
        model="m", today=datetime.date(2026, 11, 30),
    )  # fmt: skip
    path = tmp_path / "hosts" / "gpu1.yml"
    path.parent.mkdir()
    path.write_text(text)
    host = inventory.load("gpu1", hosts_dir=path.parent)
    given = origins_of(unit, host.flags, Files(look)).environment(host.flags)
    again = laying.seen(
        case, host.files[1:], {name: value for name, value in given.items() if value is not None}
    )
    made = planning.deploy(host, again)
    assert [change.diff() for change in made.changes] == []
    assert made.restarts == ()
    declared = {flag.name: flag.value for flag in host.flags}
    assert declared == {n: v for n, v in adopted.environments["decode"].items() if v != "***"}
    assert bool(declared) is (name != "the manager")
