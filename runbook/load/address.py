"""Addresses of servers as people give them."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

CHAT_PATH = "/v1/chat/completions"
INFO_PATHS = ("/server_info", "/get_server_info")
"""Where a worker of SGLang tells its version and arguments: each knows one of them, the newer name first."""


def is_http(text: str) -> bool:
    """Whether it can be the root of an API: what stands in it goes into a request line as it is."""
    if not (text.isascii() and text.isprintable()) or set(text) & set(" ?#"):
        return False
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:  # of an unfinished IPv6 address, of a port that is none
        return False


def root(url: str) -> str:
    """What stands before /v1: people give the root, the API's, or the chat's own URL."""
    return url.rstrip("/").removesuffix(CHAT_PATH).removesuffix("/v1").rstrip("/")


def has_secret(url: str) -> bool:
    """Whether a user or password stands in it: a URL is shown and kept."""
    return "@" in urlsplit(url).netloc


def without_secret(url: str) -> str:
    """The URL without the user and password it may carry."""
    return re.sub(r"(?<=//)[^/?#]*@", "***@", url)
