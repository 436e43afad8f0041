"""Host files: a Host whose names and paths can do no harm, or a refusal whose every line names a place."""

from __future__ import annotations

import pickle
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from runbook.errors import HostFileError
from runbook.inventory import parse
from tests.fuzz.mutation import mutated

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from runbook.model import Host

_ROOT = Path(__file__).parents[2]
_PROFILE = "sglang-dsv4-pd"
WORDS = (
    b"null", b"~", b"[]", b"{}", b"*a", b"&a ", b"!!int ", b"!!python/object/apply:os.system [true]", b"<<: *a\n",
    b'"', b"'", b": ", b"- ", b"\n", b"  ", b"\t", b"{{", b"}}", b"|\n", b">-\n", b"%YAML 9.9\n", b"---\n", b"...\n",
    b"#", b"?", b"@", b"`", b"0777", b"1e999", b".nan", b".inf", b"-1", b"9" * 400, b"true", b"on", b"2026-13-45",
    b"\\x1b[2J", b"\xe2\x80\xae", b"\x85", b"\xff", b"\x00", b"\x1b", b'"\\ud800"', b"../../etc/shadow", b"-oProxyCommand=x",
    b"$(reboot)", b"a\\nb", b"'; reboot; '", b"x" * 5000, b"[" * 300, b"{a: " * 300, b"a: &a [x,x,x,x,x,x,x,x,x]\n",
    b"b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", b"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n", b"d: [*c,*c,*c,*c,*c,*c,*c,*c]\n",
    b"units", b"flags", b"value", b"absent", b"script", b"health", b"ssh", b"http://[::1", b"http://a:b@c", b"file:///x",
)  # fmt: skip


def _sources() -> list[bytes]:
    files = [*sorted(_ROOT.glob("hosts/*.yml")), *sorted(_ROOT.glob("hosts/profiles/*.yml"))]
    tables = [_ROOT / "tests/cases/inventory/accepted.yml", _ROOT / "tests/cases/inventory/refused.yml"]
    cases = (case for table in tables for case in yaml.load(table.read_text("utf-8"), yaml.CSafeLoader))
    return [*(file.read_bytes() for file in files), *(case["text"].encode() for case in cases)]


SOURCES = _sources()


@dataclass(frozen=True, slots=True)
class Case:
    """A host file, the profile beside it, and whether the host is given variables, as the lab is."""

    text: bytes
    profile: bytes
    variables: bool


def case(rng: random.Random) -> Case:
    profile = (_ROOT / "hosts" / "profiles" / f"{_PROFILE}.yml").read_bytes()
    if rng.random() < 0.3:
        profile = mutated(profile, WORDS, rng, most=3, others=SOURCES)
    return Case(mutated(rng.choice(SOURCES), WORDS, rng, others=SOURCES), profile, rng.random() < 0.2)


def hold(case: Case) -> None:
    with tempfile.TemporaryDirectory() as root:
        hosts = Path(root) / "hosts"
        (hosts / "profiles").mkdir(parents=True)
        (hosts / "gpu1.yml").write_bytes(case.text)
        (hosts / "profiles" / f"{_PROFILE}.yml").write_bytes(case.profile)
        try:
            host = parse("gpu1", hosts / "gpu1.yml", variables={"lab": {}} if case.variables else None)
        except HostFileError as error:
            _hold_refusal(error)
            return
    assert pickle.loads(pickle.dumps(host)) == host
    for what, pattern, value in _spoken(host):
        assert re.fullmatch(pattern, value), f"{what}: {value!r}"


def _hold_refusal(refusal: HostFileError) -> None:
    assert refusal.problems, "a refusal without a reason"
    for problem in refusal.problems:
        _hold_problem(problem)


def _hold_problem(problem: str) -> None:
    place = rf"hosts/(gpu1|profiles/{_PROFILE})\.yml:\d+:\d+: "
    assert re.match(place, problem), f"no place: {problem!r}"
    assert problem.isprintable(), f"not printable: {problem!r}"
    assert len(problem) < 2500, f"{len(problem)} characters"


_PATH = r"(/(?!\.{1,2}(/|$))[^/\x00-\x1f\x7f]+)+"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"


def _spoken(host: Host) -> Iterator[tuple[str, str, str]]:
    """What of a host ends up in a path, a command or another's file, and what it may look like there."""
    yield "service", r"[A-Za-z0-9][A-Za-z0-9._-]*", host.service
    yield "address", r"[A-Za-z0-9._:%\[\]][A-Za-z0-9._:%\[\]-]*", host.ssh.address
    yield "state_dir", _PATH, host.state_dir
    for unit in host.units:
        yield "role", r"[a-z][a-z0-9_-]*", unit.role
        yield "unit", r"[A-Za-z0-9:_.@\\][A-Za-z0-9:_.@\\-]*\.service", unit.name
        for path in filter(None, (unit.script, *unit.env_files, *unit.drop_ins, *unit.sourced)):
            yield "path", _PATH, path
    for flag in host.flags:
        yield "flag", _NAME, flag.name
        yield "value", r"[^\x00-\x08\x0a-\x1f\x7f]*", flag.value or ""
