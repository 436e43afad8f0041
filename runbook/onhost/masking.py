"""Secrets stay on the host: values of variables and options whose names say what they are become `***`."""

from __future__ import annotations

import re

MASK = "***"
_WORDS = "TOKEN|KEY|APIKEY|SECRET|PASSWORD|PASSWD|CREDENTIALS?"
# A whole word of the name: HF_TOKEN is a secret, MAX_TOKENS and TOKENIZERS_PARALLELISM are not.
_NAME = re.compile(rf"(?:^|_)(?:{_WORDS})(?:_|$)", re.IGNORECASE)
# A shell word: quoted and plain pieces side by side, over several lines too; a quote left open reaches to the line's end.
_VALUE = r"""((?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|\\[\s\S]|[^\s;"'\\])+(?:["'].*)?|["'].*)"""
_ASSIGNED = re.compile(r"\b([A-Za-z_][A-Za-z0-9_]*)=(?!=)")
_ITS_VALUE = re.compile(_VALUE)
_MASKED = re.compile(r"""\*\*\*["']""")  # what a pair of quotes holds, masked before
_OPTION = re.compile(rf"(--(?:[a-z0-9]+-)*(?:token|key|secret|password)[= \t])[ \t]*{_VALUE}", re.IGNORECASE)
# What no name announces: the password of a URL's login, and what an Authorization header carries.
_LOGIN = re.compile(r"(://[^\s/@:]*:)[^\s/@]+@")
_HEADER = re.compile(r"""(\bauthorization["']?[:=] ?["']?(?:bearer|basic|token) )[^\s"']+""", re.IGNORECASE)
# The word after such an option is a secret: --api-key, --hf_token; a --tokenizer-path is none.
_SECRET_OPTION = re.compile(
    r"--?(?:[A-Za-z0-9]+[-_])*(?:token|key|apikey|secret|password|passwd|credentials?)", re.IGNORECASE
)
# `Environment=NAME=value` of unit files, in a diff's lines too; and what a pair of quotes holds there.
_ENVIRONMENT = re.compile(r"^([-+]?[^\S\n]*Environment[^\S\n]*=)(.*)$", re.MULTILINE)
# A backslash frees what follows, or is the last of it: no character can be read in two ways, or time would double with each.
_QUOTED = re.compile(r"""(["'])([A-Za-z_][A-Za-z0-9_]*)=((?:\\.|(?!\1)[^\\\n])*\\?)\1""")


def is_secret(name: str) -> bool:
    """Does a variable's name say that its value is a secret?"""
    return _NAME.search(name) is not None


def is_secret_option(name: str) -> bool:
    """Does an option's name (with its dashes) say that its value is a secret?"""
    return _SECRET_OPTION.fullmatch(name) is not None


def mask(name: str, value: str) -> str:
    """The value, or the mask where the name says it is a secret."""
    return MASK if is_secret(name) else value


def mask_text(text: str) -> str:
    """A text with every secret assignment (`HF_TOKEN=…`) and option (`--api-key …`) masked."""
    return _OPTION.sub(lambda found: f"{found[1]}{_masked(found[2])}", _mask_assigned(text))


def mask_logins(text: str) -> str:
    """A text to be kept or shown, never read again, with the logins of its URLs and Authorization headers masked."""
    return _HEADER.sub(rf"\1{MASK}", _LOGIN.sub(rf"\1{MASK}@", text))


def _masked(value: str) -> str:
    """The mask, on as many lines as the value had: a diff's lines are masked by the file they come from."""
    return "\n".join([MASK] * (value.count("\n") + 1))


def _mask_assigned(text: str) -> str:
    """The values of secret names masked; another name's value is looked into: `Environment=HF_TOKEN=…`."""
    kept, at = [], 0
    for found in _ASSIGNED.finditer(text):
        if found.start() < at or not is_secret(found[1]) or _MASKED.match(text, found.end()):
            continue
        value = _ITS_VALUE.match(text, found.end())
        if value is not None:
            kept += [text[at : found.end()], _masked(value[0])]
            # Of `api_key='x', port=1` the comma is the list's; it says nothing where it is the secret's own.
            at = value.end() - value[0].endswith(",")
    return "".join([*kept, text[at:]])


def mask_file(text: str) -> str:
    """A script, unit file or environment file, or a diff of one, with its secrets masked."""
    text = _QUOTED.sub(lambda found: f"{found[1]}{found[2]}={mask(found[2], found[3])}{found[1]}", text)
    return mask_text(_ENVIRONMENT.sub(lambda found: found[1] + mask_text(found[2]), text))
