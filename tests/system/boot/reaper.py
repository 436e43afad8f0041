"""Takes a run away when its owner ends, however it ends: `python -m tests.system.boot.reaper DIRECTORY`.

The owner holds the other end of stdin. Its end, be it by close or by kill -9, is the sign.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.system.boot.records import Place, take_away


def main(directory: Path) -> None:
    """Wait for the owner's end, then take everything away."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    take_away(Place(directory, int(directory.name)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
