"""Who runs this, in which CI job, and from which revision of the checkout: what an audit says of the near end."""

from __future__ import annotations

import getpass
import os
import re
import socket
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from runbook import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_GIT_S = 10.0


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


def operator(directory: Path, fingerprint: str, *, audited: bool) -> dict[str, Any]:
    """The operator: OS user and host; where it is `audited` also SSH key, git's user in `directory`, and the CI job.

    What is not known is None. None of it is proven: a signature is.
    """
    who: dict[str, Any] = {"user": getpass.getuser(), "host": socket.gethostname()}
    if not audited:
        return who
    return who | {
        "sudo_user": os.environ.get("SUDO_USER"),
        "fingerprint": fingerprint or None,
        "git": git_user(directory),
        "ci": ci(os.environ),
    }


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


def git_user(directory: Path) -> str | None:
    """`Name <address>` as git knows the user in `directory`; None where it does not."""
    found = _git(directory, "config", "--get-regexp", r"^user\.(name|email)$") or ""
    values = dict(line.split(" ", 1) for line in found.splitlines() if " " in line)
    name, address = values.get("user.name", ""), values.get("user.email", "")
    return f"{name} <{address}>".strip() if name or address else None


def tool(directory: Path) -> dict[str, Any]:
    """Our version, and the commit of the checkout that `directory` (host files and all) is in; None where it is in none.

    `dirty`: tracked files differ from the commit, or host files are not in it.
    """
    revision = _git(directory, "rev-parse", "--verify", "HEAD")
    changed = _git(directory, "status", "--porcelain", "--untracked-files=no", "--", ":/")
    strange = _git(directory, "ls-files", "--others", "--exclude-standard", "--", "hosts")
    dirty = None if revision is None else bool(changed or strange)
    return {"version": __version__, "revision": revision, "dirty": dirty}


def _git(directory: Path, *words: str) -> str | None:
    """What git answers, None where there is no git or it has no answer."""
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(directory), *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_S,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
