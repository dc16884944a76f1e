"""Packets: one sample as a JSON object or as little-endian doubles, and back.

JSON: `{"t": 0.01, "q": [...], "tau": [...]}`, perhaps with `v`, `base_pose`, `wrench` and `token`. `wrench` is an
object with six numbers for each body, or six numbers alone where there is one contact.

Binary: the four bytes `DYN1`, then two unsigned 16-bit integers, the number of positions and what follows them, then
doubles: time, positions, and in this order those of velocities (1), torques (2), the pose of the base (4) and the
wrenches (8) whose bits are set. With bit 16 the bytes of the token are at the end.
"""

from __future__ import annotations

import hmac
import json
import struct
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from dynid.arrays import Array
from dynid.logs.log import POSE_COLUMNS, WRENCH_COLUMNS
from dynid.logs.streams.samples import MalformedSampleError, Sample, SampleForm

MOST_BYTES = 16_384
"""Bytes of the longest packet: of 100 joints, in JSON with all digits, it has 10 000."""

MAGIC = b"DYN1"
"""How binary packets begin."""

HEAD = struct.Struct("<4sHH")
"""Magic, number of positions, and bits of what follows."""

VELOCITY, TORQUE, BASE_POSE, WRENCHES, TOKEN = 1, 2, 4, 8, 16
"""Bits of what a binary packet has besides time and positions."""

KEYS = {"t", "q", "v", "tau", "base_pose", "wrench", "token"}
"""Keys of JSON packets."""


@dataclass(frozen=True)
class PacketReader:
    """Reads the packets of one robot.

    Attributes:
        form: What each sample must have.
        token: What each packet must know; None where any may come.
    """

    form: SampleForm
    token: str | None = None

    def read(self, packet: bytes) -> Sample:
        """The sample of a packet.

        Raises:
            MalformedSampleError: If it is none; says why.
        """
        if len(packet) > MOST_BYTES:
            raise MalformedSampleError("too-long")
        if packet[:4] == MAGIC:
            return self.form.checked(self._of_bytes(packet))
        if packet.lstrip()[:1] == b"{":
            return self.form.checked(self._of_json(packet))
        raise MalformedSampleError("unknown-format")

    def _of_json(self, packet: bytes) -> Sample:
        data = json_object(packet)
        if not data.keys() <= KEYS:
            raise MalformedSampleError("unknown-key")
        self._require_token(str(data.get("token", "")).encode(errors="replace"))
        time = numbers([data.get("t")])
        quantities = {name: None if data.get(key) is None else numbers(data[key]) for key, name in _JSON.items()}
        if quantities["position"] is None:
            raise MalformedSampleError("missing-key")
        return Sample(float(time[0]), wrenches=self._wrenches(data.get("wrench")), **quantities)  # type: ignore[arg-type]

    def _wrenches(self, stated: Any) -> dict[str, Array]:
        if stated is None:
            return {}
        if isinstance(stated, dict):
            return {str(body): numbers(wrench) for body, wrench in stated.items()}
        if len(self.form.contacts) != 1:
            raise MalformedSampleError("missing-key")
        return {self.form.contacts[0]: numbers(stated)}

    def _of_bytes(self, packet: bytes) -> Sample:
        if len(packet) < HEAD.size:
            raise MalformedSampleError("wrong-length")
        _, count, bits = HEAD.unpack_from(packet)
        torques, contacts = self.form.torques, self.form.contacts
        widths = [1, count]
        widths += [torques if bits & VELOCITY else 0, torques if bits & TORQUE else 0]
        widths += [POSE_COLUMNS if bits & BASE_POSE else 0, WRENCH_COLUMNS * len(contacts) if bits & WRENCHES else 0]
        end = HEAD.size + 8 * sum(widths)
        if count != self.form.positions:
            raise MalformedSampleError("wrong-count")
        if bits > VELOCITY + TORQUE + BASE_POSE + WRENCHES + TOKEN:
            raise MalformedSampleError("unknown-key")
        if len(packet) < end or (len(packet) > end and not bits & TOKEN):
            raise MalformedSampleError("wrong-length")
        self._require_token(packet[end:])
        values = np.frombuffer(packet, "<f8", sum(widths), HEAD.size).astype(float)
        time, q, v, tau, pose, wrench = np.split(values, np.cumsum(widths)[:-1])
        given = [part if len(part) else None for part in (tau, v, pose)]
        wrenches = dict(zip(contacts, wrench.reshape(-1, WRENCH_COLUMNS), strict=True)) if bits & WRENCHES else {}
        return Sample(float(time[0]), q, *given, wrenches=wrenches)

    def _require_token(self, given: bytes) -> None:
        if self.token is not None and not hmac.compare_digest(given, self.token.encode()):
            raise MalformedSampleError("wrong-token")


_JSON = {"q": "position", "tau": "torque", "v": "velocity", "base_pose": "base_pose"}


def json_object(text: bytes | str) -> dict[str, Any]:
    """A JSON object without NaN.

    Raises:
        MalformedSampleError: If it is none.
    """
    try:
        data = json.loads(text, parse_constant=_no_number)
    except MalformedSampleError:
        raise
    except (ValueError, RecursionError) as error:
        raise MalformedSampleError("not-json") from error
    if not isinstance(data, dict):
        raise MalformedSampleError("not-json")
    return data


def _no_number(_: str) -> NoReturn:
    raise MalformedSampleError("not-a-number")


def numbers(values: Any) -> Array:
    """A list of numbers as an array.

    Raises:
        MalformedSampleError: If it is none.
    """
    if not isinstance(values, list):
        raise MalformedSampleError("not-a-number")
    if any(value is None for value in values):
        raise MalformedSampleError("missing-key")
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        raise MalformedSampleError("not-a-number")
    try:
        return np.array(values, dtype=float)
    except OverflowError as error:  # an integer of 400 digits
        raise MalformedSampleError("not-a-number") from error


def json_packet(sample: Sample, token: str | None = None) -> bytes:
    """A sample as a JSON packet.

    >>> json_packet(Sample(0.5, np.array([0.1]), np.array([2.0])))
    b'{"t": 0.5, "q": [0.1], "tau": [2.0]}'
    """
    data: dict[str, Any] = {"t": sample.time}
    data |= {key: values.tolist() for key, name in _JSON.items() if (values := getattr(sample, name)) is not None}
    if sample.wrenches:
        data["wrench"] = {body: wrench.tolist() for body, wrench in sample.wrenches.items()}
    return json.dumps(data if token is None else data | {"token": token}).encode()


def binary_packet(sample: Sample, token: str | None = None) -> bytes:
    """A sample as a binary packet, whose wrenches are in the order in which it has them.

    >>> len(binary_packet(Sample(0.5, np.array([0.1]), np.array([2.0]))))
    32
    """
    parts = [(0, np.array([sample.time])), (0, sample.position), (VELOCITY, sample.velocity), (TORQUE, sample.torque)]
    parts += [(BASE_POSE, sample.base_pose)]
    parts += [(WRENCHES, wrench) for wrench in sample.wrenches.values()]
    bits = 0 if token is None else TOKEN
    for bit, values in parts:
        bits |= bit if values is not None else 0
    body = np.concatenate([values for _, values in parts if values is not None]).astype("<f8")
    return HEAD.pack(MAGIC, len(sample.position), bits) + body.tobytes() + (token or "").encode()
