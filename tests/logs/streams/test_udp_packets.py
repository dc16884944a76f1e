"""Packets by UDP: on this machine, or with a token."""

from __future__ import annotations

import socket
import threading
import time

import numpy as np
import pytest

from dynid.errors import InvalidRequestError
from dynid.logs.streams.inbox import Inbox
from dynid.logs.streams.packets import PacketReader, binary_packet, json_packet
from dynid.logs.streams.samples import Sample, SampleForm
from dynid.logs.streams.udp_packets import Address, UdpPackets

FORM = SampleForm(1, 1)


def test_packets_arrive_and_others_are_counted() -> None:
    inbox, stop = Inbox(most=5), threading.Event()
    packets = UdpPackets(Address.of("127.0.0.1:0"), PacketReader(FORM), inbox)
    thread = threading.Thread(target=packets.run, args=(stop,))
    thread.start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        to = (packets.address.host, packets.address.port)
        for k in range(10):
            write = binary_packet if k % 2 else json_packet
            sender.sendto(write(Sample(0.1 * k, np.zeros(1), np.ones(1))), to)
        for junk in (b"", b"{", b"\xff" * 1000, b"{" + b" " * 60_000):
            sender.sendto(junk, to)
    end = time.monotonic() + 5.0
    while sum(inbox.counts.malformed.values()) < 4 and time.monotonic() < end:
        time.sleep(0.01)
    stop.set()
    thread.join(timeout=5.0)
    assert (inbox.counts.accepted, inbox.counts.dropped) == (5, 5)
    assert inbox.counts.to_dict()["malformed"] == {"not-json": 1, "too-long": 1, "unknown-format": 2}


def test_a_port_that_is_taken_is_said_to_be() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(InvalidRequestError, match="--udp"):
            UdpPackets(Address("127.0.0.1", taken.getsockname()[1]), PacketReader(FORM), Inbox())


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "example.org"])
def test_other_machines_need_a_token(host: str) -> None:
    assert not Address(host, 5005).is_loopback
    with pytest.raises(InvalidRequestError, match="--token"):
        UdpPackets(Address(host, 5005), PacketReader(FORM), Inbox())


@pytest.mark.parametrize("text", ["", "x", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", ":5", "127.0.0.1:-1"])
def test_addresses_need_a_port(text: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"127\.0\.0\.1:5005"):
        Address.of(text)
