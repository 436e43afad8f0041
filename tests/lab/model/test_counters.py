from __future__ import annotations

from runbook.lab.model.counters import Counters, render_metrics


def test_metrics_carry_sglangs_names_and_labels() -> None:
    text = render_metrics(Counters(running=3, generation_tokens=7), model="m", role="decode")
    assert 'sglang:num_running_reqs{model_name="m",engine_type="decode"} 3\n' in text
    assert 'sglang:generation_tokens_total{model_name="m",engine_type="decode"} 7\n' in text
    assert "# TYPE sglang:generation_tokens_total counter\n" in text


def test_a_model_name_cannot_break_the_format() -> None:
    text = render_metrics(Counters(), model='a"b\\c\nd', role="decode")
    assert 'model_name="a\\"b\\\\c\\nd"' in text


def test_the_hit_rate_is_cached_over_prompt_tokens() -> None:
    assert Counters(prompt_tokens=200, cached_tokens=50).cache_hit_rate == 0.25
    assert Counters().cache_hit_rate == 0.0
