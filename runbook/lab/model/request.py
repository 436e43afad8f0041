"""A chat request as the worker understood it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepseek_recipe import (
    ChatCompletionRequest,
    ConversationRequest,
    ConversionError,
    ConversionOptions,
    ModelVersion,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONTEXT_LIMIT = 131_072
_MAX_ROOM = 2**63


@dataclass(frozen=True, slots=True)
class Rendezvous:
    """Where prefill waits for decode, and under which number."""

    host: str
    port: int
    room: int


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One `POST /v1/chat/completions`: DeepSeek's reading of it and what only the server needs."""

    parsed: ConversationRequest
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]
    tool_choice: str
    stream: bool
    include_usage: bool
    ignore_eos: bool
    rendezvous: Rendezvous | None

    @property
    def thinking(self) -> bool:
        return self.parsed.conversation.thinking_mode


class RefusedRequestError(Exception):
    """The request is wrong; `status` and an OpenAI error body say how."""

    def __init__(self, status: int, message: str, *, kind: str = "invalid_request_error") -> None:
        self.status = status
        self.body: dict[str, Any] = {
            "error": {"message": message, "type": kind, "param": None, "code": status}
        }
        super().__init__(message)


def parse_request(raw: bytes, served_model: str) -> ChatRequest:
    """Read a request body.

    Raises RefusedRequestError: 404 for a model that is not served, 400 for everything else that is wrong.
    """
    body = _parse_object(raw)
    if body.get("model") != served_model:
        message = f"The model `{body.get('model')}` does not exist; this server serves `{served_model}`."
        raise RefusedRequestError(404, message, kind="NotFoundError")
    return ChatRequest(
        parsed=_convert(body, served_model),
        messages=body["messages"],
        tools=body.get("tools", ()),
        tool_choice=str(body.get("tool_choice", "auto")),
        stream=bool(body.get("stream", False)),
        include_usage=bool(body.get("stream_options", {}).get("include_usage", False)),
        ignore_eos=_boolean(body, "ignore_eos"),
        rendezvous=_rendezvous(body),
    )


def _parse_object(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RefusedRequestError(400, f"The body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise RefusedRequestError(400, "The body should be a JSON object")
    return {name: value for name, value in body.items() if value is not None}


def _convert(body: Mapping[str, Any], served_model: str) -> ConversationRequest:
    options = ConversionOptions(default_thinking_mode=False)
    options = options.with_model_alias(served_model, ModelVersion.DeepseekV4Pro)
    try:
        return ChatCompletionRequest(_for_deepseek(body)).convert(options)
    except ConversionError as error:
        raise RefusedRequestError(error.status_code, _message_of(error)) from None
    except (ValueError, TypeError) as error:
        raise RefusedRequestError(400, str(error)) from None


def _for_deepseek(body: Mapping[str, Any]) -> dict[str, Any]:
    """SGLang's spellings in DeepSeek's own: the newer name of max_tokens, and thinking as a template argument."""
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    template = body.get("chat_template_kwargs", {})
    if not isinstance(template, dict):
        raise RefusedRequestError(400, "chat_template_kwargs should be an object")
    thinking = template.get("thinking", template.get("enable_thinking"))
    added = {} if limit is None else {"max_tokens": limit}
    if thinking is not None and "thinking" not in body:
        added["thinking"] = {"type": "enabled" if thinking else "disabled"}
    return {**body, **added}


def _message_of(error: ConversionError) -> str:
    return str(json.loads(error.body)["error"]["message"])


def _boolean(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise RefusedRequestError(400, f"{name} should be true or false, found {value!r}")
    return value


def _rendezvous(body: Mapping[str, Any]) -> Rendezvous | None:
    if "bootstrap_room" not in body:
        return None
    host, port, room = (body.get(f"bootstrap_{name}") for name in ("host", "port", "room"))
    if not isinstance(room, int) or not 0 <= room < _MAX_ROOM:
        raise RefusedRequestError(400, f"bootstrap_room should be a number, found {room!r}")
    return Rendezvous(str(host or "127.0.0.1"), port if isinstance(port, int) else 0, room)
