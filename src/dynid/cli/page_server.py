"""A page and its events from this process, with the standard library: HTTP, server-sent events, and a guard.

A browser gets the newest event only: one that is slow skips some, and nothing waits for it. So neither slow nor many
browsers hold up what is shown, or grow memory.
"""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket
from typing import Any, ClassVar

from dynid.cli.page_guard import HEADERS, REFUSAL, PageGuard
from dynid.errors import InvalidRequestError

MOST_CONNECTIONS = 24
"""Connections at a time; more are closed at once."""

PATIENCE = 10.0
"""A connection that takes nothing, or asks nothing, for so long [s] is closed."""

KEEP_ALIVE = 2.0
"""An empty event is sent after so long [s] without one, which shows who has gone."""

POLICY = (
    "default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load: nothing but its own events."""


class Newest:
    """The newest events by name, for any number of readers."""

    def __init__(self) -> None:
        self._events: dict[str, tuple[int, bytes]] = {}
        self._number = 0
        self._changed = threading.Condition()
        self.is_closed = False

    def publish(self, name: str, data: bytes) -> None:
        """Replace the event of a name."""
        with self._changed:
            self._number += 1
            self._events[name] = (self._number, data)
            self._changed.notify_all()

    def get(self, name: str) -> bytes:
        """The newest event of a name; empty where there is none."""
        return self._events.get(name, (0, b""))[1]

    def close(self) -> None:
        """Say that nothing more will come."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()

    def after(self, number: int, timeout: float) -> tuple[int, list[tuple[str, bytes]]]:
        """Events that are newer than a number, and the number of the newest; waits where there are none."""
        with self._changed:
            if self._number <= number and not self.is_closed:
                self._changed.wait(timeout)
            newer = sorted((n, name, data) for name, (n, data) in self._events.items() if n > number)
            return self._number, [(name, data) for _, name, data in newer]


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    server: PageServer  # type: ignore[assignment]
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "dynid", ""
    timeout = PATIENCE

    def do_GET(self) -> None:
        """Give the page, its events or its state to who knows the token."""
        hosts, origins = (self.headers.get_all(name) or [] for name in ("Host", "Origin"))
        if not self.server.guard.admits(self.path, self.server.server_port, hosts, origins, websocket=False):
            return self._answer(403, REFUSAL.encode(), "text/plain; charset=utf-8")
        match self.path.partition("?")[0].split("/", 2)[2:]:
            case [""]:
                policy = {"Content-Security-Policy": POLICY.format(hashes=self.server.hashes)}
                return self._answer(200, self.server.page, "text/html; charset=utf-8", policy)
            case ["events"]:
                return self._send_events()
            case ["state.json"]:
                return self._answer(200, self.server.newest.get("state") or b"{}", "application/json")
        return self._answer(404, b"There is nothing here.\n", "text/plain; charset=utf-8")

    def _answer(self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        every = HEADERS | {"X-Content-Type-Options": "nosniff"} | (headers or {})
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **every}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _send_events(self) -> None:
        self.send_response(200)
        self.close_connection = True
        for name, value in {"Content-Type": "text/event-stream", "Connection": "close", **HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()
        number, newest = 0, self.server.newest
        while True:
            number, events = newest.after(number, KEEP_ALIVE)
            for name, data in events:
                self.wfile.write(b"event: %s\ndata: %s\n\n" % (name.encode(), data))
            if newest.is_closed:
                return
            if not events:
                self.wfile.write(b": here\n\n")

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (the name of the standard library)
        """Say nothing: the terminal is the user's."""


class PageServer(ThreadingHTTPServer):
    """Serves one page and its events.

    Args:
        guard: Who may see it.
        page: The page.
        hashes: Hashes of the scripts that it may run.
        port: The port; the first free one from there on where `is_stated` is false.
        is_stated: Whether it must be that port.

    Raises:
        InvalidRequestError: If the port is taken, or may not be used.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size: ClassVar[int] = 32  # type: ignore[misc]

    def __init__(self, guard: PageGuard, page: bytes, hashes: str, port: int, *, is_stated: bool) -> None:
        self.guard, self.page, self.hashes = guard, page, hashes
        self.newest = Newest()
        self._room = threading.Semaphore(MOST_CONNECTIONS)
        if ":" in guard.host:
            self.address_family = AF_INET6
        problem: Exception | None = None
        for tried in [port] if is_stated else [*range(port, min(port + 100, 65536)), 0]:
            try:
                super().__init__((guard.host, tried), _Handler)
                break
            except (OSError, OverflowError) as error:
                problem = error
        else:
            reason = getattr(problem, "strerror", None) or problem
            raise InvalidRequestError(
                f"the page cannot be served at {guard.host}:{port} ({reason}); name another port with --port, or an "
                "address of this machine with --host"
            )
        guard.is_in_place = True

    @property
    def address(self) -> str:
        """The address of the page, with the token."""
        return self.guard.address(self.server_port)

    def start(self) -> None:
        """Answer from now on, in a thread."""
        threading.Thread(target=self.serve_forever, args=(0.1,), name="dynid page", daemon=True).start()

    def stop(self) -> None:
        """Answer no more."""
        self.newest.close()
        self.shutdown()
        self.server_close()

    def server_bind(self) -> None:
        """Bind, without asking a name server for this machine's name."""
        self.socket.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.guard.host, self.server_address[1]

    def process_request(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Answer in a thread, if there is room for one."""
        if not self._room.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: socket | tuple[bytes, socket], client_address: Any) -> None:
        """Answer, and make room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of browsers that have gone."""
