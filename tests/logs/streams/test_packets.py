"""Packets: what is sent is read, and nothing else is."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dynid.logs.streams.packets import MAGIC, MOST_BYTES, PacketReader, binary_packet, json_packet
from dynid.logs.streams.samples import REASONS, MalformedSampleError, Sample, SampleForm

FORM = SampleForm(3, 3)
BODY = SampleForm(2, 2, ("left_foot", "right_foot"), needs_pose=True, needs_torque=False)
POSE = np.array([0.1, 0.2, 0.9, 0.0, 0.0, 0.6, 0.8])
SAMPLE = Sample(0.25, np.array([0.1, -0.2, 0.3]), np.array([1.0, 2.0, 3.0]))

numbers = st.floats(-1e6, 1e6, allow_nan=False)


def refused(packet: bytes, form: SampleForm = FORM, token: str | None = None) -> str:
    with pytest.raises(MalformedSampleError) as caught:
        PacketReader(form, token).read(packet)
    return caught.value.kind


@given(numbers, arrays(float, 3, elements=numbers), arrays(float, 3, elements=numbers), st.booleans(), st.booleans())
def test_what_is_sent_is_read(t: float, q: np.ndarray, tau: np.ndarray, has_v: bool, binary: bool) -> None:
    sample = Sample(t, q, tau, 0.5 * q if has_v else None)
    write = binary_packet if binary else json_packet
    found = PacketReader(FORM, "t" * 20).read(write(sample, "t" * 20))
    assert found.time == t
    assert np.array_equal(found.position, q)
    assert np.array(found.torque).tolist() == tau.tolist()
    assert (found.velocity is None) != has_v


@pytest.mark.parametrize("write", [binary_packet, json_packet])
def test_bodies_send_poses_and_wrenches(write) -> None:
    wrenches = {"left_foot": np.arange(6.0), "right_foot": -np.arange(6.0)}
    found = PacketReader(BODY).read(write(Sample(1.0, np.zeros(2), None, None, POSE, wrenches)))
    assert found.torque is None
    assert np.array(found.base_pose).tolist() == POSE.tolist()
    assert found.wrenches["right_foot"].tolist() == (-np.arange(6.0)).tolist()


def test_one_contact_needs_no_name() -> None:
    form = SampleForm(1, 1, ("sole",), needs_torque=False)
    found = PacketReader(form).read(b'{"t": 0, "q": [0.0], "wrench": [1, 2, 3, 4, 5, 6]}')
    assert found.wrenches["sole"].tolist() == [1, 2, 3, 4, 5, 6]


GOOD = {"t": 0.0, "q": [0.0, 0.0, 0.0], "tau": [0.0, 0.0, 0.0]}
HEAD = struct.pack("<4sHH", MAGIC, 3, 2)
MALFORMED = {
    b"": "unknown-format",
    b"hello": "unknown-format",
    b"{": "not-json",
    b"{" * 9000: "not-json",
    b'{"t": 1,}': "not-json",
    b"{" + b" " * MOST_BYTES: "too-long",
    b'{"t": NaN, "q": [0, 0, 0], "tau": [0, 0, 0]}': "not-a-number",
    json.dumps(GOOD | {"q": [0.0, 0.0]}).encode(): "wrong-count",
    json.dumps(GOOD | {"q": [0.0, 0.0, "x"]}).encode(): "not-a-number",
    json.dumps(GOOD | {"q": [0.0, 0.0, True]}).encode(): "not-a-number",
    json.dumps(GOOD | {"q": [0.0, 0.0, 10**400]}).encode(): "not-a-number",
    json.dumps(GOOD | {"q": {"a": 1}}).encode(): "not-a-number",
    json.dumps(GOOD | {"q": [1e200, 0.0, 0.0]}).encode(): "not-a-number",
    json.dumps({"t": 0.0, "q": [0.0, 0.0, 0.0]}).encode(): "missing-key",
    json.dumps({"q": [0.0, 0.0, 0.0], "tau": [0.0, 0.0, 0.0]}).encode(): "missing-key",
    json.dumps(GOOD | {"current": [1.0]}).encode(): "unknown-key",
    json.dumps(GOOD | {"wrench": {"hand": [0.0] * 6}}).encode(): "unknown-key",
    MAGIC: "wrong-length",
    HEAD + b"\0" * 8 * 6: "wrong-length",
    HEAD + b"\0" * (8 * 7 + 1): "wrong-length",
    struct.pack("<4sHH", MAGIC, 65535, 2): "wrong-count",
    struct.pack("<4sHH", MAGIC, 3, 0x8002) + b"\0" * 8 * 7: "unknown-key",
    HEAD + struct.pack("<7d", 0.0, np.inf, 0, 0, 0, 0, 0): "not-a-number",
    HEAD + struct.pack("<7d", np.nan, 0.0, 0, 0, 0, 0, 0): "not-a-number",
}


@pytest.mark.parametrize(("packet", "kind"), list(MALFORMED.items()))
def test_packets_are_refused_by_kind(packet: bytes, kind: str) -> None:
    assert refused(packet) == kind


def test_quaternions_have_unit_length() -> None:
    wrenches = {"left_foot": np.zeros(6), "right_foot": np.zeros(6)}
    assert refused(json_packet(Sample(0.0, np.zeros(2), None, None, 2 * POSE, wrenches)), BODY) == "not-a-pose"


@pytest.mark.parametrize("write", [binary_packet, json_packet])
@pytest.mark.parametrize("token", [None, "", "x" * 19, "x" * 21, "y" * 20])
def test_packets_without_the_token_are_refused(write, token: str | None) -> None:
    assert refused(write(SAMPLE, token), token="x" * 20) == "wrong-token"


@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda rest: HEAD + rest) | st.text(max_size=60).map(
    lambda text: ('{"t": 0, "q": ' + text).encode(errors="replace")))  # fmt: skip
def test_whatever_comes_is_a_sample_or_refused(packet: bytes) -> None:
    try:
        found, kind = PacketReader(FORM).read(packet).position, ""
    except MalformedSampleError as error:
        found, kind = np.zeros(3), error.kind
    assert np.isfinite(found).all()
    assert kind == "" or kind in REASONS
