"""An access ACL as the kernel keeps it in an attribute, and as setfacl(1) takes it. Layout: linux/posix_acl_xattr.h."""

from __future__ import annotations

import struct

ATTRIBUTE = "system.posix_acl_access"
_VERSION = struct.pack("<I", 2)
_ENTRY = struct.Struct("<HHI")  # tag, permissions, id
_TAGS = {0x01: "u:", 0x02: "u:{}", 0x04: "g:", 0x08: "g:{}", 0x10: "m:", 0x20: "o:"}


def text(name: str, value: str) -> str:
    """The ACL in an attribute of that name and value (hexadecimal), as `u::rwx,u:12345:r-x,…`; empty where it holds none."""
    content = bytes.fromhex(value)
    entries = content[len(_VERSION) :]
    if name != ATTRIBUTE or not content.startswith(_VERSION) or len(entries) % _ENTRY.size:
        return ""
    found = list(_ENTRY.iter_unpack(entries))
    if any(tag not in _TAGS for tag, _, _ in found):
        return ""
    return ",".join(f"{_TAGS[tag].format(who)}:{_permissions(bits)}" for tag, bits, who in found)


def _permissions(bits: int) -> str:
    return "".join(letter if bits & bit else "-" for letter, bit in (("r", 4), ("w", 2), ("x", 1)))
