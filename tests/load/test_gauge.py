from __future__ import annotations

import pytest

from runbook.load.bench.request import RawStream
from runbook.load.gauge import Gauge, Reservoir, peak_overlap


@pytest.mark.parametrize(
    ("spans", "peak"),
    [
        ([], 0),
        ([(1, 2)], 1),
        ([(1, 3), (2, 4)], 2),
        ([(1, 2), (3, 4)], 1),
        ([(1, 1), (1, 1)], 2),
        ([(1, 9), (2, 3), (4, 5)], 2),
    ],
)
def test_the_peak_is_the_most_spans_at_one_moment(spans: list[tuple[float, float]], peak: int) -> None:
    assert peak_overlap(spans) == peak


def test_streams_count_from_their_first_event() -> None:
    gauge, first, second = Gauge(), RawStream(1), RawStream(2)
    with gauge.watching(first), gauge.watching(second):
        first.reads += [(0.0, b"HTTP/1.1 200 OK"), (1.0, b"data: a"), (2.0, b"b"), (4.0, b"c")]
        assert (gauge.in_flight, gauge.peak(), gauge.reads) == (2, 1, 4)
        second.reads += [(2.0, b": wait\n\nda"), (3.0, b"ta: a"), (5.0, b"b")]
    assert (gauge.in_flight, gauge.peak(), gauge.reads, gauge.peak_in_flight) == (0, 2, 7, 2)
    assert gauge.gap_median_s() == 1.0


def test_a_stream_that_only_was_greeted_does_not_run() -> None:
    gauge, raw = Gauge(), RawStream(1)
    with gauge.watching(raw):
        raw.reads += [(1.0, b"HTTP/1.1 200 OK\r\n\r\n"), (2.0, b": keep-alive\n\n")]
    assert gauge.peak() == 0


def test_a_request_without_an_answer_is_no_stream() -> None:
    gauge = Gauge()
    with gauge.watching(RawStream(1)):
        pass
    assert (gauge.peak(), gauge.peak_in_flight, gauge.gap_median_s()) == (0, 1, None)


def test_a_reservoir_stays_small_and_keeps_the_middle() -> None:
    reservoir = Reservoir(size=500)
    for value in range(20_000):
        reservoir.add(float(value))
    assert reservoir.quantile(0.5) == pytest.approx(10_000, rel=0.15)
