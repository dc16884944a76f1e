"""C3D files to captures: labels, units, markers among points, and force plates by their parameters."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dynid.arrays import Array
from dynid.findings import Finding
from dynid.logs.captures import CHANNELS, LENGTHS, CaptureParts, ForcePlate, length_unit
from dynid.logs.captures.plate_channels import plate_pose, plate_wrench, saturated_samples
from dynid.logs.readers.isolated import Progress, RecordingError, asked, silent

COMPUTED = ("ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS", "REACTIONS")
"""Parameters of POINT that list points which are no markers: what software computed and stored beside them."""


@dataclass(frozen=True, eq=False)
class C3DContent:
    """What a C3D file holds.

    Attributes:
        path: The file.
        points: Points in the file's unit, shape (samples, points, 3); NaN where one was not seen.
        analogs: Analog channels, scaled as the file states, shape (samples, channels).
        parameters: Parameters by group and name.
        rates: Rates [Hz] of "points" and "analogs".
    """

    path: Path
    points: Array
    analogs: Array
    parameters: Mapping[str, Mapping[str, Any]]
    rates: Mapping[str, float]

    def values(self, group: str, name: str) -> list[Any]:
        """A parameter as a list; lists that go on under other names (LABELS2) are whole. Empty where it is missing."""
        own = self.parameters.get(group, {})
        found = list(own.get(name, ()))
        k = 2
        while f"{name}{k}" in own:
            found += own[f"{name}{k}"]
            k += 1
        return found

    def array(self, name: str, *shape: int) -> Array | None:
        """Numbers of FORCE_PLATFORM of a shape, whose last dimension is that of plates; None where they are not so."""
        values = np.asarray(self.values("FORCE_PLATFORM", name) or np.zeros(0), dtype=float)
        if values.ndim == len(shape) and values.size:
            values = values[..., None]  # of a single plate
        fits = values.ndim == len(shape) + 1 and all(n >= m for n, m in zip(values.shape, shape, strict=False))
        return values if fits else None


def read_c3d(path: Path, stated_unit: str | None = None, progress: Progress = silent) -> CaptureParts:
    """Read a C3D file, in a process of its own: it is untrusted, and its reader may crash.

    Args:
        path: The file.
        stated_unit: The unit of lengths, where that of the file is wrong.
        progress: Callback; receives a short description of each step.

    Raises:
        RecordingError: If it cannot be read, or holds nothing of use.
    """
    with tempfile.TemporaryDirectory(prefix="dynid-") as folder:
        answer = asked(path, {"reader": "c3d", "out": str(Path(folder).absolute())}, progress)
        points, analogs = (np.load(Path(folder) / f"{name}.npy") for name in ("points", "analogs"))
    content = C3DContent(path, points, analogs, answer["parameters"], answer["rates"])
    rate = content.rates["points"]
    if not rate > 0.0:
        raise RecordingError(path, f"its points have the rate of {rate:g} Hz; state POINT:RATE in the file")
    units = [str(unit).strip() for unit in content.values("POINT", "UNITS")]
    stated = units[0].lower() if units and units[0] else ""
    if stated and stated not in LENGTHS:
        raise RecordingError(path, f"its points have the unit '{units[0]}'; known are {', '.join(LENGTHS)}")
    labels, kept, findings = _markers(content)
    unit, notes = length_unit(points[:, kept], stated_unit or stated, path.name)
    findings += notes if stated_unit is None else []
    plates, notes = _plates(content, unit)
    return CaptureParts(
        time=np.arange(len(points)) / rate,
        markers=unit * points[:, kept],
        labels=labels,
        plates=tuple(plates),
        up=_up(content),
        unit=stated,
        path=path,
        findings=(*findings, *notes),
        zero=_zero(content),
    )


def _markers(content: C3DContent) -> tuple[tuple[str, ...], list[int], list[Finding]]:
    """Labels of the points that are markers, which points they are, and what was noticed."""
    labels = [str(label).strip() for label in content.values("POINT", "LABELS")][: content.points.shape[1]]
    labels += [""] * (content.points.shape[1] - len(labels))
    computed = {str(name).strip() for group in COMPUTED for name in content.values("POINT", group)}
    nameless = [k for k, label in enumerate(labels) if not label.lstrip("*").strip() or label.startswith("*")]
    kept = [k for k, label in enumerate(labels) if k not in nameless and label not in computed]
    if not kept:
        found = f"it has {len(labels)} points, and none with a label" if labels else "it has no points"
        raise RecordingError(content.path, f"{found}; label the markers, and export it again")
    findings = []
    if nameless:
        findings.append(Finding.of("markers-without-label", content.path.name, count=len(nameless)))
    return tuple(labels[k] for k in kept), kept, findings


def _up(content: C3DContent) -> str:
    """The axis that points upward on screens as the file states it, such as "+z"; empty where it does not."""
    stated = [str(text).strip().lower() for text in content.values("POINT", "Y_SCREEN")]
    if stated and stated[0].lstrip("+-") in ("x", "y", "z"):
        return stated[0] if stated[0][0] in "+-" else f"+{stated[0]}"
    return ""


def _zero(content: C3DContent) -> tuple[float, float] | None:
    """The stretch [s] in which plates are said to be unloaded: FORCE_PLATFORM:ZERO counts samples from 1."""
    frames = np.ravel(content.values("FORCE_PLATFORM", "ZERO")).astype(float)
    if len(frames) < 2 or not 0.0 < frames[0] < frames[1]:
        return None
    rate = content.rates["points"]
    return (float(frames[0]) - 1.0) / rate, float(frames[1]) / rate


def _plates(content: C3DContent, unit: float) -> tuple[list[ForcePlate], list[Finding]]:
    """The force plates, and what was noticed."""
    used = np.ravel(content.values("FORCE_PLATFORM", "USED"))
    plates, findings = list[ForcePlate](), list[Finding]()
    for k in range(int(used[0]) if len(used) else 0):
        name = f"plate {k + 1}"
        made = _plate(content, k, name, unit)
        if isinstance(made, str):
            findings.append(Finding.of("plate-left-out", name, reason=made))
        else:
            plates.append(made[0])
            findings += made[1]
    return plates, findings


def _plate(content: C3DContent, k: int, name: str, unit: float) -> tuple[ForcePlate, list[Finding]] | str:
    """One force plate with what was noticed, or why there is none."""
    kinds = np.ravel(content.values("FORCE_PLATFORM", "TYPE"))
    kind = int(kinds[k]) if k < len(kinds) else 0
    if kind not in CHANNELS:
        return f"its type is {kind or 'not stated'}, and types 1 to 4 are known"
    corners, channel = content.array("CORNERS", 3, 4), content.array("CHANNEL", CHANNELS[kind])
    if corners is None or k >= corners.shape[2]:
        return "FORCE_PLATFORM:CORNERS does not state where it is"
    if channel is None or k >= channel.shape[1]:
        return f"FORCE_PLATFORM:CHANNEL does not state its {CHANNELS[kind]} channels"
    own = channel[: CHANNELS[kind], k].astype(int) - 1
    if own.min() < 0 or own.max() >= content.analogs.shape[1]:
        return f"its channels are {(own + 1).tolist()}, and the file has {content.analogs.shape[1]}"
    places = unit * corners[:, :4, k].T
    frame = plate_pose(places)
    if frame is None:
        return "its corners span no surface"
    matrix = _matrix(content, k) if kind == 4 else None
    if isinstance(matrix, str):
        return matrix
    origin, findings = _origin(content, k, name, unit)
    signals = content.analogs[:, own]
    if kind == 1:
        signals = np.where(np.isfinite(signals) | ~np.isin(range(6), (3, 4)), signals, 0.0)  # unloaded: 0 / 0
    if not np.isfinite(signals).all():
        return "its channels hold NaN or infinite numbers"
    findings += list(_on_saturation(content, own, signals, name))
    wrench = plate_wrench(kind, signals, origin, _moment_unit(content, own, kind, unit), matrix)
    time = np.arange(len(signals)) / content.rates["analogs"]
    return ForcePlate(name, time, wrench, frame, places), findings


def _matrix(content: C3DContent, k: int) -> Array | str:
    """The calibration matrix of a plate of type 4, (6, 6), or why there is none."""
    matrices = content.array("CAL_MATRIX", 6, 6)
    if matrices is None or k >= matrices.shape[2]:
        return "it is of type 4, and FORCE_PLATFORM:CAL_MATRIX has no matrix for it"
    return np.asarray(matrices[:6, :6, k], dtype=float)


def _origin(content: C3DContent, k: int, name: str, unit: float) -> tuple[Array, list[Finding]]:
    """FORCE_PLATFORM:ORIGIN [m]; the surface is above the sensors, so that its sign is known."""
    origins = content.array("ORIGIN", 3)
    if origins is None or k >= origins.shape[1]:
        return np.zeros(3), [Finding.of("plate-origin-missing", name)]
    origin = unit * origins[:3, k]
    if origin[2] > 0.0:
        # The whole vector was written the other way round: from the surface to the sensors.
        return -origin, [Finding.of("plate-origin-turned-round", name, depth=float(origin[2]))]
    return origin, []


def _moment_unit(content: C3DContent, own: Sequence[int] | np.ndarray, kind: int, unit: float) -> float:
    """The unit of moments [N m] as the channels state it; else newtons times the file's length.

    Channels before calibration are volts, and a calibration matrix gives moments in the file's length as well.
    """
    if kind in (1, 4):
        return unit
    units = [str(text).strip().lower() for text in content.values("ANALOG", "UNITS")]
    stated = [units[k] for k in own[3:] if k < len(units)]
    found = Counter(text.replace(" ", "").replace(".", "").replace("*", "").replace("·", "") for text in stated)
    common = found.most_common(1)[0][0] if found else ""
    return {"nm": 1.0, "nmm": 0.001, "ncm": 0.01}.get(common, unit)


def _on_saturation(content: C3DContent, own: np.ndarray, signals: Array, name: str) -> Iterator[Finding]:
    """Channels that reach the end of their range."""
    labels = [str(label).strip() for label in content.values("ANALOG", "LABELS")]
    for k, channel in zip(own.tolist(), signals.T, strict=True):
        count = saturated_samples(channel)
        if count:
            label = labels[k] if k < len(labels) and labels[k] else f"channel {k + 1}"
            yield Finding.of("plate-saturated", name, channel=label, samples=count)
