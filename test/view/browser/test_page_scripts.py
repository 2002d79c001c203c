# SPDX-License-Identifier: Apache-2.0
"""A page is told of the system's colours; nothing else is changed."""

from __future__ import annotations

import gzip
from http import HTTPStatus
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Response

from humans_sim.view.browser.page_server import with_scripts

PAGE = b"<html><head><title>x</title></head><body></body></html>"


def answered(body: bytes, **headers: str) -> Response | None:
    """What becomes of an answer."""
    headers = {"Content-Length": str(len(body)), **headers}
    response = Response(HTTPStatus.OK, "OK", Headers(**headers), body)
    nobody: Any = None
    return with_scripts(lambda connection, request: response)(nobody, nobody)


@pytest.mark.parametrize("zipped", [False, True])
def test_pages(zipped: bool) -> None:
    """The script comes first in the head, packed as the page is; the length is told."""
    body = gzip.compress(PAGE) if zipped else PAGE
    kind = {"Content-Type": "text/html; charset=utf-8"}
    response = answered(
        body, **kind, **{"Content-Encoding": "gzip" if zipped else "identity"}
    )
    assert response is not None
    text = gzip.decompress(response.body) if zipped else response.body
    assert text.index(b"prefers-color-scheme") < text.index(b"<title>")
    assert text.replace(text[12 : text.index(b"<title>")], b"", 1) == PAGE
    assert response.headers.get_all("Content-Length") == [str(len(response.body))]


def test_others_stay() -> None:
    """Scripts, pictures, refusals and connections."""
    response = answered(b"x<head>", **{"Content-Type": "application/javascript"})
    assert response is not None and response.body == b"x<head>"
    nobody: Any = None
    assert with_scripts(lambda *_: None)(nobody, nobody) is None
