"""Variables of a host file: filled in before parsing, lines kept, every unknown name told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from runbook.errors import HostFileError
from runbook.inventory import load
from tests.inventory.cases import hosts_dir

if TYPE_CHECKING:
    from pathlib import Path

_LAB = {"lab": {"root": "/srv/a lab", "ssh_port": 2222, "ports": {"router": 30001}, "user": "me"}}
_TEXT = """\
# {# a comment of Jinja #}
ssh: {address: 127.0.0.1, port: {{ lab.ssh_port }}, user: {{ lab.user }}}
model: m
state_dir: "{{ lab.root }}/state"
units:
  server: {unit: s.service, url: "http://127.0.0.1:{{ lab.ports.router }}"}
"""


def test_variables_are_filled_in(tmp_path: Path) -> None:
    host = load("gpu1", hosts_dir=hosts_dir(tmp_path, _TEXT), variables=_LAB)
    assert (host.ssh.port, host.ssh.user) == (2222, "me")
    assert host.state_dir == "/srv/a lab/state"
    assert host.units[0].url == "http://127.0.0.1:30001"


def test_attributes_of_a_value_serve_as_well(tmp_path: Path) -> None:
    lab = SimpleNamespace(root="/srv", ssh_port=22, ports=SimpleNamespace(router=1), user="me")
    assert load("gpu1", hosts_dir=hosts_dir(tmp_path, _TEXT), variables={"lab": lab}).ssh.port == 22


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("ssh: gpu1\nmodel: {{ lab.rot }}\n", "hosts/gpu1.yml:2:1: 'dict object' has no attribute 'rot'"),
        ("ssh: gpu1\n\nmodel: {{ lib.root }}\n", "hosts/gpu1.yml:3:1: 'lib' is undefined"),
        (
            "ssh: gpu1\nmodel: {{ lab.root\n",
            "hosts/gpu1.yml:2:1: is no Jinja template: unexpected end of template",
        ),
        (
            "ssh: {{ ''.__class__ }}\n",
            "hosts/gpu1.yml:1:1: access to attribute '__class__' of 'str' object is unsafe.",
        ),
        ("ssh: gpu1\nmodel: {{ 'x' * 10 ** 10 }}\n", "hosts/gpu1.yml:2:1: only names are filled in"),
        ("ssh: gpu1\nmodel: {{ 1 / 0 }}\n", "hosts/gpu1.yml:2:1: only names are filled in"),
        (
            "ssh: gpu1\n{% for i in range(99999) %}{% endfor %}\n",
            "hosts/gpu1.yml:2:1: only names are filled in",
        ),
        ("ssh: gpu1\n{% include '/etc/shadow' %}\n", "hosts/gpu1.yml:2:1: only names are filled in"),
        (f"model: {{{{ {'[' * 5000} }}}}\n", "hosts/gpu1.yml:1:1: is no Jinja template: nested too deeply"),
    ],
)
def test_a_template_that_cannot_be_filled_in_names_its_line(text: str, want: str, tmp_path: Path) -> None:
    with pytest.raises(HostFileError) as refused:
        load("gpu1", hosts_dir=hosts_dir(tmp_path, text), variables=_LAB)
    assert len(refused.value.problems) == 1
    assert refused.value.problems[0].startswith(want)


def test_problems_after_a_variable_keep_their_line(tmp_path: Path) -> None:
    with pytest.raises(HostFileError) as refused:
        load("gpu1", hosts_dir=hosts_dir(tmp_path, _TEXT + "colour: blue\n"), variables=_LAB)
    assert refused.value.problems[0].startswith("hosts/gpu1.yml:7:1: colour: is no key here")
