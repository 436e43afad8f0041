"""The models a server offers, as it lists them at `/v1/models`."""

from __future__ import annotations

from typing import Any

MODELS_PATH = "/v1/models"


def names(document: Any) -> tuple[str, ...]:
    """Each model's name, and the root that is served under it; none where it is no such list."""
    listed = document.get("data") if isinstance(document, dict) else None
    cards = [card for card in listed if isinstance(card, dict)] if isinstance(listed, list) else []
    found = (card.get(key) for card in cards for key in ("id", "root"))
    return tuple(dict.fromkeys(name for name in found if name and isinstance(name, str)))
