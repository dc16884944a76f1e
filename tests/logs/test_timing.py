"""Time stamps: what is found in them, what is refused, and even ones instead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.errors import InvalidRequestError
from dynid.findings import Severity
from dynid.logs.log import Log
from dynid.logs.tables import RecordingError
from dynid.logs.timing import check_time, findings_on_time, require_order, resampled, split_at_resets


def recording(time: np.ndarray, *, velocity: bool = True) -> Log:
    q = np.column_stack([np.sin(time), time])
    v = np.column_stack([np.cos(time), np.ones_like(time)])
    return Log(time, q, 3 * q, v if velocity else None)


def codes(time: np.ndarray) -> list[str]:
    return [finding.code for finding in findings_on_time(check_time(time))]


@given(st.integers(3, 500), st.floats(2, 9000), st.floats(-1e3, 1e3))
def test_even_stamps_have_a_rate_and_no_findings(count: int, rate: float, start: float) -> None:
    timing = check_time(start + np.arange(count) / rate)
    assert timing.rate == pytest.approx(rate, rel=1e-6)
    assert timing.is_even
    assert timing.samples == count
    assert not list(findings_on_time(timing))


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 0.2))
def test_jitter_is_the_standard_deviation_of_the_steps(seed: int, jitter: float) -> None:
    steps = 1e-3 * (1 + jitter * np.random.default_rng(seed).uniform(-1, 1, 2000))
    timing = check_time(np.cumsum(steps))
    assert timing.jitter == pytest.approx(jitter / np.sqrt(3), rel=0.1)  # deviation of a uniform distribution
    assert not timing.is_even
    assert timing.is_ordered
    assert codes(np.cumsum(steps)) == ["time-jitter"]


def test_gaps_are_found_with_their_place_and_length() -> None:
    time = np.delete(np.arange(100) / 100, [10, 50, 51, 52])
    timing = check_time(time, first_row=2)
    assert [index for index, _ in timing.gaps] == [9, 48]
    assert [step for _, step in timing.gaps] == pytest.approx([0.02, 0.04])
    assert timing.largest_step == pytest.approx(0.04)
    assert timing.jitter < 1e-9
    (finding,) = findings_on_time(timing)
    assert (finding.code, finding.severity) == ("time-gaps", Severity.WARNING)
    assert finding.values == pytest.approx({"count": 2, "limit": 1.5, "period_ms": 10.0, "longest_ms": 40.0, "row": 50})


def test_time_that_goes_backwards_is_refused_with_its_row() -> None:
    timing = check_time(np.array([0, 0.1, 0.2, 0.1, 0.2, 0.0, 0.1]), first_row=2)
    assert [index for index, _ in timing.resets] == [3, 5]
    with pytest.raises(RecordingError, match=r"log.csv: time goes backwards by 0.1 s in row 5 \(and 1 more\); cut"):
        require_order(timing, "log.csv")
    finding = next(findings_on_time(timing))
    assert (finding.code, finding.severity) == ("time-backwards", Severity.ERROR)
    assert finding.values == {"row": 5, "count": 2}


def test_repeated_stamps_are_refused_with_their_row() -> None:
    timing = check_time(np.array([0, 0.1, 0.2, 0.2, 0.3]))
    assert timing.repeats == (3,)
    with pytest.raises(RecordingError, match="row 4 repeats the time of the row before; remove"):
        require_order(timing, "log.csv")
    finding = next(findings_on_time(timing))
    assert (finding.code, finding.values) == ("time-repeated", {"row": 4, "count": 1})


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_steps_too_long_for_a_robot_suggest_another_unit(unit: str, factor: float) -> None:
    (finding,) = findings_on_time(check_time(factor * np.arange(50) / 1000))
    assert (finding.code, finding.values["unit"]) == ("time-steps-long", unit)


def test_steps_too_short_for_a_robot_suggest_another_unit() -> None:
    assert codes(1e-3 * np.arange(50) / 1000) == ["time-steps-short"]


@pytest.mark.parametrize("time", [[], [1.0], [1.0, 1.0], [2.0, 1.0]])
def test_time_that_never_advances_is_refused(time: list[float]) -> None:
    with pytest.raises(InvalidRequestError, match="never advances"):
        check_time(np.array(time))


def test_splitting_leaves_pieces_in_order() -> None:
    time = np.array([0, 0.1, 0.2, 0.2, 0.3, 0.0, 0.1, 0.2])
    first, second = split_at_resets(recording(time))
    assert first.time.tolist() == [0, 0.1, 0.2, 0.3]
    assert second.time.tolist() == [0, 0.1, 0.2]
    assert np.array_equal(second.position[:, 1], second.time)
    assert (first.findings[0].code, first.findings[0].values) == ("samples-repeated", {"count": 1})
    assert second.findings == ()
    assert all(check_time(piece.time).is_ordered for piece in (first, second))


@given(st.integers(0, 2**32 - 1))
def test_resampling_keeps_straight_lines_and_follows_curves(seed: int) -> None:
    time = 1e9 + np.cumsum(np.random.default_rng(seed).uniform(0.5e-3, 1.5e-3, 300))
    log = recording(time)
    log = Log(time, np.column_stack([np.sin(9 * (time - time[0])), time]), log.torque)
    (even,) = resampled(log, 1000.0, longest_gap=1.0)
    assert check_time(even.time).is_even
    assert even.velocity is None
    assert np.allclose(even.position[:, 0], np.sin(9 * (even.time - time[0])), atol=1e-6)
    assert np.allclose(even.position[:, 1], even.time, rtol=1e-15)
    assert np.allclose(even.torque[:, 1], 3 * even.time, rtol=1e-15)
    assert even.time[0] == time[0]
    assert time[-1] - 1e-3 - 1e-6 < even.time[-1] <= time[-1] + 1e-6


@pytest.mark.parametrize("positions", ["linear", "cubic"])
def test_resampling_even_samples_at_their_rate_changes_nothing(positions: str) -> None:
    log = recording(np.arange(50) / 100)
    (even,) = resampled(log, 100.0, longest_gap=1.0, positions=positions)  # pyright: ignore[reportArgumentType]
    assert len(even) == 50
    assert np.allclose(even.position, log.position, rtol=0, atol=1e-14)
    assert even.velocity is not None
    assert log.velocity is not None
    assert np.allclose(even.velocity, log.velocity, rtol=0, atol=1e-14)


def test_long_gaps_are_not_crossed_and_short_ones_are() -> None:
    time = np.delete(np.arange(100) / 100, [10, *range(40, 50), *range(51, 60)])
    pieces = resampled(recording(time), 100.0, longest_gap=0.05)
    assert [len(piece) for piece in pieces] == [40, 40]
    assert [piece.time[0] for piece in pieces] == [0, 0.6]
    assert pieces[0].findings[-1].code == "samples-isolated"
    assert pieces[0].findings[-1].values == pytest.approx({"count": 1, "gap_ms": 50.0})


def test_fewer_samples_than_logged_bring_a_warning() -> None:
    (even,) = resampled(recording(np.arange(50) / 100), 20.0, longest_gap=1.0)
    assert [finding.code for finding in even.findings] == ["time-resampled", "time-resampled-slower"]


def test_resampling_needs_sense() -> None:
    log = recording(np.arange(5) / 100)
    for rate, gap in ((0.0, 1.0), (np.inf, 1.0), (np.nan, 1.0), (1.0, 0.0)):
        with pytest.raises(InvalidRequestError, match="must be positive"):
            resampled(log, rate, longest_gap=gap)
    with pytest.raises(InvalidRequestError, match="split the log at resets first"):
        resampled(recording(np.array([0, 0.1, 0.1])), 10.0, longest_gap=1.0)


def test_resampling_takes_commands_and_gains_along() -> None:
    t = np.sort(np.random.default_rng(0).uniform(0.0, 1.0, 200))
    q, gains = np.stack([t, 2.0 * t], axis=1), np.full(2, 20.0)
    log = Log(time=t, position=q, torque=q, position_command=q, velocity_command=q, kp=gains, kd=gains)
    (even,) = resampled(log, 100.0, longest_gap=1.0)
    assert even.position_command is not None
    np.testing.assert_allclose(even.position_command, even.torque, atol=1e-12)
    np.testing.assert_allclose(even.commands.kp, 20.0)
    assert len(even.commands.kd) == len(even)
