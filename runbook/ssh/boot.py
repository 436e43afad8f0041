"""The one line that starts the helper, and the greeting by which its channel is found among login noise."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import NamedTuple

OLDEST = (3, 9)
# The helper's modules for a Python whose bytecode has this magic number.
Payload = Callable[[bytes], bytes]
# One line without ! $ \ ' so that sh, bash, zsh, tcsh and fish all pass it on as it is. The greeting repeats the
# nonce, which the line itself does not: a shell that echoes commands is not taken for an answer.
_BOOT = (
    "import binascii,sys,zlib;"
    'i=getattr(sys.stdin,"buffer",sys.stdin);o=getattr(sys.stdout,"buffer",sys.stdout);'
    'm=getattr(sys.modules.get("_frozen_importlib_external"),"MAGIC_NUMBER",b"");'
    'o.write(("NONCE"*2+" %d %d %s;"%(sys.version_info[:2]+(binascii.hexlify(m).decode(),))).encode());o.flush();'
    'n=int.from_bytes(i.read(4),"big");'
    'exec(compile(zlib.decompress(i.read(n)),"<runbook>","exec"))'
)


class Greeting(NamedTuple):
    """The Python that answered, the magic number of its bytecode, and what followed the greeting already."""

    version: tuple[int, int]
    magic: bytes
    rest: bytes


def boot_command(python: str, nonce: str) -> str:
    """The command line for the login shell. `nonce` is letters and digits."""
    return f"{shlex.quote(python)} -I -S -c '{_BOOT.replace('NONCE', nonce)}'"


def find_greeting(received: bytes, nonce: str) -> Greeting | None:
    """The greeting in what has been received so far, wherever it stands."""
    found = re.search(re.escape(nonce * 2).encode() + rb" (\d+) (\d+) ((?:[0-9a-f]{2})*);", received)
    if found is None:
        return None
    magic = bytes.fromhex(found[3].decode("ascii"))
    return Greeting((int(found[1]), int(found[2])), magic, received[found.end() :])


def payload_frame(payload: bytes) -> bytes:
    """What BOOT reads after its greeting."""
    return len(payload).to_bytes(4, "big") + payload
