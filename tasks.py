"""The tasks of `invoke`: what each takes and says of itself. Whoever answers is imported only when a task runs."""

from __future__ import annotations

import functools
import inspect
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from invoke import Collection, Context, Exit, task

from runbook import shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Names = list[str] | None  # an option that may be repeated

HELP = {
    "host": "a host in hosts/ (repeat for several, one after the other); default: the lab while it is the only one",
    "set": "NAME=VALUE: want this flag value for this run (repeat)",
    "unset": "NAME: want this flag absent for this run (repeat)",
    "dry-run": "show the plan and stop; writes nothing",
    "yes": "do not ask; needed without a terminal (the lab is never asked about)",
    "json": "one JSON document on stdout and nothing else",
    "reason": "why, for the audit",
    "skip-validation": "no validations and no bench (a new release then stays unproven)",
    "load": "put load on a host with live traffic",
    "accept-new": "accept and remember the key of a host never seen before",
    "file": "preview --set and --unset on a local serve script, an option with its dashes being a launch argument "
    "(--set=--x=1, or --set=--x alone); no host needed",
    "to": "the release to go back to, a beginning of its id is enough (default: the nearest before current that ran to its end)",
    "force": "go back although files were edited by hand; saves them as a release first",
    "unit": "a role (decode) or a unit's name (repeat for several)",
    "verbose": "every line of progress and every call of the helper (-v for short)",
    "id": "a record's id, or its beginning (behind the task or its options it may stand without --id)",
    "fetch": "first copy the named hosts' new records here",
    "outcome": "pass, fail, error or inconclusive; of errors also declined, refused or stopped (repeat)",
    "since": "2h, 3d, or a moment as 2026-11-30T07:40",
}


def host_task(
    action: str,
    *,
    room: str = "command_line",
    positional: Sequence[str] = (),
    help: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., None]], Any]:
    """A task that hands its options to `runbook.<room>.run(action, …)` and exits with what that returns.

    The function below is a signature and a sentence: every parameter an option, None as its default one that may be
    repeated. `help` words an option otherwise than HELP does.
    """
    words = {**HELP, **(help or {})}

    def declare(signature: Callable[..., None]) -> Any:
        @functools.wraps(signature)
        def run(c: Context, **given: Any) -> None:
            answer = import_module(f"runbook.{room}").run
            raise Exit(code=answer(action, dry=bool(c.config.run.dry), **given))

        options = list(inspect.signature(signature).parameters.values())[1:]
        return task(
            name=action.rpartition(".")[2],
            auto_shortflags=False,
            positional=positional,
            iterable=[option.name for option in options if option.default is None],
            help={
                flag: words[flag] for flag in (option.name.strip("_").replace("_", "-") for option in options)
            },
        )(run)

    return declare


@host_task("plan")
def plan(
    c: Context,
    file: str = "",
    host: Names = None,
    set_: Names = None,
    unset: Names = None,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """Show what a deploy would change and restart, and why; reads only."""


@host_task("deploy")
def deploy(
    c: Context,
    host: Names = None,
    set_: Names = None,
    unset: Names = None,
    dry_run: bool = False,
    yes: bool = False,
    skip_validation: bool = False,
    load: bool = False,
    reason: str = "",
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Edit, restart, wait, validate, bench; keep the result or roll back."""


@host_task(
    "verify", help={"skip-validation": "no validations and no bench: flags, health and readiness alone"}
)
def verify(
    c: Context,
    host: Names = None,
    load: bool = False,
    skip_validation: bool = False,
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Ask whether what runs is what should run: flags, health, readiness, corruption, speed."""


@host_task(
    "validate",
    help={
        "name": "a validation of the host's file (repeat); default: all of them",
        "url": "any OpenAI-compatible server instead of a host; loaded from here",
        "model": "with --url: the model's name",
        "replay": "judge a file of kept raw streams again, offline",
        "sessions": "with --url: agent sessions at once (80)",
        "rounds": "with --url: rounds a session (3)",
        "ctx": "with --url: filler in the prompt, in tokens (350)",
        "max-tokens": "with --url: limit of one response (2000)",
        "timeout": "with --url: a session's deadline in seconds (260)",
        "tag": "with --url: the run's name",
        "control": "with --url: always run a control arm: concurrency=4 or url=http://…",
        "api-key-env": "with --url: the variable that holds the API key",
        "streams": "with --url: where raw streams of unclean sessions go",
        "option": "with --url: NAME[=VALUE], any option of `python -m runbook.load repro` (repeat)",
    },
)
def validate(
    c: Context,
    host: Names = None,
    name: Names = None,
    url: str = "",
    model: str = "",
    replay: str = "",
    sessions: str = "",
    rounds: str = "",
    ctx: str = "",
    max_tokens: str = "",
    timeout: str = "",
    tag: str = "",
    control: str = "",
    api_key_env: str = "",
    streams: str = "",
    option: Names = None,
    load: bool = False,
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Run agent sessions with known right answers: is what this server says under load what the model said?"""


@host_task(
    "bench",
    help={
        "against": "a release of the host, a name that --save gave, or a file: compare with its bench",
        "save": "keep the result under this name, in .runbook/benches/",
        "concurrency": "requests in flight, one level after the other (1,8,32,64,80)",
        "max-concurrency": "one level; with --request-rate its limit",
        "repeats": "times every level is measured (5)",
        "budget": "seconds for the whole sweep (60)",
        "duration": "seconds to send at every level and repeat",
        "num-prompts": "requests a level and repeat (default: by the budget)",
        "request-rate": "Poisson arrivals a second instead of a closed loop",
        "random-input-len": "tokens of a prompt (350)",
        "random-output-len": "tokens of an answer (256)",
        "slo": "ttft=MS,tpot=MS,e2e=MS: limits for goodput",
        "processes": "client processes (1)",
        "max-regression": "allowed loss against it (0.10)",
        "accept": "why a known loss may pass; it is audited",
        "url": "any OpenAI-compatible server instead of a host; loaded from here",
        "model": "with --url: the model's name",
        "tokenizer": "with --url: tokenizer.json that makes input lengths exact",
        "output-file": "write the result and every request here, as JSON lines",
        "api-key-env": "with --url: the variable that holds the API key",
        "option": "NAME=VALUE, any option of `python -m runbook.load bench`, such as client-lag=0.5 (repeat)",
    },
)
def bench(
    c: Context,
    host: Names = None,
    against: str = "",
    save: str = "",
    concurrency: str = "",
    max_concurrency: str = "",
    repeats: str = "",
    budget: str = "",
    duration: str = "",
    num_prompts: str = "",
    request_rate: str = "",
    random_input_len: str = "",
    random_output_len: str = "",
    slo: str = "",
    processes: str = "",
    max_regression: str = "",
    accept: str = "",
    url: str = "",
    model: str = "",
    tokenizer: str = "",
    output_file: str = "",
    api_key_env: str = "",
    option: Names = None,
    load: bool = False,
    reason: str = "",
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Measure throughput and latency over concurrency: how fast is it, and slower than what?"""


@host_task("rollback")
def rollback(
    c: Context,
    host: Names = None,
    to: str = "",
    force: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    reason: str = "",
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Put the release before back, restart what it calls for, and check that it runs."""


@host_task("status")
def status(c: Context, host: Names = None, json: bool = False, accept_new: bool = False) -> None:
    """What runs, since when, and whether it is what should run; without --host every host on a line."""


@host_task("releases")
def list_releases(c: Context, host: Names = None, json: bool = False, accept_new: bool = False) -> None:
    """The releases a host keeps, newest first."""


@host_task("restart")
def restart(
    c: Context,
    host: Names = None,
    unit: Names = None,
    dry_run: bool = False,
    yes: bool = False,
    reason: str = "",
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Restart units by name, wait until they are healthy and chat comes back; edits nothing."""


@host_task(
    "logs",
    help={
        "since": "10m, 2h, 3d or a moment as 2026-11-30T07:40",
        "lines": "at most so many of the last lines",
        "grep": "only lines that match this regular expression",
    },
)
def logs(
    c: Context,
    host: Names = None,
    unit: Names = None,
    since: str = "",
    lines: int = 200,
    grep: str = "",
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """The last lines of the units' journals, secrets masked."""


@host_task("hosts.check")
def hosts_check(c: Context, host: Names = None, json: bool = False) -> None:
    """Check host files and their flags; no host needs to be up."""


@host_task(
    "hosts.adopt",
    help={
        "host": "the name of the new host file",
        "address": "[user@]host[:port] or an alias of ~/.ssh/config; default: the name",
        "unit": "a unit of the service (repeat); default: services whose command or script says sglang, vllm or llama",
    },
)
def hosts_adopt(
    c: Context,
    host: Names = None,
    address: str = "",
    unit: Names = None,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """Read a live host and write its host file, for a person to fill in the reasons."""


@host_task("hosts.list")
def hosts_list(c: Context, json: bool = False) -> None:
    """Name every host there is a file for."""


@host_task("audit.list", room="auditing", help={"host": "a host's records only (repeat)"})
def audit_list(
    c: Context,
    host: Names = None,
    fetch: bool = False,
    since: str = "",
    outcome: Names = None,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """What was done here and on which host, one line a rollout."""


@host_task(
    "audit.show",
    room="auditing",
    positional=["id"],
    help={
        "host": "a host's records only (repeat)",
        "verbose": "every call of the helper, and every program it ran on the host (-v for short)",
    },
)
def audit_show(
    c: Context,
    id: str = "",
    host: Names = None,
    fetch: bool = False,
    verbose: bool = False,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """One record, by default the youngest: who, why, what was done and measured."""


@host_task(
    "audit.verify",
    room="auditing",
    help={
        "host": "check a host's own chain and its journal (repeat); default: the copies here",
        "signed": "an unsigned record is a bad one",
        "allowed-signers": "whose keys count, as in ssh-keygen(1); default: hosts/allowed_signers",
    },
)
def audit_verify(
    c: Context,
    host: Names = None,
    signed: bool = False,
    allowed_signers: str = "",
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """Whether every record is the one that was written; names the first that is not."""


@host_task(
    "audit.export",
    room="auditing",
    help={
        "host": "a host's records only (repeat)",
        "format": "jsonl, junit, markdown or html",
        "output": "a file; default: stdout",
    },
)
def audit_export(
    c: Context,
    format: str = "jsonl",
    output: str = "",
    id: str = "",
    host: Names = None,
    fetch: bool = False,
    since: str = "",
    outcome: Names = None,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """Records for other programs: as they are, as JUnit, Markdown or a page."""


REAL = "a real Debian host instead, described in hosts/real.yml (root on Linux; needs a checkout)"


@task(
    auto_shortflags=False,
    help={"reset": "lay the state before the fix again", "real": REAL, "json": HELP["json"]},
)
def lab_up(c: Context, reset: bool = False, real: bool = False, json: bool = False) -> None:
    """Start the embedded lab: SSH server, units, workers, router."""
    from runbook import development, labtasks

    if real:
        raise Exit(code=development.real_host("up", Path.cwd(), reset=reset, json=json))
    raise Exit(code=labtasks.up(Path.cwd(), reset=reset, json=json))


@task(auto_shortflags=False, help={"real": REAL, "json": HELP["json"]})
def lab_down(c: Context, real: bool = False, json: bool = False) -> None:
    """Stop the lab and everything it started."""
    from runbook import development, labtasks

    if real:
        raise Exit(code=development.real_host("down", Path.cwd(), json=json))
    raise Exit(code=labtasks.down(Path.cwd(), json=json))


@task(auto_shortflags=False, help={"real": REAL, "json": HELP["json"]})
def lab_status(c: Context, real: bool = False, json: bool = False) -> None:
    """Whether the lab runs, and where; exit 3 where it does not."""
    from runbook import development, labtasks

    if real:
        raise Exit(code=development.real_host("status", Path.cwd(), json=json))
    standing = development.real_host_standing(Path.cwd())
    raise Exit(code=labtasks.status(Path.cwd(), json=json, real=standing))


@task(auto_shortflags=False)
def check(c: Context) -> None:
    """Formatting, lint, types and layers, as CI runs them."""
    from runbook import development

    raise Exit(code=development.check())


@task(auto_shortflags=False, help={"all": "the heavy profiles too", "args": "further arguments for pytest"})
def test(c: Context, all: bool = False, args: str = "") -> None:
    """Everything CI runs: check, then the whole test suite."""
    from runbook import development

    raise Exit(code=development.test(heavy=all, args=args))


@host_task(
    "report",
    room="auditing",
    help={
        "host": "a host's records only (repeat)",
        "open": "open the page in a browser",
        "format": "html (default) or markdown",
        "output": "where to write it; default: .runbook/reports/, and stdout for Markdown",
    },
)
def report(
    c: Context,
    id: str = "",
    host: Names = None,
    fetch: bool = False,
    open: bool = False,
    format: str = "html",
    output: str = "",
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """One rollout as a page for a browser, or in a few lines of Markdown; the youngest where none is named."""


namespace = Collection(
    plan, deploy, verify, validate, bench, rollback, restart, status, list_releases, logs, report
)
if not shipped.is_installed():
    namespace.add_task(check)
    namespace.add_task(test)
namespace.add_collection(Collection("hosts", hosts_adopt, hosts_check, hosts_list))
namespace.add_collection(Collection("audit", audit_list, audit_show, audit_verify, audit_export))
_lab = Collection("lab")
_lab.add_task(lab_up, name="up")
_lab.add_task(lab_down, name="down")
_lab.add_task(lab_status, name="status")
namespace.add_collection(_lab)
