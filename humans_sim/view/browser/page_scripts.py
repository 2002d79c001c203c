# SPDX-License-Identifier: Apache-2.0
"""Scripts that a page of viser is given: its colours, names of controls, its beat."""

from __future__ import annotations

import gzip
from functools import lru_cache

from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

from humans_sim.view.browser.gate import Answer
from humans_sim.view.browser.heartbeat import HEARTBEAT, PERIOD
from humans_sim.view.html_templates import render

_HEAD = b"<head>"


def with_scripts(answer: Answer) -> Answer:
    """Have a page take the system's colours, name its controls, and say it is there.

    viser draws a page dark whose address says so. A script at the beginning of the page
    adds that to the address before viser reads it, and loads the page again when the
    system changes its mind. Another one gives names to controls that have none, and
    a third says at short intervals that the page is seen and runs.

    Args:
        answer: what answers requests.
    """

    def scripted(connection: ServerConnection, request: Request) -> Response | None:
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

    return scripted


@lru_cache(maxsize=4)
def _with_script(page: bytes, zipped: bool) -> bytes:
    text = gzip.decompress(page) if zipped else page
    beat = render("heartbeat", kind=HEARTBEAT, period=round(1e3 * PERIOD))
    script = (render("colour_scheme") + render("control_names") + beat).encode()
    text = text.replace(_HEAD, _HEAD + script, 1)
    return gzip.compress(text) if zipped else text
