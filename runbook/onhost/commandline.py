"""A process's command line as the kernel shows it: its words with secrets masked, or overwritten by a title and so unknown."""

from __future__ import annotations

import re

from runbook.onhost.masking import MASK, is_secret_option, mask_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LIMIT_BYTES = 64 * 1024
_LOGIN = re.compile(r"//[^/@\s]*@")


def read(proc: str, pid: int) -> list[str]:
    """The words a process was started with; none where they are overwritten, too long or not ours to read."""
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as file:
            return parse(file.read(LIMIT_BYTES + 1))
    except OSError:
        return []


def parse(content: bytes) -> list[str]:
    """NUL-ended words. setproctitle writes one text over them all: what has no second word may be a title."""
    if len(content) > LIMIT_BYTES or not content.endswith(b"\0"):
        return []
    words = content[:-1].split(b"\0")
    if sum(map(bool, words)) < 2:
        return []
    return list(masked([word.decode("utf-8", "surrogateescape") for word in words]))


def masked(words: Sequence[str]) -> Iterator[str]:
    """A command's words with the values of its secret options and variables, and of logins in its URLs, masked."""
    before = ""
    for word in words:
        name, equals, _ = word.partition("=")
        if is_secret_option(before):
            yield MASK
        elif equals and is_secret_option(name):
            yield f"{name}={MASK}"
        else:
            yield mask_text(_LOGIN.sub(f"//{MASK}@", word))
        before = word
