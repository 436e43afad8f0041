from __future__ import annotations

import pytest

from runbook.load import address


@pytest.mark.parametrize("behind", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_the_root_is_what_stands_before_v1(behind: str) -> None:
    assert address.root(f"http://192.0.2.1:8000/api{behind}") == "http://192.0.2.1:8000/api"
