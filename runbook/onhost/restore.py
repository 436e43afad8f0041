"""`restore.sh`: a release put back by plain POSIX sh, for the night when neither Python nor we are there."""

from __future__ import annotations

import os
import shlex

from runbook.onhost import acl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_HEAD = """\
#!/bin/sh
# Puts back the files of this release. Run it as the user who owns them; restart the units yourself afterwards.
set -eu
objects=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd -P)/../../objects

has() { command -v "$1" >/dev/null; }

refuse() { # what
  printf '%s; nothing was restored\\n' "$1" >&2
  exit 1
}

whole() { # digest path
  [ -f "$objects/$1" ] || refuse "$objects/$1 is gone, which held $2"
  has sha256sum || return 0
  found=$(sha256sum <"$objects/$1")
  [ "${found%% *}" = "$1" ] || refuse "$objects/$1 is damaged, which held $2"
}

dress() { # file attribute value acl
  if has setfattr && setfattr -n "$2" -v "0x$3" -- "$1"; then return; fi
  if [ -n "$4" ] && has setfacl && setfacl --set "$4" -- "$1"; then return; fi
  printf 'not restored: %s of %s, for want of setfattr%s\\n' "$2" "$real" "${4:+ or setfacl}" >&2
}

put_back() { # digest real mode owner [attribute value acl]...
  digest=$1 real=$2 mode=$3 owner=$4 fresh="$2.runbook-restore"
  shift 4
  mkdir -p -- "$(dirname -- "$real")"
  rm -f -- "$fresh"
  # A copy of what is there carries its ACL and label; the bytes follow, and one rename makes it real.
  if [ -f "$real" ]; then
    cp --preserve=all -- "$real" "$fresh" 2>/dev/null || cp -p -- "$real" "$fresh"
    set --
  fi
  (umask 077 && cat -- "$objects/$digest" >"$fresh")
  chown -- "$owner" "$fresh"
  chmod -- "$mode" "$fresh"
  while [ $# -gt 0 ]; do
    dress "$fresh" "$1" "$2" "$3"
    shift 3
  done
  mv -f -- "$fresh" "$real"
  printf 'restored %s\\n' "$real"
}

has sha256sum || printf 'sha256sum is not here: the bytes are restored as they are\\n' >&2
"""
_TAIL = "sync\n"


def render(records: Sequence[Mapping[str, Any]], real_paths: Mapping[str, str]) -> bytes:
    """The script. `records` are the manifest's files, `real_paths` says where a symlink led when they were saved.

    Every object is looked at before the first file is touched.
    """
    checks = [_check(record) for record in records if record["sha256"] is not None]
    lines = [line for record in records for line in _lines(record, real_paths[record["path"]])]
    return os.fsencode(_HEAD + "".join(f"{line}\n" for line in (*checks, *lines)) + _TAIL)


def _check(record: Mapping[str, Any]) -> str:
    return f"whole {record['sha256']} {shlex.quote(record['path'])}"


def _lines(record: Mapping[str, Any], real: str) -> list[str]:
    path = shlex.quote(record["path"])
    if record["sha256"] is None:
        return [f"rm -f -- {path}", f"printf 'absent   %s\\n' {path}"]
    owner = f"{record['mode']:04o} {record['uid']}:{record['gid']}"
    lines = [f"put_back {record['sha256']} {shlex.quote(real)} {owner}{_attributes(record['xattrs'])}"]
    if record["link"] is not None:
        lines.append(
            f"[ -L {path} ] || {{ rm -f -- {path}; ln -s -- {shlex.quote(record['link'])} {path}; }}"
        )
    return lines


def _attributes(kept: Mapping[str, str]) -> str:
    """What a file that is gone gets back: each attribute's name, its value, and an ACL as setfacl(1) takes it."""
    return "".join(
        f" {shlex.quote(name)} {shlex.quote(value)} {shlex.quote(acl.text(name, value))}"
        for name, value in kept.items()
    )
