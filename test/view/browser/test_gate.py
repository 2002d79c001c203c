# SPDX-License-Identifier: Apache-2.0
"""Who is let in to a page: requests as a hostile page or a hostile name makes them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from raw_client import connected, cookie_of, status, token_of
from websockets.exceptions import InvalidStatus

from humans_sim.view.browser.gate import Gate, is_loopback
from humans_sim.view.browser.page_server import PageServer, warning_of
from humans_sim.view.browser.scene import free_port


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Address of an empty page."""
    page = PageServer("127.0.0.1", free_port("127.0.0.1", 0))
    yield page.url
    page.stop()


def test_the_token_opens_the_page(url: str) -> None:
    """The address gives the page and a cookie that scripts and other sites lack."""
    code, headers = status(url, f"/?token={token_of(url)}")
    assert code == 200
    assert headers["Set-Cookie"].startswith(cookie_of(url) + ";")
    assert "HttpOnly" in headers["Set-Cookie"]
    assert "SameSite=Strict" in headers["Set-Cookie"]
    assert headers["X-Frame-Options"] == "DENY"
    assert status(url, Cookie=cookie_of(url))[0] == 200


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=x", "/index.html", "/?"])
def test_no_page_without_it(url: str, path: str) -> None:
    """Neither the page nor a cookie is given."""
    code, headers = status(url, path, Cookie="humans_sim_1=x; humans_sim=y")
    assert code == 403
    assert "Set-Cookie" not in headers


@pytest.mark.parametrize("place", [0, -1])
def test_another_token_of_the_same_length(url: str, place: int) -> None:
    """One wrong letter is enough, in the address, the cookie and a connection."""
    wrong = list(token_of(url))
    wrong[place] = "A" if wrong[place] != "A" else "B"
    code, headers = status(url, f"/?token={''.join(wrong)}")
    assert code == 403
    assert "Set-Cookie" not in headers
    cookie = cookie_of(url).replace(token_of(url), "".join(wrong))
    assert status(url, Cookie=cookie)[0] == 403
    with pytest.raises(InvalidStatus, match="403"):
        connected(url, cookie)


def test_two_pages_have_two_tokens() -> None:
    """Nobody guesses one from the other."""
    tokens = {Gate("127.0.0.1").token for _ in range(10)}
    assert len(tokens) == 10 and all(len(token) >= 32 for token in tokens)


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST:{port}", 200),
        ("[::1]:{port}", 200),
        ("127.0.0.1", 403),
        ("127.0.0.1:1", 403),
        ("evil.example:{port}", 403),
        ("127.0.0.1.evil.example:{port}", 403),
        ("a@127.0.0.1:{port}", 403),
        ("127.0.0.1:{port}/", 403),
        ("192.168.1.2:{port}", 403),
        ("[::1:{port}", 403),
        ("127.0.0.1:99999999", 403),
        ("", 403),
    ],
)
def test_the_host_is_this_server(url: str, host: str, code: int) -> None:
    """A name that leads here is not enough, even with the token."""
    name = host.format(port=urlsplit(url).port)
    assert status(url, f"/?token={token_of(url)}", Host=name)[0] == code


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"],
)
def test_connections_of_other_pages(url: str, origin: str) -> None:
    """Are refused, with the cookie and all."""
    foreign = origin.format(port=urlsplit(url).port)
    with pytest.raises(InvalidStatus, match="403"):
        connected(url, origin=foreign)


def test_connections_need_the_token(url: str) -> None:
    """The page's own script has the cookie; without it nobody connects."""
    with connected(url, origin=f"http://127.0.0.1:{urlsplit(url).port}") as line:
        line.recv(timeout=20)
    for cookie in ("", cookie_of(url)[:-1], f"x{cookie_of(url)}"):
        with pytest.raises(InvalidStatus, match="403"):
            connected(url, cookie)


def test_a_server_for_everybody() -> None:
    """Goes by all its addresses, by no other name, and says what that means."""
    gate = Gate("0.0.0.0")
    assert gate.url(80) == f"http://127.0.0.1:80/?token={gate.token}"
    for name in ("192.168.1.2:8080", "[fe80::1]:8080", "localhost:8080"):
        assert gate._is_here(name, 8080)
    assert not gate._is_here("evil.example:8080", 8080)
    assert Gate("::1").url(8080).startswith("http://[::1]:8080/?token=")
    assert Gate("10.0.0.1")._is_here("10.0.0.1", 80)
    assert "all addresses" in warning_of("0.0.0.0")
    assert "whoever reaches this machine" in warning_of("192.168.1.2")
    assert not warning_of("127.0.0.1") and not warning_of("localhost")
    assert is_loopback("127.0.0.2") and not is_loopback("example.org")
