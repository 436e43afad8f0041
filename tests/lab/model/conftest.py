from __future__ import annotations

import pytest

from runbook.lab.model.language import Language, load_language


@pytest.fixture(scope="session")
def language() -> Language:
    return load_language()
