"""What two benches must share to be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.load.bench.result import CLIENT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from runbook.load.bench.workload import Workload


_SHOWN = 120  # characters of a value that differs


class FingerprintMismatch(ValueError):
    """Two results that measured different things; `differences` are `key: baseline … , now …` lines."""

    def __init__(self, differences: tuple[str, ...]) -> None:
        self.differences = differences
        super().__init__("the baseline measured something else: " + "; ".join(differences))


def fingerprint(workload: Workload, server: Mapping[str, Any]) -> dict[str, Any]:
    """Model, shapes, concurrencies, the server's version, arguments and GPU as far as it tells, the client."""
    return {
        "model": workload.model,
        "input_tokens": workload.input_tokens,
        "output_tokens": workload.output_tokens,
        "concurrency": list(workload.concurrencies),
        "request_rate": workload.request_rate,
        "extra_body": dict(workload.extra_body),
        **({} if workload.ignore_eos else {"ignore_eos": False}),
        "server": dict(server),
        "client": CLIENT,
    }


def differences(
    baseline: Mapping[str, Any], current: Mapping[str, Any], expected: Collection[str] = ()
) -> tuple[str, ...]:
    """What differs, one line a key, nested keys dotted.

    The lists of concurrencies may differ as long as one holds the other: the common ones are compared. A fact that one
    server does not tell at all (its version, an argument, its GPU) counts as a difference only when both tell it.
    `expected` are dotted keys that are meant to differ: they are what was changed between the two.
    """
    before, now = _flat(baseline), _flat(current)
    found = [
        f"{key}: baseline {_shown(before.get(key))}, now {_shown(now.get(key))}"
        for key in sorted({*before, *now})
        if key not in ("concurrency", *expected)
        and before.get(key) != now.get(key)
        and not _untold(key, before, now)
    ]
    levels, now_levels = set(baseline.get("concurrency", ())), set(current.get("concurrency", ()))
    if not (levels <= now_levels or now_levels <= levels):
        found.append(f"concurrency: baseline {sorted(levels)}, now {sorted(now_levels)}")
    return tuple(found)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _untold(key: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    return key.startswith("server.") and (before.get(key) is None or now.get(key) is None)


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
