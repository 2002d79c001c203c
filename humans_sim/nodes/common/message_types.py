# SPDX-License-Identifier: Apache-2.0
"""Types of messages by their names."""

from __future__ import annotations

import importlib
from typing import Any


def message_class(name: str) -> Any:
    """The class of ``package/msg/Name``."""
    package, kind, word = name.split("/")
    return getattr(importlib.import_module(f"{package}.{kind}"), word)


def message_fields(name: str) -> dict[str, str]:
    """Fields of ``package/msg/Name`` with their types, as IDL has them."""
    return dict(message_class(name).get_fields_and_field_types())


def full_name(kind: str) -> str:
    """``package/msg/Name`` of ``package/Name``."""
    package, word = kind.split("/")
    return f"{package}/msg/{word}"
