"""The variables worth following although nobody declared them: the engine's own, and those of the libraries under it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

PATTERNS = (r"SGLANG_\w+", r"SGL_\w+", r"VLLM_\w+", r"NCCL_\w+", r"CUDA_\w+", r"TORCH_\w+", r"PYTORCH_\w+")


def followed(names: Iterable[str]) -> re.Pattern[str]:
    """What matches the declared `names` and everything like them, as a whole word."""
    return re.compile(rf"(?<!\w)(?:{'|'.join((*PATTERNS, *map(re.escape, names)))})(?!\w)")
