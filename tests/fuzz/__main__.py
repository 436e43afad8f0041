"""Run one fuzzer from the project's root: `python -m tests.fuzz --target sse|script|flat|frames|yaml --seconds 600`.

Every case comes from the seed and its number; a failure prints the command that tries that one case again.
"""

from __future__ import annotations

import argparse
import secrets
import sys

from tests.fuzz.fuzzing import FuzzFailure, fuzz
from tests.fuzz.targets import MODULES, target


def main() -> int:
    """0 where every case held, 1 at the first that did not."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", allow_abbrev=False)
    parser.add_argument("--target", choices=sorted(MODULES), required=True)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", default=secrets.token_hex(4))
    parser.add_argument("--case", type=int, help="try only this one")
    asked = parser.parse_args()
    print(f"{asked.target}: seed {asked.seed}", flush=True)  # noqa: T201
    only = {} if asked.case is None else {"cases": 1, "first": asked.case}
    try:
        tally = fuzz(asked.target, target(asked.target), seed=asked.seed, seconds=asked.seconds, **only)
    except FuzzFailure as failure:
        print(failure, file=sys.stderr)  # noqa: T201
        return 1
    print(f"{tally.cases} cases in {tally.took_s:.0f} s held, the slowest took {tally.slowest_s:.2f} s")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
