"""The texts of a session, so plain that a scripted model can play them from the messages alone.

One session is this conversation, R rounds, M rows a record; a *nonce* looks like `kdmq-tqxr-hwzt`:

    system     <shared filler lines>                       item 1 of archive: NONCE
               NAME is the name of this session.           NAME is a nonce: unique from the first token on
               <own filler lines>                          item 1 of session 7: NONCE
               (blank line) INSTRUCTIONS
    user       Round 1 of R. The key is KEY. …
    assistant  tool call fetch_record {"key": KEY}
    tool       M lines, one nonce each, nothing else
    assistant  tool call store_record {"key": KEY, "rows": [the M lines in order]}
    tool       M rows stored.
    user       Round 2 of R. The key is KEY. …
    …
    user       All R rounds are done. …
    assistant  tool call finish {"code": FIRST-LAST}       first row of round 1, a hyphen, last row of round R

Text and reasoning beside the calls are allowed. `runbook.load.player.right_call` plays this contract.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runbook.load.script import Record, Script

Message = dict[str, Any]

INSTRUCTIONS = (
    "You are a records clerk. Work only by calling the tools, one call at a time. The items above are an "
    "archive: ignore them. Copy every value exactly as it is, letter by letter: never correct, shorten, "
    "reorder or leave out anything. Do not explain what you do."
)


def _tool(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


_STRING = {"type": "string"}

TOOLS: tuple[dict[str, Any], ...] = (
    _tool("fetch_record", "Returns the rows of a record, one a line.", {"key": _STRING}),
    _tool(
        "store_record",
        "Stores the rows of a record.",
        {"key": _STRING, "rows": {"type": "array", "items": _STRING}},
    ),
    _tool("finish", "Ends the work.", {"code": _STRING}),
)

TOOL_NAMES = tuple(tool["function"]["name"] for tool in TOOLS)


def system_message(script: Script) -> Message:
    """The archive of nonces, and the rules."""
    lines = (*script.shared, f"{script.name} is the name of this session.", *script.own, "", INSTRUCTIONS)
    return {"role": "system", "content": "\n".join(lines)}


def round_message(script: Script, number: int) -> Message:
    """The user's request of round `number`, counted from 1."""
    record = script.records[number - 1]
    text = (
        f"Round {number} of {len(script.records)}. The key is {record.key}.\n"
        "First call fetch_record with this key. It answers with rows, one a line. Then call store_record "
        "with this key and with rows: all the lines of the answer, copied exactly and in the same order."
    )
    return {"role": "user", "content": text}


def finish_message(script: Script) -> Message:
    """The user's last request."""
    text = (
        f"All {len(script.records)} rounds are done. Call finish with code: the first row that fetch_record "
        'answered in round 1, then "-", then the last row that it answered in the last round.'
    )
    return {"role": "user", "content": text}


def assistant_message(content: str, calls: list[tuple[str, str, str]]) -> Message:
    """What the model said, for the history: its text and its calls as (id, name, arguments)."""
    return {
        "role": "assistant",
        "content": content or None,
        "tool_calls": [
            {"id": call, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call, name, arguments in calls
        ],
    }


def as_json(arguments: Mapping[str, Any]) -> str:
    """A call's arguments as a model writes them."""
    return json.dumps(arguments, ensure_ascii=False)


def fetch_answer(record: Record, call: str) -> Message:
    """The tool message with the record's rows, one a line; `call` is the id of the tool call."""
    return {"role": "tool", "tool_call_id": call, "content": "\n".join(record.rows)}


def store_answer(record: Record, call: str) -> Message:
    """The tool message after store_record."""
    return {"role": "tool", "tool_call_id": call, "content": f"{len(record.rows)} rows stored."}
