"""The checkout's own `.venv`, made from `requirements.lock`: what `./invoke` runs on first use, before anything is installed.

`python -I checkout.py HOME`, standard library only. Callers take turns; what an interrupted one left is made anew.
"""

from __future__ import annotations

import contextlib
import fcntl
import filecmp
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BAD_SURROUNDINGS = 2
INTERRUPTED = 130


def main(argv: list[str]) -> int:
    """Make the environment of the checkout in argv[0] unless it is there; the exit code."""
    home = Path(argv[0])
    try:
        with _one_at_a_time(home):
            if not is_made(home):
                _say(f"making {home / '.venv'} from requirements.lock (once, about half a minute)")
                make(home)
    except subprocess.CalledProcessError as error:
        return _refuse(f"`{' '.join(error.cmd)}` ended with {error.returncode}; see above")
    except OSError as error:
        return _refuse(f"{home / '.venv'} cannot be made: {error}")
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _refuse(why: str) -> int:
    _say(why)
    return BAD_SURROUNDINGS


def _say(text: str) -> None:
    sys.stderr.write(f"invoke: {text}\n")


@contextlib.contextmanager
def _one_at_a_time(home: Path) -> Iterator[None]:
    """Hold the checkout's directory itself: no file of ours is needed, and the lock goes with its holder."""
    descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_made(home: Path) -> bool:
    """Whether the environment came to its end, from the lock as it is now, and can be started."""
    venv = home / ".venv"
    with contextlib.suppress(OSError):
        return _runs(venv, "") and filecmp.cmp(home / "requirements.lock", venv / ".made-from", shallow=False)
    return False


def make(home: Path) -> None:
    """Install the lock; into a sound environment as it is, into a new one where the old one is not or takes no more."""
    venv, lock, uv = home / ".venv", home / "requirements.lock", shutil.which("uv")
    sound = _runs(venv, "" if uv else "import pip") and not _begun(venv).exists()
    if not sound:
        _begin(venv, uv)
    try:
        _install(venv, lock, uv)
    except subprocess.CalledProcessError:
        # pip, killed half-way, leaves packages it can neither use nor remove. What a person made is not ours to remove.
        if not (sound and (venv / ".made-from").exists()):
            raise
        _begin(venv, uv)
        _install(venv, lock, uv)
    shutil.copyfile(lock, venv / ".made-from")
    _begun(venv).unlink(missing_ok=True)


def _begun(venv: Path) -> Path:
    """There from the making of an environment until everything is in it."""
    return venv / ".being-made"


def _runs(venv: Path, code: str) -> bool:
    python = str(venv / "bin" / "python")
    check = [python, "-I", "-c", f"import encodings, sys; assert sys.prefix != sys.base_prefix; {code}"]
    with contextlib.suppress(OSError):
        return subprocess.run(check, stderr=subprocess.DEVNULL, check=False).returncode == 0
    return False


def _begin(venv: Path, uv: str | None) -> None:
    if venv.is_symlink():
        venv.unlink()
    elif venv.exists():
        shutil.rmtree(venv)
    maker = [uv, "venv", "-q", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
    _run([*maker, str(venv)])
    _begun(venv).touch()


def _install(venv: Path, lock: Path, uv: str | None) -> None:
    python = str(venv / "bin" / "python")
    # Twice quiet: its errors, none of its warnings.
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    installer = [uv, "pip", "install", "-q", "--python", python] if uv else pip
    _run([*installer, "--require-hashes", "-r", str(lock)])


def _run(command: list[str]) -> None:
    """Run a command whose words go to stderr: stdout is for what was asked."""
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
