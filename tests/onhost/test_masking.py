from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.audit.masked import masked
from runbook.onhost.journal import select
from runbook.onhost.masking import is_secret, mask_file, mask_logins, mask_text


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "API_KEY", "OPENAI_API_KEY", "PASSWORD", "DB_PASSWD", "my_secret", "KEY"]
)
def test_a_name_with_a_telling_word_is_a_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["MAX_TOKENS", "TOKENIZERS_PARALLELISM", "MONKEY", "SGLANG_DSV4_BF16_INDEX_K", "KEYBOARD"]
)
def test_a_name_that_only_resembles_one_is_not(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("HF_TOKEN=hf_abc PATH=/bin", "HF_TOKEN=*** PATH=/bin"),
        ('export API_KEY="a b c"; run', "export API_KEY=***; run"),
        ("export API_KEY='a b c'", "export API_KEY=***"),
        ("python -m x --api-key sk-1 --port 1", "python -m x --api-key *** --port 1"),
        ("--admin-api-key=sk-1", "--admin-api-key=***"),
        ("--hf-token 'x y' -v", "--hf-token *** -v"),
        ("--hf-token\tx -v", "--hf-token\t*** -v"),
        ("--max-tokens 8 --key-dtype bf16", "--max-tokens 8 --key-dtype bf16"),
        ("A=1 B=2", "A=1 B=2"),
    ],
)
def test_secrets_in_a_text_are_masked(text: str, want: str) -> None:
    assert mask_text(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("git clone https://ann:s3@git.example.net/x", "git clone https://ann:***@git.example.net/x"),
        ("https_proxy=http://:s3@p:1 http://h:30000/v1@x", "https_proxy=http://:***@p:1 http://h:30000/v1@x"),
        ('curl -H "Authorization: Bearer sk-1" x', 'curl -H "Authorization: Bearer ***" x'),
        ("{'authorization': 'Bearer sk-1'}", "{'authorization': 'Bearer ***'}"),
        ("http://127.0.0.1:30000/health, ann@example.net", "http://127.0.0.1:30000/health, ann@example.net"),
    ],
)
def test_logins_in_a_text_are_masked(text: str, want: str) -> None:
    assert mask_logins(text) == want
    assert masked(text) == want
    assert select(text, 1, None) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("Environment=API_KEY=x K=1", "Environment=API_KEY=*** K=1"),
        ('-Environment="HF_TOKEN=a b" K=1', '-Environment="HF_TOKEN=***" K=1'),
        ("+Environment=K=1", "+Environment=K=1"),
        ("export HF_TOKEN=x", "export HF_TOKEN=***"),
    ],
)
def test_secrets_of_a_unit_file_are_masked_in_the_file_and_in_a_diff_of_it(text: str, want: str) -> None:
    assert mask_file(text) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("export HF_TOKEN='one\ntwo'\nexec x\n", "export HF_TOKEN=***\n***\nexec x\n"),
        ('HF_TOKEN="one\\\ntwo" A=1\n', "HF_TOKEN=***\n*** A=1\n"),
        ("HF_TOKEN='a'\\''b' A=1\n", "HF_TOKEN=*** A=1\n"),
        ('HF_TOKEN=a"b c"d\\ e; A=1\n', "HF_TOKEN=***; A=1\n"),
        ("HF_TOKEN='left open and more\n", "HF_TOKEN=***\n"),
        ('HF_TOKEN=a"left open and more\n', "HF_TOKEN=***\n"),
        ("run --api-key 'one\ntwo' --x 1\n", "run --api-key ***\n*** --x 1\n"),
        ("run --api-key a'b c' --x 1\n", "run --api-key *** --x 1\n"),
    ],
)
def test_a_secret_is_masked_to_its_end_on_as_many_lines_as_it_has(text: str, want: str) -> None:
    assert mask_file(text) == want


@given(st.text(alphabet="A_TOKEN=KEY\"'\\ \n;$-x\0\r"))
def test_masking_keeps_the_number_of_lines(text: str) -> None:
    assert mask_file(text).count("\n") == text.count("\n")
