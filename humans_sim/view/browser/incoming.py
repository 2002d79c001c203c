# SPDX-License-Identifier: Apache-2.0
"""What a browser may say to a page: values of its controls, and how it looks at it.

viser lets a client set any attribute of any control to anything, ask for a public
address of the page, upload files and move parts of the scene. A page here needs three
messages: where the browser's own camera is, a new value of a control that is seen and
enabled, of the control's own type and within its range, and a picture while the page
waits for one. All else is dropped before viser hears of it, and so is the beat by which
a page says that it runs.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import msgspec
import viser
from viser import _messages

from humans_sim.core.errors import ConfigurationError
from humans_sim.view.browser.heartbeat import HEARTBEAT

_LOG = logging.getLogger(__name__)
_WARNING_PERIOD = 5.0
"""Wall time between two warnings [s]."""
LARGEST_MESSAGE = 65_536
"""Largest message of a browser that is no picture [bytes]; they have some hundreds."""
_PICTURE = {"type", "payload", "render_uuid"}
_ACKNOWLEDGED = "FileTransferPartAck"
"""A browser says how much of a file it has: nobody here waits for it."""
_SLACK = 1e-6
"""By how much of its range a slider may be rounded past its end."""
_CAMERA_KEYS = {"type", *(x.name for x in fields(_messages.ViewerCameraMessage))}
_CAMERA = {"wxyz": 4, "position": 3, "look_at": 3, "up_direction": 3}
"""Lengths of what describes a camera; all else of it are single numbers."""


class Incoming:
    """Judges the messages of the browsers of a page.

    Attributes:
        refused: how many were refused so far.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Judge for a page that has no controls yet.

        Args:
            clock: the time, for warnings that do not come too often [s].
        """
        self.refused = 0
        self._gui: viser.GuiApi | None = None
        self._clock, self._warned, self._untold = clock, -math.inf, 0
        self._pictures, self._lock = 0, threading.Lock()

    def watch(self, gui: viser.GuiApi) -> None:
        """Take values for the controls of a page from now on."""
        self._gui = gui

    @contextlib.contextmanager
    def expecting_picture(self) -> Iterator[None]:
        """Let one picture pass meanwhile."""
        with self._lock:
            self._pictures += 1
        try:
            yield
        finally:
            with self._lock:
                self._pictures = max(self._pictures - 1, 0)

    def accepts(self, raw: str | bytes) -> bool:
        """Whether viser may hear a message; a refusal is warned of now and then."""
        try:
            return self._check(raw)
        except ConfigurationError as error:
            self._warn(str(error))
            return False

    def _check(self, raw: str | bytes) -> bool:
        """Whether viser hears of it; refuses what no page needs."""
        if len(raw) > LARGEST_MESSAGE and not self._pictures:
            raise ConfigurationError("it is too long")
        message = _decoded(raw)
        kind = message.get("type")
        if kind == "ViewerCameraMessage":
            _check_camera(message)
        elif kind == "GuiUpdateMessage":
            self._check_update(message)
        elif kind == "GetRenderResponseMessage":
            self._check_picture(message)
        else:
            if kind not in (_ACKNOWLEDGED, HEARTBEAT):
                raise ConfigurationError("no page here sends such messages")
            return False
        return True

    def _check_picture(self, message: dict[str, Any]) -> None:
        if not self._pictures:
            raise ConfigurationError("nobody asked for a picture")
        payload, name = message.get("payload"), message.get("render_uuid")
        if set(message) != _PICTURE or not (
            isinstance(payload, bytes) and isinstance(name, str)
        ):
            raise ConfigurationError("a picture has other parts")

    def _check_update(self, message: dict[str, Any]) -> None:
        name, updates = message.get("uuid"), message.get("updates")
        controls = {} if self._gui is None else self._gui._gui_input_handle_from_uuid
        control = controls.get(name) if isinstance(name, str) else None
        if control is None or set(message) != {"type", "uuid", "updates"}:
            raise ConfigurationError("there is no such control")
        if not isinstance(updates, dict) or set(updates) != {"value"}:
            raise ConfigurationError(f"only the value of {_name(control)} can be set")
        if not self._is_usable(control):
            raise ConfigurationError(f"{_name(control)} is disabled or hidden")
        if not _fits(control, updates["value"]):
            raise ConfigurationError(f"{_name(control)} has no such value")

    def _is_usable(self, control: Any) -> bool:
        if control.disabled or not control.visible:
            return False
        containers = self._gui._container_handle_from_uuid if self._gui else {}
        around = containers.get(control._impl.parent_container_id)
        while isinstance(around, viser.GuiFolderHandle):
            if not around.visible:
                return False
            around = containers.get(around._impl.parent_container_id)
        return True

    def _warn(self, reason: str) -> None:
        self.refused += 1
        self._untold += 1
        now = self._clock()
        if now < self._warned + _WARNING_PERIOD:
            return
        count = "" if self._untold == 1 else f" (and {self._untold - 1} before it)"
        _LOG.warning("a message of a browser is ignored: %s%s", reason, count)
        self._warned, self._untold = now, 0


def _decoded(raw: str | bytes) -> dict[str, Any]:
    if not isinstance(raw, bytes):
        raise ConfigurationError("it is a text")
    try:
        message = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        raise ConfigurationError("it is no MessagePack") from None
    if not isinstance(message, dict):
        raise ConfigurationError("it is no table")
    return message


def _check_camera(message: dict[str, Any]) -> None:
    if set(message) != _CAMERA_KEYS:
        raise ConfigurationError("a camera has other numbers")
    for name in _CAMERA_KEYS - {"type"}:
        value, length = message[name], _CAMERA.get(name)
        if length is not None and not (
            isinstance(value, list) and len(value) == length
        ):
            raise ConfigurationError(f"{name} of a camera has another length")
        if not all(map(_is_number, [value] if length is None else value)):
            raise ConfigurationError(f"{name} of a camera is no finite number")


def _fits(control: Any, value: Any) -> bool:
    """Whether a control can have a value."""
    if isinstance(control, viser.GuiButtonHandle | viser.GuiCheckboxHandle):
        return isinstance(value, bool)
    if isinstance(control, viser.GuiDropdownHandle):
        return isinstance(value, str) and value in control.options
    if isinstance(control, viser.GuiSliderHandle | viser.GuiNumberHandle):
        if not _is_number(value):
            return False
        if isinstance(control.value, int) and value != round(value):
            return False
        low = -math.inf if control.min is None else control.min
        high = math.inf if control.max is None else control.max
        slack = _SLACK * (high - low) if math.isfinite(high - low) else 0.0
        return bool(low - slack <= value <= high + slack)
    return False


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and math.isfinite(value)
    )


def _name(control: Any) -> str:
    return f"'{getattr(control, 'label', 'a control')}'"
