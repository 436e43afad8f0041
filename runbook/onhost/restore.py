"""`restore.sh`: a release put back by plain POSIX sh, for the night when neither Python nor we are there."""

from __future__ import annotations

import os
import shlex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_HEAD = """\
#!/bin/sh
# Puts back the files of this release. Run it as the user who owns them; restart the units yourself afterwards.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)

put_back() { # saved real mode owner
  mkdir -p -- "$(dirname -- "$2")"
  fresh="$2.runbook-restore"
  rm -f -- "$fresh"
  # A copy of what is there carries its ACL and label; the bytes follow, and one rename makes it real.
  if [ -f "$2" ]; then cp -p -- "$2" "$fresh"; fi
  cat -- "$here/files$1" >"$fresh"
  chown -- "$4" "$fresh"
  chmod -- "$3" "$fresh"
  mv -f -- "$fresh" "$2"
  printf 'restored %s\\n' "$2"
}

"""
_TAIL = "sync\n"


def saved(release: str, path: str) -> str:
    """Where a release keeps a file's bytes."""
    return os.path.join(release, "files") + path


def render(records: Sequence[Mapping[str, Any]], real_paths: Mapping[str, str]) -> bytes:
    """The script. `records` are the manifest's files, `real_paths` says where a symlink led when they were saved."""
    lines = [line for record in records for line in _lines(record, real_paths[record["path"]])]
    return os.fsencode(_HEAD + "".join(f"{line}\n" for line in lines) + _TAIL)


def _lines(record: Mapping[str, Any], real: str) -> list[str]:
    path = shlex.quote(record["path"])
    if record["sha256"] is None:
        return [f"rm -f -- {path}", f"printf 'absent   %s\\n' {path}"]
    lines = [f"put_back {path} {shlex.quote(real)} {record['mode']:04o} {record['uid']}:{record['gid']}"]
    if record["link"] is not None:
        lines.append(
            f"[ -L {path} ] || {{ rm -f -- {path}; ln -s -- {shlex.quote(record['link'])} {path}; }}"
        )
    return lines
