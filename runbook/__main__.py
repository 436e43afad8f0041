"""`python -m runbook`, `./invoke` and the installed `runbook` command begin here."""

from __future__ import annotations

import gc
import sys

# What a start imports lives to the end: at Python's own 700 it is searched for garbage a hundred times on the way.
_NEW_OBJECTS = 50_000
_INTERRUPTED = 130


def main() -> None:
    """Run the program; a tenth of a plan's time was the garbage collector's."""
    gc.set_threshold(_NEW_OBJECTS)
    try:
        from runbook import program

        program.main()
    except KeyboardInterrupt:  # while all that was imported
        sys.stderr.write("interrupted\n")
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
