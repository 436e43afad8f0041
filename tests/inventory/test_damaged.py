"""A host file damaged anywhere either loads or is refused with a place; nothing else happens."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runbook.errors import HostFileError
from runbook.inventory import parse

_MANUAL = (Path(__file__).parents[2] / "hosts" / "example.yml").read_text("utf-8")
_PROFILE = (Path(__file__).parents[2] / "hosts" / "profiles" / "sglang-dsv4-pd.yml").read_text("utf-8")
_WORDS = (
    *("null", "[]", "{}", "~", "*a", "&a", "!!int", "<<:", '"', "'", ":", "-", "0", "1e999", ".nan", "true"),
    *("{{", "}}", "%", "@", "?", '"\\ud800"', "---", "!x"),
)
_SCRAPS = st.sampled_from(
    [*_WORDS, ": ", "- ", "\n", "\t", "  ", "|\n", "\x85", "\u2028", "\u202e", "\x1b[2J", "9" * 30]
)
_cuts = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 40), _SCRAPS | st.text(max_size=4)),
    max_size=4,
)


@given(manual=_cuts, profile=_cuts)
def test_a_damaged_host_file_is_a_host_or_a_list_of_places(
    manual: list[tuple[float, int, str]], profile: list[tuple[float, int, str]]
) -> None:
    with tempfile.TemporaryDirectory() as root:
        hosts = Path(root) / "hosts"
        (hosts / "profiles").mkdir(parents=True)
        (hosts / "gpu1.yml").write_bytes(_damaged(_MANUAL, manual))
        (hosts / "profiles" / "sglang-dsv4-pd.yml").write_bytes(_damaged(_PROFILE, profile))
        problems = _problems(hosts / "gpu1.yml")
    assert all(_is_told(problem) for problem in problems)


def _problems(path: Path) -> list[str]:
    try:
        host = parse("gpu1", path)
    except HostFileError as error:
        return list(error.problems) or ["a refusal without a reason"]
    return [] if host.endpoint else ["a host that nothing answers for"]


def _damaged(text: str, cuts: list[tuple[float, int, str]]) -> bytes:
    for place, length, scrap in cuts:
        start = int(place * len(text))
        text = text[:start] + scrap + text[start + length :]
    return text.encode("utf-8", "surrogatepass")


def _is_told(problem: str) -> bool:
    place = re.match(r"hosts/(gpu1|profiles/sglang-dsv4-pd)\.yml:\d+:\d+: ", problem)
    return place is not None and problem.isprintable()


def test_a_problem_that_quotes_the_file_stays_readable(tmp_path: Path) -> None:
    path = tmp_path / "hosts" / "gpu1.yml"
    path.parent.mkdir()
    path.write_text(f"ssh: *{'x' * 100_000}\n", "utf-8")
    (problem,) = _problems(path)
    assert problem.startswith("hosts/gpu1.yml:1:6: *xxx")
    assert len(problem) < 1100
