# SPDX-License-Identifier: Apache-2.0
"""Who may talk to a page: this machine's user, by the address that was printed.

A page on 127.0.0.1 is reached by every other page that the same browser has open: a
script elsewhere may connect to it, or have its own name lead to it (DNS rebinding).
So a request must name this server as its host, a script must come from the page itself,
and either must bring the token of the printed address. The token is taken from the
address once and kept as a cookie, for a browser sends no part of the address along when
the page's script opens its connection. Cookies know no ports: the name of this one has
the port in it, and since other pages of this machine send it along too, their origin
counts as well.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

CLIENTS = 50
"""Browsers that may watch a page at the same time."""
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine, for itself alone."""
_TOKEN_BYTES = 24
_HTTP_PORT = 80
_HEADERS = {
    # Nobody may draw the page inside another and have it clicked unseen.
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    # The address holds the token.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

Answer = Callable[[ServerConnection, Request], Response | None]
"""Answers a request with a page, or lets it open a connection (None)."""


class Gate:
    """Refuses what does not come from the page's own user.

    Attributes:
        token: secret of the address.
        clients: browsers that may watch at the same time.
        open: whether anything is let in.
    """

    def __init__(self, host: str, clients: int = CLIENTS) -> None:
        """Guard a server, closed at first.

        Args:
            host: address that it listens on.
            clients: browsers that may watch at the same time.
        """
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self.clients = clients
        self.open = False
        self._host = host.strip("[]").lower()

    def url(self, port: int) -> str:
        """The address to open; it is as secret as a password."""
        host = "127.0.0.1" if anywhere(self._host) else self._host
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/?token={self.token}"

    def before(self, answer: Answer) -> Answer:
        """What answers a request: refused here, or answered by ``answer``."""

        def guarded(connection: ServerConnection, request: Request) -> Response | None:
            port = int(connection.local_address[1])
            refused = self.refusal(request, port) or self._crowded(connection, request)
            if refused is not None:
                return with_headers(connection.respond(*refused))
            response = answer(connection, request)
            if response is None:
                return None
            if self._is_token(_asked_token(request)):
                response.headers["Set-Cookie"] = (
                    f"{cookie_name(port)}={self.token}; HttpOnly; SameSite=Strict;"
                    " Path=/"
                )
            return with_headers(response)

        return guarded

    def refusal(self, request: Request, port: int) -> tuple[HTTPStatus, str] | None:
        """Why a request is refused; None where it comes from the page's user.

        Args:
            request: as it came.
            port: that it came to.
        """
        headers = request.headers
        hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
        if len(hosts) != 1 or not self._is_here(hosts[0], port):
            return HTTPStatus.FORBIDDEN, "This server has another name.\n"
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return HTTPStatus.FORBIDDEN, "Other pages have no business here.\n"
        if not self._is_token(_asked_token(request)) and not any(
            self._is_token(value) for value in _cookies(headers, cookie_name(port))
        ):
            return (
                HTTPStatus.FORBIDDEN,
                "Open the address that was printed, with its token.\n",
            )
        if not self.open:
            return HTTPStatus.SERVICE_UNAVAILABLE, "Not ready yet: try again.\n"
        return None

    def _crowded(
        self, connection: ServerConnection, request: Request
    ) -> tuple[HTTPStatus, str] | None:
        """Why there is no room for a connection with the token; None where there is."""
        wants_to_watch = "Upgrade" in request.headers
        if wants_to_watch and len(connection.server.connections) >= self.clients:
            return HTTPStatus.SERVICE_UNAVAILABLE, "Too many watch this page.\n"
        return None

    def _is_token(self, given: str) -> bool:
        # In constant time: how much of a guess is right must not be measurable.
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _is_here(self, host: str, port: int) -> bool:
        """Whether a request was meant for this server, by the name it gives it."""
        try:
            parts = urlsplit(f"//{host}")
            name, asked = parts.hostname or "", parts.port or _HTTP_PORT
        except ValueError:
            return False
        if asked != port or parts.netloc != host or "@" in host:
            return False
        if name == self._host or name in LOOPBACK:
            return True
        # A server for everybody is known by all addresses of the machine. An address
        # is no name that somebody else could let lead here.
        return anywhere(self._host) and (
            _is_address(name) or name == socket.gethostname().lower()
        )


def anywhere(host: str) -> bool:
    """Whether a server that listens there listens on all addresses of the machine."""
    return _is_address(host) and ipaddress.ip_address(host).is_unspecified


def is_loopback(host: str) -> bool:
    """Whether a server that listens there is reached from this machine only."""
    if _is_address(host):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() in LOOPBACK


def cookie_name(port: int) -> str:
    """Name of the cookie that holds the token of a page."""
    return f"humans_sim_{port}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _asked_token(request: Request) -> str:
    query = request.path.partition("?")[2]
    return parse_qs(query).get("token", [""])[0]


def _cookies(headers: Headers, name: str) -> list[str]:
    """All values of a cookie: others may have set one of the same name."""
    pairs = [
        part.partition("=")
        for header in headers.get_all("Cookie")
        for part in header.split(";")
    ]
    return [value.strip() for key, _, value in pairs if key.strip() == name]


def with_headers(response: Response) -> Response:
    """An answer with the headers that all answers of a page have."""
    for name, value in _HEADERS.items():
        if name not in response.headers:
            response.headers[name] = value
    return response
