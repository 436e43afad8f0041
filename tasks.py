"""The tasks of `invoke`. Each builds a request and hands it to runbook.app, imported only when a task runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from invoke import Collection, Context, Exit, task

HELP = {
    "host": "a host in hosts/ (repeat for several, one after the other); default: the lab while it is the only one",
    "set": "NAME=VALUE: want this flag value for this run (repeat)",
    "unset": "NAME: want this flag absent for this run (repeat)",
    "dry-run": "show the plan and stop; writes nothing",
    "yes": "do not ask; needed without a terminal",
    "json": "one JSON document on stdout and nothing else",
    "reason": "why, for the audit",
    "skip-validation": "no validations and no bench (a release then stays unproven)",
    "load": "put load on a host with live traffic",
    "accept-new": "accept and remember the key of a host never seen before",
    "file": "preview --set and --unset on a local serve script, an option with its dashes being a launch argument "
    "(--set=--x=1, or --set=--x alone); no host needed",
    "to": "the release to go back to (default: the parent of current)",
    "force": "go back although files were edited by hand; saves them as a release first",
    "unit": "a role (decode) or a unit's name (repeat for several)",
    "verbose": "every line of progress and every call of the helper (-v for short)",
}


def _help(*names: str) -> dict[str, str]:
    return {name: HELP[name] for name in names}


def _run(action: str, context: Context, **given: Any) -> None:
    from runbook import command_line

    raise Exit(code=command_line.run(action, dry=bool(context.config.run.dry), **given))


@task(
    auto_shortflags=False,
    iterable=["host", "set_", "unset"],
    help=_help("host", "set", "unset", "file", "json", "accept-new"),
)
def plan(
    c: Context,
    file: str = "",
    host: list[str] | None = None,
    set_: list[str] | None = None,
    unset: list[str] | None = None,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """Show what a deploy would change and restart, and why; reads only."""
    _run("plan", c, file=file, host=host, set_=set_, unset=unset, json=json, accept_new=accept_new)


@task(
    auto_shortflags=False,
    iterable=["host", "set_", "unset"],
    help=_help(
        "host",
        "set",
        "unset",
        "dry-run",
        "yes",
        "skip-validation",
        "load",
        "reason",
        "json",
        "accept-new",
        "verbose",
    ),
)
def deploy(
    c: Context,
    host: list[str] | None = None,
    set_: list[str] | None = None,
    unset: list[str] | None = None,
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
    _run(
        "deploy",
        c,
        host=host,
        set_=set_,
        unset=unset,
        dry_run=dry_run,
        yes=yes,
        skip_validation=skip_validation,
        load=load,
        reason=reason,
        json=json,
        accept_new=accept_new,
        verbose=verbose,
    )


@task(
    auto_shortflags=False,
    iterable=["host"],
    help=_help("host", "load", "skip-validation", "json", "accept-new", "verbose"),
)
def verify(
    c: Context,
    host: list[str] | None = None,
    load: bool = False,
    skip_validation: bool = False,
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Ask whether what runs is what should run: flags, health, readiness, corruption, speed."""
    _run(
        "verify",
        c,
        host=host,
        load=load,
        skip_validation=skip_validation,
        json=json,
        accept_new=accept_new,
        verbose=verbose,
    )


@task(
    auto_shortflags=False,
    iterable=["host", "name", "option"],
    help=_help("host", "load", "json", "accept-new", "verbose")
    | {
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
    host: list[str] | None = None,
    name: list[str] | None = None,
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
    option: list[str] | None = None,
    load: bool = False,
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Run agent sessions with known right answers: is what this server says under load what the model said?"""
    given = {name: value for name, value in locals().items() if name != "c"}
    _run("validate", c, **given)


@task(
    auto_shortflags=False,
    iterable=["host", "option"],
    help=_help("host", "load", "reason", "json", "accept-new", "verbose")
    | {
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
        "option": "NAME=VALUE, any option of `python -m runbook.load bench` (repeat)",
    },
)
def bench(
    c: Context,
    host: list[str] | None = None,
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
    option: list[str] | None = None,
    load: bool = False,
    reason: str = "",
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Measure throughput and latency over concurrency: how fast is it, and slower than what?"""
    given = {name: value for name, value in locals().items() if name != "c"}
    _run("bench", c, **given)


@task(
    auto_shortflags=False,
    iterable=["host"],
    help=_help("host", "to", "force", "yes", "reason", "json", "accept-new", "verbose"),
)
def rollback(
    c: Context,
    host: list[str] | None = None,
    to: str = "",
    force: bool = False,
    yes: bool = False,
    reason: str = "",
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Put the release before back, restart what it calls for, and check that it runs."""
    _run(
        "rollback",
        c,
        host=host,
        to=to,
        force=force,
        yes=yes,
        reason=reason,
        json=json,
        accept_new=accept_new,
        verbose=verbose,
    )


@task(auto_shortflags=False, iterable=["host"], help=_help("host", "json", "accept-new"))
def status(c: Context, host: list[str] | None = None, json: bool = False, accept_new: bool = False) -> None:
    """What runs, since when, and whether it is what should run; without --host every host on a line."""
    _run("status", c, host=host, json=json, accept_new=accept_new)


@task(name="releases", auto_shortflags=False, iterable=["host"], help=_help("host", "json", "accept-new"))
def list_releases(
    c: Context, host: list[str] | None = None, json: bool = False, accept_new: bool = False
) -> None:
    """The releases a host keeps, newest first."""
    _run("releases", c, host=host, json=json, accept_new=accept_new)


@task(
    auto_shortflags=False,
    iterable=["host", "unit"],
    help=_help("host", "unit", "dry-run", "yes", "reason", "json", "accept-new", "verbose"),
)
def restart(
    c: Context,
    host: list[str] | None = None,
    unit: list[str] | None = None,
    dry_run: bool = False,
    yes: bool = False,
    reason: str = "",
    json: bool = False,
    accept_new: bool = False,
    verbose: bool = False,
) -> None:
    """Restart units by name, wait until they are healthy and chat comes back; edits nothing."""
    _run(
        "restart",
        c,
        host=host,
        unit=unit,
        dry_run=dry_run,
        yes=yes,
        reason=reason,
        json=json,
        accept_new=accept_new,
        verbose=verbose,
    )


@task(
    auto_shortflags=False,
    iterable=["host", "unit"],
    help=_help("host", "unit", "json", "accept-new")
    | {
        "since": "10m, 2h, 3d or a moment as 2026-11-30T07:40",
        "lines": "at most so many of the last lines",
        "grep": "only lines that match this regular expression",
    },
)
def logs(
    c: Context,
    host: list[str] | None = None,
    unit: list[str] | None = None,
    since: str = "",
    lines: int = 200,
    grep: str = "",
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """The last lines of the units' journals, secrets masked."""
    _run(
        "logs",
        c,
        host=host,
        unit=unit,
        since=since,
        lines=lines,
        grep=grep,
        json=json,
        accept_new=accept_new,
    )


@task(auto_shortflags=False, iterable=["host"], help=_help("host", "json"))
def hosts_check(c: Context, host: list[str] | None = None, json: bool = False) -> None:
    """Check host files and their flags; no host needs to be up."""
    _run("hosts.check", c, host=host, json=json)


@task(
    auto_shortflags=False,
    iterable=["host", "unit"],
    help=_help("json", "accept-new")
    | {
        "host": "the name of the new host file",
        "address": "[user@]host[:port] or an alias of ~/.ssh/config; default: the name",
        "unit": "a unit of the service (repeat); default: services whose command or script says sglang, vllm or llama",
    },
)
def hosts_adopt(
    c: Context,
    host: list[str] | None = None,
    address: str = "",
    unit: list[str] | None = None,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """Read a live host and write its host file, for a person to fill in the reasons."""
    _run("hosts.adopt", c, host=host, address=address, unit=unit, json=json, accept_new=accept_new)


@task(auto_shortflags=False, help=_help("json"))
def hosts_list(c: Context, json: bool = False) -> None:
    """Name every host there is a file for."""
    _run("hosts.list", c, json=json)


_AUDIT = {
    "host": "a host's records only (repeat)",
    "fetch": "first copy the named hosts' new records here",
    "since": "2h, 3d, or a moment as 2026-11-30T07:40",
    "outcome": "pass, fail, error or inconclusive (repeat)",
    "json": HELP["json"],
    "accept-new": HELP["accept-new"],
    "id": "a record's id, or its beginning",
}


def _of_audit(*names: str) -> dict[str, str]:
    return {name: _AUDIT[name] for name in names}


def _audit(action: str, **given: Any) -> None:
    from runbook import auditing

    raise Exit(code=auditing.run(action, **given))


@task(
    auto_shortflags=False,
    iterable=["host", "outcome"],
    help=_of_audit("host", "fetch", "since", "outcome", "json", "accept-new"),
)
def audit_list(
    c: Context,
    host: list[str] | None = None,
    fetch: bool = False,
    since: str = "",
    outcome: list[str] | None = None,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """What was done here and on which host, one line a rollout."""
    _audit(
        "audit.list", host=host, fetch=fetch, since=since, outcome=outcome, json=json, accept_new=accept_new
    )


@task(
    auto_shortflags=False,
    positional=["id"],
    iterable=["host"],
    help=_of_audit("id", "host", "fetch", "json", "accept-new"),
)
def audit_show(
    c: Context,
    id: str = "",
    host: list[str] | None = None,
    fetch: bool = False,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """One record, by default the youngest: who, why, what was done and measured."""
    _audit("audit.show", id=id, host=host, fetch=fetch, json=json, accept_new=accept_new)


@task(
    auto_shortflags=False,
    iterable=["host"],
    help=_of_audit("json", "accept-new")
    | {
        "host": "check a host's own chain and its journal (repeat); default: the copies here",
        "signed": "an unsigned record is a bad one",
        "allowed-signers": "whose keys count, as in ssh-keygen(1); default: hosts/allowed_signers",
    },
)
def audit_verify(
    c: Context,
    host: list[str] | None = None,
    signed: bool = False,
    allowed_signers: str = "",
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """Whether every record is the one that was written; names the first that is not."""
    _audit(
        "audit.verify",
        host=host,
        signed=signed,
        allowed_signers=allowed_signers,
        json=json,
        accept_new=accept_new,
    )


@task(
    auto_shortflags=False,
    iterable=["host", "outcome"],
    help=_of_audit("id", "host", "fetch", "since", "outcome", "json", "accept-new")
    | {"format": "jsonl, junit, markdown or html", "output": "a file; default: stdout"},
)
def audit_export(
    c: Context,
    format: str = "jsonl",
    output: str = "",
    id: str = "",
    host: list[str] | None = None,
    fetch: bool = False,
    since: str = "",
    outcome: list[str] | None = None,
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """Records for other programs: as they are, as JUnit, Markdown or a page."""
    _audit(
        "audit.export",
        format=format,
        output=output,
        id=id,
        host=host,
        fetch=fetch,
        since=since,
        outcome=outcome,
        json=json,
        accept_new=accept_new,
    )


@task(auto_shortflags=False, help={"reset": "lay the state before the fix again"})
def lab_up(c: Context, reset: bool = False) -> None:
    """Start the embedded lab: SSH server, units, workers, router."""
    from runbook import offline

    raise Exit(code=offline.lab_up(Path.cwd(), reset=reset))


@task(auto_shortflags=False)
def lab_down(c: Context) -> None:
    """Stop the lab and everything it started."""
    from runbook import offline

    raise Exit(code=offline.lab_down(Path.cwd()))


@task(auto_shortflags=False)
def lab_status(c: Context) -> None:
    """Whether the lab runs, and where."""
    from runbook import offline

    raise Exit(code=offline.lab_status(Path.cwd()))


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


@task(
    auto_shortflags=False,
    iterable=["host"],
    help=_of_audit("host", "fetch", "json", "accept-new")
    | {
        "id": "a record's id, or its beginning; may stand without --id right behind `report`",
        "open": "open the page in a browser",
        "format": "html (default) or markdown",
        "output": "where to write it; default: .runbook/reports/, and stdout for Markdown",
    },
)
def report(
    c: Context,
    id: str = "",
    host: list[str] | None = None,
    fetch: bool = False,
    open: bool = False,
    format: str = "html",
    output: str = "",
    json: bool = False,
    accept_new: bool = False,
) -> None:
    """One rollout as a page for a browser, or in a few lines of Markdown; the youngest where none is named."""
    _audit(
        "report",
        id=id,
        host=host,
        fetch=fetch,
        open=open,
        format=format,
        output=output,
        json=json,
        accept_new=accept_new,
    )


namespace = Collection(
    plan, deploy, verify, validate, bench, rollback, restart, status, list_releases, logs, report, check, test
)
_hosts = Collection("hosts")
_hosts.add_task(hosts_adopt, name="adopt")
_hosts.add_task(hosts_check, name="check")
_hosts.add_task(hosts_list, name="list")
namespace.add_collection(_hosts)
_audits = Collection("audit")
_audits.add_task(audit_list, name="list")
_audits.add_task(audit_show, name="show")
_audits.add_task(audit_verify, name="verify")
_audits.add_task(audit_export, name="export")
namespace.add_collection(_audits)
_lab = Collection("lab")
_lab.add_task(lab_up, name="up")
_lab.add_task(lab_down, name="down")
_lab.add_task(lab_status, name="status")
namespace.add_collection(_lab)
