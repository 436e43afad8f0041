"""Who runs this, in which CI job, and from which revision of the checkout: what an audit says of the near end."""

from __future__ import annotations

import getpass
import os
import re
import socket
from typing import TYPE_CHECKING, Any, NamedTuple

from runbook import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_USER = ("config", "--get-regexp", r"^user\.(name|email)$")
_CHECKOUT = (
    ("rev-parse", "--verify", "HEAD"),
    ("status", "--porcelain", "--untracked-files=no", "--", ":/"),
    ("ls-files", "--others", "--exclude-standard", "--", "hosts"),
)


class Ci(NamedTuple):
    """A CI system: the variable that shows it, and where it tells of job, page and who set it off."""

    name: str
    marker: str
    job: str
    url: str
    actor: str


# As their manuals name the variables; the last is what nearly every other system sets.
_SYSTEMS = (
    Ci(
        "GitHub Actions",
        "GITHUB_ACTIONS",
        "{GITHUB_WORKFLOW}/{GITHUB_JOB} #{GITHUB_RUN_NUMBER}",
        "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}",
        "{GITHUB_ACTOR}",
    ),
    Ci("GitLab CI", "GITLAB_CI", "{CI_JOB_NAME} #{CI_JOB_ID}", "{CI_JOB_URL}", "{GITLAB_USER_LOGIN}"),
    Ci("Jenkins", "JENKINS_URL", "{JOB_NAME} #{BUILD_NUMBER}", "{BUILD_URL}", "{BUILD_USER_ID}"),
    Ci(
        "Buildkite",
        "BUILDKITE",
        "{BUILDKITE_PIPELINE_SLUG} #{BUILDKITE_BUILD_NUMBER}",
        "{BUILDKITE_BUILD_URL}",
        "{BUILDKITE_BUILD_CREATOR}",
    ),
    Ci("CI", "CI", "", "", ""),
)


def operator() -> dict[str, Any]:
    """The operator's OS user and host."""
    return {"user": getpass.getuser(), "host": socket.gethostname()}


def near_end(directory: Path, fingerprint: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What an audit says of the near end: the operator, and the tool that `directory`, host files and all, is used with.

    The operator's OS user, host, SSH key, git user and CI job. Of the tool our version and the commit of the checkout, None
    outside of one; `dirty`: tracked files differ from the commit, or host files are not in it. What is not known is None, as
    is what git does not say within 10 s. None of it is proven: a signature is.
    """
    from runbook import git  # what only looks asks none

    who = operator()
    user, revision, changed, strange = git.ask(directory, _USER, *_CHECKOUT)
    dirty = None if revision is None else bool(changed or strange)
    who |= {
        "sudo_user": os.environ.get("SUDO_USER"),
        "fingerprint": fingerprint or None,
        "git": git_user(user or ""),
        "ci": ci(os.environ),
    }
    return who, {"version": __version__, "revision": revision, "dirty": dirty}


def ci(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The CI job that runs this, None where none does."""
    system = next((one for one in _SYSTEMS if environ.get(one.marker) not in (None, "", "false")), None)
    if system is None:
        return None
    told = {"job": system.job, "url": system.url, "actor": system.actor}
    return {"system": system.name} | {key: _filled(form, environ) for key, form in told.items()}


def _filled(form: str, environ: Mapping[str, str]) -> str | None:
    """The form with its variables filled in, None where one of them is not set."""
    names = re.findall(r"\{(\w+)\}", form)
    if not names or any(not environ.get(name) for name in names):
        return None
    return form.format_map({name: environ[name] for name in names})


def git_user(told: str) -> str | None:
    """`Name <address>` by what git's configuration says of the user; None where it says neither."""
    values = dict(line.split(" ", 1) for line in told.splitlines() if " " in line)
    name, address = values.get("user.name", ""), values.get("user.email", "")
    return f"{name} <{address}>".strip() if name or address else None
