"""Pages are for those who started them: every request needs a token, and comes from the page itself.

Any web page that a browser shows can open connections to this machine. So the page's address holds a random token; the
`Host` that is asked for must be this machine by name (a foreign name may lead here, too), and the `Origin` of a
websocket must be the page's own. Everything else is refused with status 403, before a websocket is opened.
"""

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dynid.errors import DynidError, InvalidRequestError

HOST = "127.0.0.1"
"""The address that the page is served at: no other machine reaches it."""

NAMES = (HOST, "localhost")
"""How browsers on this machine may name it."""

PORTS_TRIED = 100
"""Ports that are tried, from the one that was asked for upwards."""

REFUSAL = "Refused: open the address that dynid has printed, with its token.\n"

SHORTEST_TOKEN = 16
"""Characters of a token that a user states, at least."""

HEADERS = {"Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": "no-store"}
"""Headers of every answer: the address stays here, and no other page shows this one within itself."""


class UnguardedViewerError(DynidError):
    """The installed viser starts its server in a way that no guard can be put before."""

    def __init__(self) -> None:
        super().__init__(
            "this version of viser cannot check who asks for its page, and is not started for safety; "
            "run pip install --upgrade 'dynid[view]'"
        )


class PageGuard:
    """Lets in who knows the token.

    Args:
        token: The token; a new one of 32 letters when None.
        host: The address that the page is served at.

    Attributes:
        token: The token.
        host: The address that the page is served at.
        is_in_place: Whether a server asks this guard.

    Raises:
        InvalidRequestError: If the token is too short, or cannot stand in an address; or if other machines reach the
            host, and none is stated.
    """

    def __init__(self, token: str | None = None, host: str = HOST) -> None:
        if token is not None and not re.fullmatch(rf"[A-Za-z0-9_-]{{{SHORTEST_TOKEN},200}}", token):
            raise InvalidRequestError(
                f"a token has {SHORTEST_TOKEN} to 200 letters, digits, hyphens and underscores, and this one is none; "
                f"take a random one, such as {secrets.token_urlsafe(24)}"
            )
        if token is None and not is_loopback(host):
            raise InvalidRequestError(
                f"other machines reach the page at {host}, so that it needs a token that you choose; state one with "
                f"--token, such as {secrets.token_urlsafe(24)}"
            )
        self.token = token or secrets.token_urlsafe(24)
        self.host = host
        self.is_in_place = False

    def require_in_place(self) -> None:
        """Refuse to go on where no server asks this guard.

        Raises:
            UnguardedViewerError: If none does.
        """
        if not self.is_in_place:
            raise UnguardedViewerError

    def address(self, port: int) -> str:
        """The address of the page, with the token."""
        shown = {"0.0.0.0": HOST, "localhost": HOST, "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/{self.token}/"

    def admits(self, path: str, port: int, hosts: list[str], origins: list[str], *, websocket: bool) -> bool:
        """Whether a request may go on.

        Args:
            path: The path that is asked for.
            port: The port of the server.
            hosts: Values of the header `Host`.
            origins: Values of the header `Origin`; browsers send it with every websocket.
            websocket: Whether the request is for a websocket.
        """
        from_here = len(hosts) == 1 and self._is_own(hosts[0].lower(), port)
        from_page = len(origins) == 1 and origins[0].lower().startswith("http://")
        from_page = from_page and self._is_own(origins[0].lower().removeprefix("http://"), port)
        from_page = from_page or (not origins and not websocket)
        given = path.partition("?")[0].split("/")[1:2] or [""]
        knows = hmac.compare_digest(given[0].encode(errors="replace"), self.token.encode())
        return from_here and from_page and knows

    def _is_own(self, written: str, port: int) -> bool:
        """Whether `HOST:PORT` is this page. Beyond this machine, numbers are, which no foreign name can stand for."""
        name, colon, number = written.rpartition(":")
        if not colon or not number.isdecimal():
            name, number = written, "80"
        if number != str(port):
            return False
        if name in NAMES or name.strip("[]") == self.host.strip("[]").lower():
            return True
        return not is_loopback(self.host) and _is_numbers(name)

    def before(self, process_request: Callable[..., Any] | None) -> Callable[..., Any]:
        """A callback for `websockets` that asks this guard first, and then the server's own callback."""

        def process(connection: Any, request: Any) -> Any:
            headers, port = request.headers, connection.local_address[1]
            websocket = any("websocket" in value.lower() for value in headers.get_all("Upgrade"))
            hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
            if not self.admits(request.path, port, hosts, origins, websocket=websocket):
                return _with_headers(connection.respond(403, REFUSAL))
            inner = replace(request, path=request.path.replace(f"/{self.token}", "", 1) or "/")
            return None if process_request is None else _with_headers(process_request(connection, inner))

        self.is_in_place = True
        return process


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return host == "localhost" or (_is_numbers(host) and ipaddress.ip_address(host.strip("[]")).is_loopback)


def _is_numbers(host: str) -> bool:
    """Whether an address is written in numbers."""
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


def _with_headers(response: Any) -> Any:
    """A response, if it is one, with the headers of every answer."""
    if hasattr(response, "headers"):
        for name, value in HEADERS.items():
            response.headers[name] = value
    return response


@contextmanager
def guarded(guard: PageGuard) -> Iterator[None]:
    """Servers that `websockets` starts meanwhile ask a guard; viser offers no way to state one."""
    from websockets.asyncio import server  # pyright: ignore[reportMissingImports]

    plain = server.serve

    def serve(*arguments: Any, process_request: Callable[..., Any] | None = None, **options: Any) -> Any:
        return plain(*arguments, process_request=guard.before(process_request), **options)

    server.serve = serve  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        server.serve = plain  # type: ignore[misc]


def free_port(port: int) -> int:
    """The first port from one upwards that nobody listens at.

    Raises:
        InvalidRequestError: If all that were tried are taken, or may not be used.
    """
    last = min(port + PORTS_TRIED, 65536) - 1
    for candidate in range(port, last + 1):
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind((HOST, candidate))
            except OSError:
                continue
            return candidate
    raise InvalidRequestError(f"the ports {port} to {last} are taken, or not yours to use; name another with --port")
