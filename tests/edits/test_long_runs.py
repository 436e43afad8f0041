"""Long runs of one piece, as a script or a file may hold them: time must not grow faster than they do.

Each of these took minutes or longer once: an expression that read a run in two ways, or a list looked through for each of
its own words.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from runbook.edits import dropin, env_file, launch_args, serve_script
from runbook.errors import EditRefusedError
from runbook.onhost import masking
from tests.fuzz.fuzzing import limited

if TYPE_CHECKING:
    from types import ModuleType

SCRIPT = "#!/bin/bash\nexport K=0{}\nexec python m\n"
RUN = 60_000


def run_of(piece: str, length: int = RUN) -> str:
    return piece * (length // len(piece))


@pytest.mark.parametrize(
    ("kind", "template", "piece"),
    [
        (env_file, "K=0 #{}x\n", " "),
        (env_file, "K=0 #{}x\n", "\\ "),
        (dropin, "[Service]\nEnvironment=K=1 {}x\n", "K=1 "),
        (serve_script, SCRIPT, " #"),
        (serve_script, SCRIPT, "#"),
        (serve_script, SCRIPT, " a b"),
        (serve_script, SCRIPT, " --a"),
        (serve_script, SCRIPT, "\n${A}${A}x"),
    ],
)
def test_an_edit_ends(kind: ModuleType, template: str, piece: str) -> None:
    text = template.format(run_of(piece))
    with limited():
        asked: dict[str, Any]
        for asked in ({"set": {"K": "5"}}, {"unset": ("K",)}):
            with contextlib.suppress(EditRefusedError):
                kind.edit(text, **asked)


@pytest.mark.parametrize("piece", ["${A}", "$(a)", "`a`", "$AAAAAAAA", "$A{"])
def test_a_word_of_many_expansions_is_read_once(piece: str) -> None:
    for word in (run_of(piece, 400), f"{run_of(piece, 400)}x", f"{run_of(piece, 400)}{{"):
        with limited(), contextlib.suppress(EditRefusedError):
            serve_script.edit(f"#!/bin/bash\nexport K=0\n{word} exec python m {word}\n", set={"K": "5"})
        with limited(), contextlib.suppress(EditRefusedError):
            launch_args.edit(f'#!/bin/bash\nexec python -m m --tp "{word}" {word}\n', set={"--tp": "2"})


@pytest.mark.parametrize("piece", ["\n", "K=\\ ", "\\", "a ", "--a-", "'K=", '"K='])
@pytest.mark.parametrize("before", ["", "token='", 'Environment="'])
def test_masking_ends(before: str, piece: str) -> None:
    with limited():
        masking.mask_file(f"{before}{run_of(piece)}")


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("'HF_TOKEN=a b\\'", "'HF_TOKEN=***'"),
        ("'HF_TOKEN=a\\'b c'", "'HF_TOKEN=***'"),
        ('Environment="HF_TOKEN=a \\\\"', 'Environment="HF_TOKEN=***"'),
        (" Environment = HF_TOKEN=a\n", " Environment = HF_TOKEN=***\n"),
        ("\n\n+Environment=HF_TOKEN=a", "\n\n+Environment=HF_TOKEN=***"),
    ],
)
def test_what_was_masked_still_is(text: str, masked: str) -> None:
    assert masking.mask_file(text) == masked
