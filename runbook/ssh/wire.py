"""The wire as upper layers see it, and the one place where its error kinds become ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from runbook import errors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from runbook.ssh.row import Asked

Mode = Literal["reading", "running", "writing"]


class Wire(Protocol):
    """Calls on the host, one at a time. `call` raises `runbook.errors`, LinkLostError when its deadline passes.

    `ask_ahead` sets the host to work on the calls that come next, in their order; only calls that read are asked ahead.
    """

    @property
    def mode(self) -> Mode: ...

    def call(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Any: ...

    def ask_ahead(self, *row: Asked) -> None: ...


class AnsweringWire(Wire, Protocol):
    """A wire that also gives a call's whole answer: `ok` or `error`, and what it `ran` on the host."""

    def answer(self, name: str, /, *, deadline_s: float = 60.0, **args: Any) -> Mapping[str, Any]: ...


class OpenWire(AnsweringWire, Protocol):
    """A wire somebody must close; closing it returns when the helper is gone."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def is_answer(document: Any) -> bool:
    """Whether what the host sent has an answer's shape: `ok`, or an error that `error_of` can read."""
    if not isinstance(document, dict) or "error" not in document:
        return isinstance(document, dict) and "ok" in document
    problem = document["error"]
    return (
        isinstance(problem, dict)
        and {"kind", "message"} <= problem.keys()
        and isinstance(problem.get("data") or {}, dict)
    )


def value(answer: Mapping[str, Any], call: str) -> Any:
    """What an answer carries; raises what its error stands for."""
    if "error" in answer:
        raise error_of(answer["error"], call)
    return answer["ok"]


def error_of(problem: Mapping[str, Any], call: str) -> errors.RunbookError:
    """The error of an answer. Its `data`, when the kind carries any, is the exception's `data`."""
    error = _error_of(problem["kind"], str(problem["message"]), problem.get("data") or {}, call)
    error.data = problem.get("data") or {}
    return error


def _error_of(kind: str, message: str, found: Mapping[str, Any], call: str) -> errors.RunbookError:
    match kind:
        case "missing":
            return errors.MissingOnHostError(message)
        case "changed":
            return errors.FileChangedError(message)
        case "locked":
            return errors.LockedError(message)
        case "no-space" | "read-only":
            return errors.PreflightError(message)
        case "invalid" if found.get("check"):
            return errors.EditRefusedError(message)
        case "invalid":
            return errors.PreflightError(message)
        case "failed" if found.get("unit"):
            return errors.GateError(message)
        case "failed":
            return errors.PreflightError(message)
    return errors.HelperError(f"{call}: {message}")
