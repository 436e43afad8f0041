"""Serve scripts as Hypothesis writes them: quoting, continuations, comments, here-documents, several statements a line."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = ("K", "J", "SGLANG_OPT_USE_TOPK_V2", "_x1")
FOREIGN = ("A", "B9", "KK", "XK")
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)
values = st.one_of(
    st.sampled_from(["0", "1", "", "a b", "it's", '"', "$HOME", "`id`", "~", "a\\", "#x", "a\nb", "é｜"]),
    _TEXT,
)

names = st.sampled_from(NAMES)
_any_name = st.sampled_from(NAMES + FOREIGN)


def single(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def double(text: str) -> str:
    escaped = text
    for special in ("\\", '"', "$", "`"):
        escaped = escaped.replace(special, "\\" + special)
    return f'"{escaped}"'


def escaped(text: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "'\n'" if c == "\n" else "\\" + c for c in text)


_literal = st.one_of(
    st.sampled_from(
        ["0", "1", "''", '""', "a=b", "x,y", "a:b", "'a'\"b\"c\\ d", "$'t\\tn\\x41'", '"a\\\nb"', "a\\\nb"]
    ),
    st.builds(single, _TEXT),
    st.builds(double, _TEXT),
    st.builds(escaped, _TEXT),
)
_dynamic = st.sampled_from(
    ['"${BASE:-0}"', "$(echo 7)", "`echo 8`", "$((1+2))", '"a${BASE}b"', "~/x", '$(echo "a b" | tr a c)']
)
_value = st.one_of(_literal, _literal, _literal, _dynamic)


@st.composite
def _own_default(draw: st.DrawFn) -> str:
    name = draw(_any_name)
    return f'export {name}="${{{name}:-{draw(st.sampled_from(["0", "on"]))}}}"'


@st.composite
def _declaration(draw: st.DrawFn) -> str:
    keyword = draw(st.sampled_from(["export", "export", "export", "declare -x", "typeset -x", "declare -rx"]))
    gap = st.sampled_from([" ", " ", "  ", " \\\n", " \\\n    ", "\t"])
    words = draw(
        st.lists(
            st.one_of(st.tuples(_any_name, _value), st.tuples(_any_name, st.none())), min_size=1, max_size=4
        )
    )
    if keyword == "declare -rx":
        words = [(f"R{index}", value) for index, (_, value) in enumerate(words)]
    return keyword + "".join(
        draw(gap) + (name if value is None else f"{name}={value}") for name, value in words
    )


@st.composite
def _plain(draw: st.DrawFn) -> str:
    words = draw(
        st.lists(st.tuples(_any_name, st.sampled_from(["=", "=", "+="]), _value), min_size=1, max_size=3)
    )
    return " ".join(f"{name}{operator}{value}" for name, operator, value in words)


@st.composite
def _pair(draw: st.DrawFn) -> str:
    name, value = draw(_any_name), draw(_value)
    return f"{name}={value}" + draw(st.sampled_from(["; ", "\n"])) + f"export {name}"


@st.composite
def _nested(draw: st.DrawFn) -> str:
    body = draw(st.one_of(_declaration(), _plain(), st.just(":")))
    shape = draw(
        st.sampled_from(
            [
                "if true; then\n  {}\nfi",
                "if false; then {}; fi",
                "for i in 1 2; do\n{}\ndone",
                "( {} )",
                "{{ {}; }}",
                "{{\n  {}\n}}",
                "f() {{\n  {}\n}}",
                "f() {{ {}; }}\nf",
                "true && {}",
                "false || {}",
                "{} | cat",
                "{} &\nwait",
                "case x in x) {};; esac",
                "! {}",
            ]
        )
    )
    return str(shape.format(body))


@st.composite
def _here_document(draw: st.DrawFn) -> str:
    name = draw(_any_name)
    delimiter, dash = draw(st.sampled_from([("EOF", ""), ("'EOF'", ""), ('"E F"', ""), ("EOF", "-")]))
    body = draw(st.sampled_from([f"export {name}=5\n", f"{name}=1 # x\n\n", "$(\n", "", "a\\\n"]))
    body = body if delimiter != "EOF" or body[-2:] not in ("(\n", "\\\n") else "b\n"
    end = delimiter.strip("'\"")
    after = draw(st.sampled_from(["", f"; export {name}=3", " | cat", "; cat <<X\nq\nX\n"]))
    if after.startswith("; cat"):
        return f"cat <<{dash}{delimiter}; cat <<X\n{body}{end}\nexport {name}=9\nX"
    return f"cat <<{dash}{delimiter}{after}\n{body}{end}"


_noise = st.one_of(
    st.sampled_from(
        [
            "# export K=1",
            "# export K=1 \\",
            "eval export K=6",
            "exec {J}> /dev/null",
            "",
            "   ",
            "echo 'export K=2'",
            'echo "\nexport J=3\n"',
            "ARGS=(a K=1 'J=2')",
            "set -e",
            "set -u",
            "set -a",
            "set +a",
            "set -o allexport",
            "cd /",
            ': "${K:-0}"',
            'echo "K=${K:-}" $((1 + 1))',
            "unset K",
            "unset -v J _x1",
            "export -n K",
            ": ${J:=5}",
            "export",
            "BASE=$(echo base)",
            'export PATH="$PATH:/opt/bin"',
            "exec 3>&1",
            "true",
            '[ -n "$HOME" ] && echo home',
            "while read -r K; do :; done < /dev/null",
            "read -r J <<< x",
            "builtin export K=4",
            'export "K=5"',
            "readonly J=1",
            "((K=3))",
            "$EMPTY export K=7",
            "${EMPTY} unset K",
            "$EMPTY set -a",
            "$(true) declare -x J=7",
            "command -p export J=2",
            "export K=1 -n",
            "export -p K=8",
            "shopt -so allexport",
            "unset 'K[0]'",
            "printf -v 'J[0]' 5",
            "eval 'unset K'",
            "g() { local K=3; echo $K; }; g",
            "if true; then set -a; fi",
            ': "${!EMPTY:=4}"',
            'echo "${!EMPTY}"',
            "PER=$((8 / NONE))",
            "trap 'K=9' EXIT",
            '[ -n "$NONE" ] && exec python other',
            "if false; then exec sglang serve; fi",
            "echo x | xargs echo",
        ]
    ),
    st.builds("# {}".format, st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n"), max_size=10)),
)
_statement = st.one_of(
    _declaration(), _declaration(), _plain(), _pair(), _own_default(), _nested(), _here_document(), _noise
)


@st.composite
def launches(draw: st.DrawFn) -> str:
    """The launching command with prefixes and wrappers."""
    prefix = "".join(f"{n}={v} " for n, v in draw(st.lists(st.tuples(_any_name, _literal), max_size=2)))
    wrapper = draw(
        st.sampled_from(
            [
                "",
                "exec ",
                "nohup ",
                "exec nice -n 5 ",
                "exec -a n ",
                "timeout 5 ",
                "env ",
                "exec env ",
                "env -i ",
                "env -u K ",
                "env - ",
                "env -vu K ",
                "exec builtin command ",
                "command exec ",
                "builtin exec env -i ",
                "$EMPTY ",
                "$EMPTY env ",
                "exec prlimit --nofile=64 ",
                "exec prlimit --nofile=64 env ",
            ]
        )
    )
    words = ""
    if "env" in wrapper:
        words = "".join(f"{n}={v} " for n, v in draw(st.lists(st.tuples(_any_name, _literal), max_size=2)))
    command = draw(st.sampled_from(["python -m sglang.launch_server", "python3", '"$(command -v python)"']))
    arguments = draw(
        st.sampled_from(["", " --port 30000", " \\\n  --x 1 \\\n  --y", " K=1", ' "$@"', " > /dev/null 2>&1"])
    )
    tail = draw(
        st.sampled_from(["", "", " &\nwait", "\n# end\nexport K=after", "; exit 0", " || exit 3", " | cat"])
    )
    return f"{prefix}{wrapper}{words}{command}{arguments}{tail}"


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """A whole serve script."""
    head = draw(
        st.sampled_from(
            [
                "",
                "#!/bin/bash\n",
                "#!/usr/bin/env bash\n# serve\nset -euo pipefail\n",
                "#!/bin/bash\n# a\n\n# b\n",
            ]
        )
    )
    body = "".join(draw(st.lists(_lines(), max_size=7)))
    return head + body + draw(launches()) + draw(st.sampled_from(["\n", "\n", ""]))


@st.composite
def _lines(draw: st.DrawFn) -> str:
    """A statement with what ends it: a newline, a semicolon, a comment or a blank line."""
    statement: str = draw(_statement).rstrip(" ")
    indent = draw(st.sampled_from(["", "", "  "]))
    if not statement or "#" in statement or "<<" in statement or statement.endswith("wait"):
        return f"{indent}{statement}\n"
    return indent + statement + draw(st.sampled_from(["\n", "\n", "\n", "; ", "  # c\n", "\n\n", " ;\n"]))
