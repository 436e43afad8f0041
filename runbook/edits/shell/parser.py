"""Shell text to mvdan/sh's syntax tree, with bash's own `-n` as a second opinion."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from runbook.edits.shell.outline import filled, outline
from runbook.errors import EditRefusedError, InterruptedByOperator

if TYPE_CHECKING:
    from collections.abc import Iterator

Node = dict[str, Any]

_TIMEOUT_S = 60.0
# Of what is no plain export and no comment. A word of one letter costs mvdan/sh a kilobyte of memory.
_SOURCE_BYTES = 512 * 1024
_GAP = re.compile(rb"[ \n]{2,}")  # an outline is mostly of these
_ANSWER_BYTES = 64 * 1024 * 1024
# Not a name character and no operator, so a byte outside UTF-8 can neither make nor break an assignment.
_STAND_IN = b"%"
_SHELLS = ("sh", "bash", "dash", "ash", "ksh", "env")
_COMMENT_JOINED = re.compile(rb"^[^#\n]*#[^\n]*\\\n", re.MULTILINE)
_SHEBANG = re.compile(rb"#!\s*(\S+)(?:[ \t]+(?:-S[ \t]*)?(\S+))?")


def encode(text: str) -> bytes:
    """The file's bytes; undecodable ones came in as lone surrogates and go out as they were."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise EditRefusedError(
            f"character {text[error.start]!a} has no bytes in UTF-8; remove it",
            line=text.count("\n", 0, error.start) + 1,
        ) from error


def decode(source: bytes) -> str:
    return source.decode("utf-8", "surrogateescape")


def refuse_foreign(source: bytes) -> None:
    """Refuse bytes that bash reads otherwise than they look, and scripts of another language."""
    for mark, what in (
        (b"\xef\xbb\xbf", "a byte order mark, which bash takes for part of the first word"),
        (b"\x00", "a NUL byte, which bash drops"),
        (b"\r", "a carriage return (CRLF line ends?), which bash takes for part of the word"),
    ):
        at = source.find(mark, 0, 3) if mark[0] == 0xEF else source.find(mark)
        if at >= 0:
            raise EditRefusedError(
                f"found {what}; convert the file first", line=source.count(b"\n", 0, at) + 1
            )
    shebang = _SHEBANG.match(source)
    if shebang:
        names = [Path(os.fsdecode(word)).name for word in shebang.groups() if word]
        name = names[1] if names[0] == "env" and len(names) > 1 else names[0]
        if name not in _SHELLS:
            raise EditRefusedError(
                f"the script is run by {name!r}, not by a Bourne shell; edit it by hand", line=1
            )


def statements(source: bytes) -> list[Node]:
    """The top-level statements of a script, as mvdan/sh's typed JSON (`shfmt --to-json`); offsets count bytes.

    Raises EditRefusedError where the text does not parse.
    """
    outlined = outline(source)
    if outlined.runs:
        with contextlib.suppress(EditRefusedError):  # what is wrong is told of the whole text
            nodes = filled(source, outlined, parsed(outlined.text))
            if nodes is not None:
                return nodes
    return parsed(source)


def parsed(source: bytes) -> list[Node]:
    """The same, every line of it read by mvdan/sh."""
    size = len(_GAP.sub(b" ", source))
    if size > _SOURCE_BYTES:
        raise EditRefusedError(
            f"the script has {size} bytes of commands, at most {_SOURCE_BYTES} are read; edit it by hand"
        )
    with tempfile.TemporaryFile() as answer:  # megabytes of JSON pass a file faster than a pipe
        done = _asked(_decodable(source), answer)
        if answer.seek(0, os.SEEK_END) > _ANSWER_BYTES:
            raise EditRefusedError("the script has more commands than are read; edit it by hand")
        answer.seek(0)
        printed = answer.read()
    _require_undisturbed(done.returncode)
    if done.returncode:
        raise _refused(
            "the shell parser", done.stderr.decode("utf-8", "replace"), r"(?:<standard input>:)?(\d+):\d+: "
        )
    try:
        tree: Node = json.loads(printed)
    except RecursionError as error:
        raise EditRefusedError("the script is nested too deeply; edit it by hand") from error
    _refuse_joined_comments(source, tree)
    return tree.get("Stmts") or []


def _asked(source: bytes, answer: IO[bytes]) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [os.fspath(shfmt()), "-ln=bash", "--to-json"],
            input=source,
            stdout=answer,
            stderr=subprocess.PIPE,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _no_answer("the shell parser") from error


def _no_answer(who: str) -> EditRefusedError:
    return EditRefusedError(f"{who} did not come to an end with it in {_TIMEOUT_S:.0f} s; edit it by hand")


@contextlib.contextmanager
def second_opinion(source: bytes) -> Iterator[None]:
    """Ask `bash -n` beside the body, and refuse what it rejects; no opinion where there is no bash."""
    bash = shutil.which("bash")
    if bash is None:
        yield
        return
    with tempfile.TemporaryFile() as script:  # bash reads a pipe byte by byte, a file in blocks
        script.write(source)
        script.seek(0)
        command, environment = [bash, "--norc", "--noprofile", "-n"], {"PATH": os.defpath, "LC_ALL": "C"}
        with subprocess.Popen(command, stdin=script, stderr=subprocess.PIPE, env=environment) as process:
            try:
                yield
            finally:
                stderr = _ended(process)
    _require_undisturbed(process.returncode)
    if process.returncode:
        raise _refused("bash -n", stderr.decode("utf-8", "replace"), r"\S*bash: line (\d+): ")


def _require_undisturbed(returncode: int) -> None:
    """A terminal's Ctrl-C ends our children too: that is the operator's wish, and no verdict on the script."""
    if returncode == -signal.SIGINT:
        raise InterruptedByOperator("stopped by the operator")


def _refuse_joined_comments(source: bytes, tree: Node) -> None:
    """Refuse a comment behind a command that ends in a backslash: mvdan/sh 3.14 joins the next line to the command."""
    if not _COMMENT_JOINED.search(source):
        return
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack += node
        elif isinstance(node, dict):
            stack += node.values()
            if "Hash" in node and "\n" in node.get("Text", ""):
                _refuse_behind_command(source, node["Hash"]["Offset"])


def _refuse_behind_command(source: bytes, offset: int) -> None:
    line_start = source.rfind(b"\n", 0, offset) + 1
    above = source[source.rfind(b"\n", 0, max(line_start - 1, 0)) + 1 : max(line_start - 1, 0)]
    # of a block of comment lines each speaks for itself
    continued = above.endswith(b"\\") and not above.lstrip(b" \t").startswith(b"#")
    if continued or source[line_start:offset].strip(b" \t"):
        raise EditRefusedError(
            "the comment behind a command ends in a backslash, which parsers read differently; remove the backslash",
            line=source.count(b"\n", 0, offset) + 1,
        )


def _ended(process: subprocess.Popen[bytes]) -> bytes:
    try:
        return process.communicate(timeout=_TIMEOUT_S)[1]
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise _no_answer("bash -n") from error


def shfmt() -> Path:
    """mvdan/sh's binary of the shfmt-py wheel: beside this Python, else where the wheel's record says, else on PATH."""
    name = "shfmt.exe" if sys.platform == "win32" else "shfmt"
    for candidate in (Path(sysconfig.get_path("scripts")) / name, Path(sys.executable).parent / name):
        if candidate.exists():
            return candidate
    found = _recorded(name) or shutil.which(name)
    if found is None:
        raise EditRefusedError("no shell parser found; install the package shfmt-py")
    return Path(found)


def _recorded(name: str) -> Path | None:
    from importlib import metadata  # it costs more than a parse, and is rarely asked

    try:
        files = metadata.files("shfmt-py") or []
    except metadata.PackageNotFoundError:
        return None
    recorded = [Path(os.fspath(file.locate())) for file in files if file.name == name]
    return next((path for path in recorded if path.exists()), None)


def _decodable(source: bytes) -> bytes:
    text = decode(source)
    if text.isascii() or not any("\udc80" <= char <= "\udcff" for char in text):
        return source
    return re.sub("[\udc80-\udcff]", _STAND_IN.decode(), text).encode()


def _refused(who: str, stderr: str, position: str) -> EditRefusedError:
    first = stderr.strip().splitlines()[0] if stderr.strip() else "no reason given"
    at = re.match(position, first)
    said = first[at.end() :] if at else first
    return EditRefusedError(
        f"{who} rejects the script: {said}; mend it first", line=int(at[1]) if at else None
    )
