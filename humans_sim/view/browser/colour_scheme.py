# SPDX-License-Identifier: Apache-2.0
"""Pages as the system asks for them: dark, and with names that can be read aloud."""

from __future__ import annotations

import gzip
from functools import lru_cache

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from humans_sim.view.browser.gate import Answer
from humans_sim.view.html_templates import render

_HEAD = b"<head>"


def in_system_colours(answer: Answer) -> Answer:
    """Have a page take the colours that the browser's system asks for.

    viser draws a page dark whose address says so. A script at the beginning of the page
    adds that to the address before viser reads it, and loads the page again when the
    system changes its mind. Another one gives names to controls that have none.

    Args:
        answer: what answers requests.
    """

    def coloured(connection: ServerConnection, request: Request) -> Response | None:
        response = answer(connection, request)
        if response is None or not response.body:
            return response
        kind = response.headers.get("Content-Type", "")
        if not kind.startswith("text/html"):
            return response
        zipped = response.headers.get("Content-Encoding") == "gzip"
        response.body = _with_script(bytes(response.body), zipped)
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
        return response

    return coloured


@lru_cache(maxsize=4)
def _with_script(page: bytes, zipped: bool) -> bytes:
    text = gzip.decompress(page) if zipped else page
    script = (render("colour_scheme") + render("control_names")).encode()
    text = text.replace(_HEAD, _HEAD + script, 1)
    return gzip.compress(text) if zipped else text
