"""Packets that arrive by UDP, on this machine unless told otherwise."""

from __future__ import annotations

import errno
import ipaddress
import socket
from dataclasses import dataclass
from threading import Event

from dynid.errors import InvalidRequestError
from dynid.logs.streams.inbox import Inbox
from dynid.logs.streams.packets import MOST_BYTES, PacketReader
from dynid.logs.streams.samples import MalformedSampleError

BUFFER = 2**20
"""Bytes that the system may keep of packets that wait."""


@dataclass(frozen=True)
class Address:
    """An address of this machine, and a port.

    Attributes:
        host: Numbers or a name.
        port: The port; zero for any that is free.
    """

    host: str
    port: int

    @staticmethod
    def of(text: str) -> Address:
        """The address that a user wrote: `HOST:PORT`, or a port alone for 127.0.0.1.

        Raises:
            InvalidRequestError: If it is none.

        >>> Address.of("5005"), Address.of("[::1]:5005").host
        (Address(host='127.0.0.1', port=5005), '::1')
        """
        host, colon, port = text.strip().rpartition(":")
        if not port.isdecimal() or not int(port) < 65536 or (colon and not host):
            raise InvalidRequestError(
                f"'{text:.60}' is no address to listen at; write HOST:PORT, such as 127.0.0.1:5005"
            )
        return Address(host.strip("[]") or "127.0.0.1", int(port))

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


class UdpPackets:
    """Receives packets.

    Attributes:
        reader: What reads them.
        inbox: Where samples go.
        address: Where it listens.
    """

    def __init__(self, address: Address, reader: PacketReader, inbox: Inbox) -> None:
        """Listen at an address.

        Raises:
            InvalidRequestError: If it is taken, or none of this machine; or if others reach it, and packets need no
                token.
        """
        if not address.is_loopback and reader.token is None:
            raise InvalidRequestError(
                f"other machines can send to {address.host}, so that packets need a token there; state one with "
                "--token, or listen at 127.0.0.1"
            )
        self.reader, self.inbox = reader, inbox
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_DGRAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
            self._socket.bind((address.host, address.port))
        except (OSError, OverflowError) as error:
            self._socket.close()
            problem = getattr(error, "strerror", None) or error
            is_taken = getattr(error, "errno", None) == errno.EADDRINUSE
            advice = (
                "end the program that listens there, or name another port with --udp"
                if is_taken
                else "name an address of this machine with --udp, such as 127.0.0.1:5005"
            )
            raise InvalidRequestError(
                f"packets cannot be received at {address.host}:{address.port} ({problem}); {advice}"
            ) from error
        self._socket.settimeout(0.1)
        self.address = Address(address.host, self._socket.getsockname()[1])

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()

    def run(self, stop: Event) -> None:
        """Receive packets until told to stop."""
        with self._socket:
            while not stop.is_set():
                try:
                    packet = self._socket.recv(MOST_BYTES + 1)
                except TimeoutError:
                    continue
                except OSError:  # what the system reports of earlier packets, such as that nobody listens
                    continue
                try:
                    self.inbox.put(self.reader.read(packet))
                except MalformedSampleError as error:
                    self.inbox.refuse(error.kind)
