from __future__ import annotations

import pytest

from runbook.onhost import acl

OWNER, GROUP, OTHER = "01000600ffffffff", "04000400ffffffff", "20000000ffffffff"


def test_an_acl_is_told_as_setfacl_takes_it() -> None:
    more = "02000700e8030000" + "08000100f4010000" + "10000700ffffffff"
    assert acl.text(acl.ATTRIBUTE, f"02000000{OWNER}{GROUP}{OTHER}") == "u::rw-,g::r--,o::---"
    assert acl.text(acl.ATTRIBUTE, f"02000000{more}") == "u:1000:rwx,g:500:--x,m::rwx"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("user.owner", f"02000000{OWNER}"),
        (acl.ATTRIBUTE, ""),
        (acl.ATTRIBUTE, "02000000"),
        (acl.ATTRIBUTE, f"03000000{OWNER}"),
        (acl.ATTRIBUTE, f"02000000{OWNER[:-2]}"),
        (acl.ATTRIBUTE, f"0200000040000600ffffffff{OWNER}"),
    ],
    ids=["another attribute", "nothing", "no entries", "another version", "cut short", "an unknown tag"],
)
def test_what_is_no_acl_is_told_as_none(name: str, value: str) -> None:
    assert acl.text(name, value) == ""
