"""What a file carries besides its bytes comes through an edit and a rollback; and a changed host key stops everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.system.boot.commands import run
from tests.system.service import laying

if TYPE_CHECKING:
    from pathlib import Path

    from tests.system.hosts import TestHost
    from tests.system.operators import Operator

pytestmark = pytest.mark.system

SCRIPT = laying.script("decode")
# acl(5) as the kernel keeps it: version 2; owner rwx, user 12345 r-x, group r-x, mask r-x, others none.
SET = """
import os, struct, sys
entries = ((1, 7, -1), (2, 5, 12345), (4, 5, -1), (16, 5, -1), (32, 0, -1))
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
os.setxattr(sys.argv[1], "system.posix_acl_access", acl)
os.setxattr(sys.argv[1], "trusted.owner", b"serving")
os.chown(sys.argv[1], 12345, 54321)
"""
SHOW = """
import os, sys
path = sys.argv[1]
shown = {name: os.getxattr(path, name).hex() for name in sorted(os.listxattr(path)) if not name.startswith("trusted.overlay")}
status = os.stat(path)
print(oct(status.st_mode), status.st_uid, status.st_gid, shown)
"""


def python(host: TestHost, program: str, path: str) -> str:
    return host.run(["python3", "-I", "-S", "-c", program, path])


def test_acl_attributes_owner_and_mode_come_through_a_deploy_and_a_rollback(
    operator: Operator, host: TestHost
) -> None:
    python(host, SET, SCRIPT)
    before = python(host, SHOW, SCRIPT)
    assert "system.posix_acl_access" in before
    assert "trusted.owner" in before
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
    assert (host.read(SCRIPT), python(host, SHOW, SCRIPT)) == (laying.after("decode"), before)
    assert operator.run("rollback", "gpu1").code == 0
    assert (host.read(SCRIPT), python(host, SHOW, SCRIPT)) == (laying.before("decode"), before)


def test_a_script_that_is_gone_comes_back_with_all_it_carried(operator: Operator, host: TestHost) -> None:
    python(host, SET, SCRIPT)
    before = python(host, SHOW, SCRIPT)
    assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
    host.run(["rm", SCRIPT])
    assert operator.run("rollback", "gpu1", force=True).code == 0
    assert (host.read(SCRIPT), python(host, SHOW, SCRIPT)) == (laying.before("decode"), before)


@pytest.mark.parametrize(
    ("hidden", "lost"),
    [((), ()), (("setfattr",), ("trusted.owner",))],
    ids=["with setfattr", "with setfacl alone"],
)
def test_restore_sh_brings_a_script_that_is_gone_back_with_what_it_carried(
    operator: Operator, host: TestHost, hidden: tuple[str, ...], lost: tuple[str, ...]
) -> None:
    python(host, SET, SCRIPT)
    before = python(host, SHOW, SCRIPT)
    deployed = operator.run("deploy", "gpu1", skip_validation=True)
    assert deployed.code == 0
    host.run(["rm", SCRIPT])
    tools = ("python3", *hidden)
    host.sh("; ".join(f"mv /usr/bin/{tool} /usr/bin/{tool}.hidden" for tool in tools))
    try:
        said = host.sh(f"{laying.STATE}/releases/{deployed.document['parent']}/restore.sh 2>&1")
    finally:
        host.sh("; ".join(f"mv /usr/bin/{tool}.hidden /usr/bin/{tool}" for tool in tools))
    assert host.read(SCRIPT) == laying.before("decode")
    assert [line.split()[2] for line in said.splitlines() if line.startswith("not restored:")] == list(lost)
    for name in lost:
        python(host, f"import os, sys; os.setxattr(sys.argv[1], {name!r}, b'serving')", SCRIPT)
    assert python(host, SHOW, SCRIPT) == before


def test_a_linked_script_stays_a_link_and_its_target_keeps_what_it_carries(
    operator: Operator, host: TestHost
) -> None:
    host.sh(f"mkdir -p /srv/live; mv {SCRIPT} /srv/live/decode.sh; ln -s ../srv/live/decode.sh {SCRIPT}")
    try:
        python(host, SET, "/srv/live/decode.sh")
        before = python(host, SHOW, "/srv/live/decode.sh")
        assert operator.run("deploy", "gpu1", skip_validation=True).code == 0
        assert host.run(["readlink", SCRIPT]).strip() == "../srv/live/decode.sh"
        assert host.read("/srv/live/decode.sh") == laying.after("decode")
        assert python(host, SHOW, "/srv/live/decode.sh") == before
    finally:
        host.sh(f"rm -rf {SCRIPT} /srv/live")


def test_a_host_whose_key_changed_is_reached_no_further_and_both_keys_are_shown(
    operator: Operator, host: TestHost, tmp_path: Path
) -> None:
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")])
    known = tmp_path / "known_hosts"
    kind, key, *_ = (tmp_path / "other.pub").read_text().split()
    known.write_text(f"{host.address} {kind} {key}\n")
    operator.describe("gpu1", laying.host_file(host, ssh={**laying.ssh_of(host), "known_hosts": str(known)}))
    for action in ("plan", "deploy", "rollback"):
        refused = operator.run(action, "gpu1")
        assert refused.code == 7
        assert refused.document["error"].count("SHA256:") == 2
    assert host.read(SCRIPT) == laying.before("decode")
    assert host.sh(f"ls {laying.STATE} 2>/dev/null || true") == ""
