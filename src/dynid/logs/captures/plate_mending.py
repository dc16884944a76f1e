"""Force plates: what they show while nobody stands on them, signs, units of moments, and pressure beside them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding, Severity
from dynid.logs.captures.capture import ForcePlate


@dataclass(frozen=True)
class PlateThresholds:
    """When a force plate is unloaded, and when it is said to be wrong.

    Calibrated by `benchmarks/capture_checks.py`: simulated captures with and without these errors.
    """

    window: float = 0.1
    """Time [s] over which a force is averaged. By judgement."""

    steady: float = 3.0
    """Standard deviation of the vertical force in a window, in that of the quietest tenth of all, up to which the plate
    may be unloaded. Calibrated on good captures."""

    unloaded: float = 40.0
    """Vertical force [N] up to which a plate may be unloaded: offsets are smaller, and a foot that stands presses
    more. By judgement."""

    fewest: int = 3
    """Windows without load, one after the other, that make a stretch; those at its ends do not count. By judgement."""

    touch: float = 6.0
    """Distance of the vertical force in a window from the median of its neighbours, in standard deviations of such
    distances, from which something touches the plate there. Calibrated on good captures."""

    around: int = 7
    """Windows of which that median is. By judgement."""

    loaded: float = 30.0
    """Vertical force [N] beyond the offset from which somebody stands on a plate. By judgement."""

    drift: float = 2.0
    """Change of the vertical force without load [N] that is said to be drift. Calibrated on good captures."""

    offset: float = 1.0
    """Offset of a force [N], and half of it of a moment [N m], from which on it is worth saying. By judgement."""

    beside: float = 1.15
    """Distance of the centre of pressure from the middle, in half the plate's side, that is beside the plate: in the
    median of loaded samples. By judgement."""

    unit: float = 20.0
    """The same distance from which moments are in another unit. By judgement."""


THRESHOLDS = PlateThresholds()


def mended_plates(
    plates: Sequence[ForcePlate], zero: tuple[float, float] | None = None
) -> tuple[tuple[ForcePlate, ...], list[Finding]]:
    """Plates whose wrenches are those on the body, without offsets, with findings.

    Args:
        plates: The plates, in a world whose z axis points upward.
        zero: The stretch [s] in which the file says that they are unloaded; used where they are.
    """
    found, findings, turned = list[ForcePlate](), list[Finding](), list[str]()
    for plate in plates:
        offset = _unloaded_wrench(plate, zero)
        made = replace(plate, wrench=plate.wrench - offset.wrench)
        loaded = _loaded(made)
        if loaded.any() and float(_upward(made)[loaded].mean()) < 0.0:
            made = replace(made, wrench=-made.wrench)
            turned.append(plate.name)
        factor = _moment_factor(made, loaded)
        made = replace(made, wrench=made.wrench * np.repeat([1.0, factor], 3))
        found.append(made)
        findings += [*_on_offset(plate, offset, factor), *_on_pressure(made, loaded, factor)]
        if not loaded.any():
            findings.append(Finding.of("plate-not-used", plate.name))
    if turned:
        # Files have either sign: which one was meant is certain, since plates cannot pull.
        some = len(turned) < sum(bool(_loaded(plate).any()) for plate in found)
        severity = Severity.WARNING if some else None
        findings.append(Finding.of("plate-wrench-turned-round", ", ".join(turned), severity))
    return tuple(found), findings


def _upward(plate: ForcePlate) -> Array:
    """The vertical force in the world [N], shape (samples,)."""
    return np.asarray(plate.wrench[:, :3] @ plate.pose[2, :3])


def _loaded(plate: ForcePlate) -> np.ndarray:
    """When somebody stands on a plate whose offset is taken out, shape (samples,)."""
    return np.abs(_upward(plate)) > THRESHOLDS.loaded


@dataclass(frozen=True, eq=False)
class _Offset:
    """What a plate shows unloaded.

    Attributes:
        wrench: That wrench, shape (6,), or (samples, 6) where it drifts.
        mean: Its mean, shape (6,).
        drift: By how much the force changes most [N].
        seconds: How long the plate is unloaded [s].
    """

    wrench: Array
    mean: Array
    drift: float
    seconds: float


def _unloaded_wrench(plate: ForcePlate, zero: tuple[float, float] | None) -> _Offset:
    """What a plate shows unloaded, followed where it drifts; zero where it never is."""
    time, means = _unloaded(plate, zero)
    if not len(time):
        return _Offset(np.zeros(6), np.zeros(6), 0.0, 0.0)
    mean, drift, seconds = means.mean(axis=0), _drift(time, means), len(time) * THRESHOLDS.window
    if abs(drift) <= THRESHOLDS.drift:
        return _Offset(mean, mean, 0.0, seconds)
    stamps, knots = _knots(time, means)
    followed = np.column_stack([np.interp(plate.time, stamps, column) for column in knots.T])
    return _Offset(followed, mean, drift, seconds)


def _on_offset(plate: ForcePlate, offset: _Offset, factor: float) -> Iterator[Finding]:
    """Findings on what a plate shows unloaded, with its moments times a factor."""
    if not offset.seconds:
        yield Finding.of("plate-never-unloaded", plate.name)
    elif offset.drift:
        yield Finding.of("plate-drifts", plate.name, drift=offset.drift, seconds=float(np.ptp(plate.time)))
    else:
        mean = offset.mean * np.repeat([1.0, factor], 3)
        if (np.abs(mean) > THRESHOLDS.offset * np.repeat([1.0, 0.5], 3)).any():
            shown = [f"{x:+.1f}" for x in mean]
            yield Finding.of("plate-offset", plate.name, offset=shown, seconds=offset.seconds)


def _unloaded(plate: ForcePlate, zero: tuple[float, float] | None) -> tuple[Array, Array]:
    """Middles [s] and mean wrenches of the windows in which a plate is unloaded, shapes (n,) and (n, 6)."""
    step = float(plate.time[-1] - plate.time[0]) / max(len(plate) - 1, 1)
    width = max(4, round(THRESHOLDS.window / step)) if step else len(plate)
    count = len(plate) // width
    if count < THRESHOLDS.fewest:
        return np.zeros(0), np.zeros((0, 6))
    blocks = plate.wrench[: count * width].reshape(count, width, 6)
    upward = _upward(plate)[: count * width].reshape(count, width)
    middles = plate.time[: count * width].reshape(count, width).mean(axis=1)
    spread, level = upward.std(axis=1), upward.mean(axis=1)
    # Plates that are set to zero where nobody stands on them have no noise there.
    quiet = (
        spread <= THRESHOLDS.steady * float(np.quantile(spread[spread > 0.0], 0.1)) if spread.any() else spread == 0.0
    )
    may_be = quiet & (np.abs(level) < THRESHOLDS.unloaded)
    if zero is not None:
        stated = (middles > zero[0]) & (middles < zero[1])
        may_be |= stated & (np.abs(level) < THRESHOLDS.unloaded) & quiet
    kept = np.zeros(count, dtype=bool)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], may_be, [False]]).astype(np.int8)))
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        if last - first >= THRESHOLDS.fewest:
            kept[first + (first > 0) : last - (last < count)] = True  # somebody may just come or go
    kept[kept] = ~_touched(level[kept])
    return middles[kept], blocks[kept].mean(axis=1)


def _touched(level: Array) -> np.ndarray:
    """Windows without load in which something touches the plate for a moment, by mean forces [N], shape (windows,)."""
    half = THRESHOLDS.around // 2
    if len(level) < THRESHOLDS.around:
        return np.zeros(len(level), dtype=bool)
    ends = np.pad(level, half, mode="edge")
    away = np.abs(level - np.median(np.lib.stride_tricks.sliding_window_view(ends, THRESHOLDS.around), axis=1))
    return np.asarray(away > THRESHOLDS.touch * max(float(np.median(away)) / 0.6745, 1e-9))


def _drift(time: Array, means: Array) -> float:
    """By how much the vertical force without load changes over the capture [N]: a line through all windows."""
    if len(time) < 2 * THRESHOLDS.fewest or np.ptp(time) == 0.0:
        return 0.0
    strongest = means[:, :3]
    slopes = np.polyfit(time, strongest, 1)[0] * np.ptp(time)
    return float(slopes[np.argmax(np.abs(slopes))])


def _knots(time: Array, means: Array) -> tuple[Array, Array]:
    """Lines through each stretch without load, as stamps [s] and wrenches at their ends, shapes (n,) and (n, 6)."""
    stamps, knots = list[float](), list[Array]()
    for part in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) > 1.5 * THRESHOLDS.window) + 1):
        t, degree = time[part], 1 if len(part) > 2 * THRESHOLDS.fewest else 0
        line = np.polyfit(t - t[0], means[part], degree)
        for at in (t[0], t[-1]) if len(part) > 1 else (t[0],):
            stamps.append(float(at))
            knots.append(np.vander([at - t[0]], degree + 1)[0] @ line)
    return np.array(stamps), np.array(knots)


def _moment_factor(plate: ForcePlate, loaded: np.ndarray) -> float:
    """What moments must be multiplied with to be in newton metres, by where the centre of pressure is."""
    if not loaded.any() or plate.corners is None:
        return 1.0
    reach = _reach(plate, loaded)
    if np.median(reach) > THRESHOLDS.unit:
        return 1e-3
    largest = float(np.quantile(reach, 0.95))
    return 1e3 if 0.0 < largest < 2e-3 * THRESHOLDS.beside else 1.0


def _on_pressure(plate: ForcePlate, loaded: np.ndarray, factor: float) -> Iterator[Finding]:
    """Findings on where the centre of pressure of a plate is."""
    if factor != 1.0:
        yield Finding.of("plate-moment-unit", plate.name, factor=factor)
    if plate.corners is None or not loaded.any():
        return
    if np.median(reach := _reach(plate, loaded)) > THRESHOLDS.beside:
        yield Finding.of("plate-pressure-beside", plate.name, reach=float(np.median(reach)))


def _reach(plate: ForcePlate, loaded: np.ndarray) -> Array:
    """How far the centre of pressure is from the plate's middle, in half its sides, shape (loaded samples,)."""
    assert plate.corners is not None
    half = 0.5 * np.linalg.norm([plate.corners[0] - plate.corners[1], plate.corners[0] - plate.corners[3]], axis=1)
    at = pressure(plate, loaded)
    return np.asarray(np.max(np.abs(at) / half, axis=1))


def pressure(plate: ForcePlate, rows: np.ndarray) -> Array:
    """The centre of pressure on a plate's surface, along its x and y axes [m], shape (rows, 2)."""
    _, _, z, mx, my, _ = plate.wrench[rows].T
    return np.column_stack([-my / z, mx / z])
