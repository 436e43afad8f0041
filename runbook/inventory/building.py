"""A valid host file to the Host the rest of runbook works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runbook import model
from runbook.inventory import tables

if TYPE_CHECKING:
    from collections.abc import Mapping


_COMMAND_S = 1800.0  # of a command in bench without a budget, as of one in validations


def host(name: str, source: str, file: tables.HostFile) -> model.Host:
    """The Host a file describes; `name` is the file's, `source` its path as shown to people."""
    units = tuple(_unit(role, table) for role, table in file.units.items())
    scripted = tuple(unit.role for unit in units if unit.script)
    return model.Host(
        name=name,
        service=file.service or file.profile or name,
        source=source,
        ssh=_ssh(file.ssh),
        units=units,
        flags=tuple(_flag(flag, table, scripted) for flag, table in file.flags.items()),
        model=file.model,
        wait=_wait(file.wait),
        validations=tuple(_validation(table) for table in file.validations),
        bench=None if file.bench is None else _bench(file.bench),
        policy=model.Policy(**file.policy.model_dump()),
        traffic=file.traffic,
        become=file.become,
        python=file.python,
        state_dir=file.state_dir,
        api_key_env=file.api_key_env,
        keep_releases=file.keep_releases,
        scope=file.scope,
        checkout=file.source,
        notify=tuple(model.Notice(tuple(one.on), one.url, one.url_env) for one in file.notify),
        profile=file.profile,
    )


def _ssh(table: str | tables.SshTable) -> model.SshTarget:
    return model.SshTarget(table) if isinstance(table, str) else model.SshTarget(**table.model_dump())


def _unit(role: str, table: tables.UnitTable) -> model.Unit:
    return model.Unit(
        role=role,
        name=table.unit,
        script=table.script,
        health=table.health,
        url=table.url,
        env_files=tuple(table.env_files),
        drop_ins=tuple(table.drop_ins),
        sourced=tuple(table.sourced),
        args=tuple(_argument(name, argument) for name, argument in table.args.items()),
    )


def _argument(name: str, table: tables.ArgumentTable) -> model.Argument:
    return model.Argument(
        name=name,
        value=table.value,
        why=table.why,
        present=bool(table.present),
        owner=table.owner,
        since=table.since,
        expires=table.expires,
    )


def _flag(name: str, table: tables.FlagTable, scripted: tuple[str, ...]) -> model.Flag:
    return model.Flag(
        name=name,
        value=None if table.absent else table.value,
        why=table.why,
        units=scripted if table.units is None else tuple(table.units),
        owner=table.owner,
        since=table.since,
        expires=table.expires,
        engine_default=table.engine_default,
    )


def _wait(table: tables.WaitTable) -> model.Wait:
    return model.Wait(
        health=_budget(table.health),
        ready=_budget(table.ready),
        ready_max_tokens=table.ready.max_tokens,
        hold_s=table.hold_s,
    )


def _budget(table: tables.BudgetTable) -> model.Budget:
    return model.Budget(table.attempts, table.every_s, table.timeout_s)


def _validation(table: tables.SessionsTable | tables.CommandTable) -> model.Validation:
    if isinstance(table, tables.CommandTable):
        return model.Command(table.name, table.run, table.timeout_s)
    return model.Sessions(
        name=table.name,
        sessions=table.sessions,
        rounds=table.rounds,
        ctx=table.ctx,
        max_tokens=table.max_tokens,
        timeout_s=table.timeout_s,
        options=_options(table.model_extra),
        kind=table.kind,
    )


def _bench(table: tables.BenchTable) -> model.Bench | model.BenchCommand:
    if table.run is not None:
        return model.BenchCommand(table.run, table.budget_s or _COMMAND_S, table.accept)
    return model.Bench(
        concurrency=tuple(table.concurrency),
        input_tokens=table.input_tokens,
        output_tokens=table.output_tokens,
        repeats=table.repeats,
        max_regression=table.max_regression,
        budget_s=table.budget_s,
        accept=table.accept,
        options=_options(table.model_extra),
    )


def _options(extra: Mapping[str, str] | None) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in (extra or {}).items()}
