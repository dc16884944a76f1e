"""What columns of a table are of a capture: coordinates of markers, and what force plates measured, by their names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PARTS = {"force": "f|force|grf|v|force_v", "moment": "m|t|moment|torque", "pressure": "p|c|cop|pressure|force_p"}
"""Words for what a force plate measures: forces, moments, and the centre of pressure."""

_UNIT = re.compile(r"\s*[\[(]([^\])]*)[\])]\s*$")
_MARKER = re.compile(r"(?P<label>.+?)(?:[\s_.:|/-]+(?P<axis>[xyz])|(?<=[A-Z0-9])(?P<low>[xyz]))", re.IGNORECASE)
_PLATE = re.compile(
    rf"(?P<before>(?:.*[\s_.:|/-])?)(?:{'|'.join(f'(?P<{part}>{words})' for part, words in PARTS.items())})"
    r"[\s_.:|/-]?(?P<axis>[xyz])[\s_.:|/-]?(?P<after>\d*)",
    re.IGNORECASE,
)
_FILLING = re.compile(r"ground|force|torque|moment|pressure|reaction|[\s_.:|/-]", re.IGNORECASE)
_TIME = re.compile(r"(.*[\s_.:|/-])?(time|t|seconds|timestamp)", re.IGNORECASE)
_FRAME = re.compile(r"(frame|sample|field)\W*", re.IGNORECASE)

Triple = tuple[int, int, int]
"""Columns of x, y and z."""


@dataclass(frozen=True)
class PlateColumns:
    """The columns of a force plate.

    Attributes:
        name: What the plate is called.
        parts: Columns of "force", "moment" and "pressure", by axis; some axes of moments may be missing.
    """

    name: str
    parts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Whether they make a wrench: all forces, and either moments or a centre of pressure in the ground."""
        others = [len(self.parts.get(part, {})) for part in ("moment", "pressure")]
        return len(self.parts.get("force", {})) == 3 and (others[0] == 3 or others[1] >= 2)


@dataclass(frozen=True)
class CaptureColumns:
    """The columns of a capture.

    Attributes:
        time: Column of time stamps; None where there is none.
        frame: Column of frame numbers; None where there is none.
        markers: Columns of the coordinates of each marker.
        plates: Columns of each force plate.
        units: Units that the names of columns state, by column.
    """

    time: int | None
    frame: int | None
    markers: Mapping[str, Triple]
    plates: tuple[PlateColumns, ...]
    units: Mapping[int, str]


def capture_columns(names: Sequence[str]) -> CaptureColumns:
    """The columns of a capture, by their names.

    >>> found = capture_columns(["time [s]", "LASI_x [mm]", "LASI_y [mm]", "LASI_z [mm]", "plate1_Fx", "2_force_vx"])
    >>> found.time, found.markers, found.units[1], [plate.name for plate in found.plates]
    (0, {'LASI': (1, 2, 3)}, 'mm', ['plate1', '2'])
    """
    units = {k: match.group(1).strip().lower() for k, name in enumerate(names) if (match := _UNIT.search(name))}
    plain = [_UNIT.sub("", name).strip() for name in names]
    plates, used = _plates(plain)
    triples: dict[str, dict[str, int]] = {}
    for k, name in enumerate(plain):
        match = None if k in used else _MARKER.fullmatch(name)
        if match and (match["axis"] or match["low"].islower()):
            axis = (match["axis"] or match["low"]).lower()
            triples.setdefault(match["label"], {}).setdefault(axis, k)
    markers = {label: (own["x"], own["y"], own["z"]) for label, own in triples.items() if len(own) == 3}
    time = next((k for k, name in enumerate(plain) if _TIME.fullmatch(name)), None)
    frame = next((k for k, name in enumerate(plain) if _FRAME.fullmatch(name)), None)
    return CaptureColumns(time, frame, markers, plates, units)


def _plates(names: Sequence[str]) -> tuple[tuple[PlateColumns, ...], set[int]]:
    """The force plates of columns, and which columns these are."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for k, name in enumerate(names):
        if match := _PLATE.fullmatch(name):
            part = next(part for part in PARTS if match[part])
            plate = _FILLING.sub("", match["before"]) + match["after"]
            found.setdefault(plate, {}).setdefault(part, {}).setdefault(match["axis"].lower(), k)
    # Markers may be called F or M: what has no forces is no plate.
    plates = [PlateColumns(name, parts) for name, parts in found.items() if "force" in parts]
    used = {k for plate in plates for part in plate.parts.values() for k in part.values()}
    return tuple(plates), used
