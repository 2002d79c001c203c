# SPDX-License-Identifier: Apache-2.0
"""The table of a sweep as a file: CSV, or Parquet where pyarrow is installed."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from humans_sim.core.errors import MissingDependencyError, ParameterError
from humans_sim.core.files import atomic_stream, write_atomically

CSV, PARQUET = ".csv", ".parquet"
SUFFIXES = (CSV, PARQUET)
"""Endings of tables."""


def check_table(path: Path) -> None:
    """Refuse a table that cannot be written here.

    Raises:
        MissingDependencyError: a Parquet file, without pyarrow.
        ParameterError: another ending.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError(f"'{path}': a table is .csv or .parquet")
    if suffix == PARQUET:
        _pyarrow()


def write_table(rows: Sequence[Mapping[str, Any]], path: Path | str) -> Path:
    """Write rows with equal keys, whole or not at all; None is an empty field.

    Raises:
        MissingDependencyError: a Parquet file, without pyarrow.
        ParameterError: another ending.
        OSError: it cannot be written.
    """
    path = Path(path)
    check_table(path)
    if path.suffix.lower() == PARQUET:
        arrow, parquet = _pyarrow()
        columns = {key: [row[key] for row in rows] for key in rows[0]}
        with atomic_stream(path) as stream:
            parquet.write_table(arrow.table(columns), stream)
        return path
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _field(value) for key, value in row.items()} for row in rows)
    write_atomically(path, text.getvalue())
    return path


def _field(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value


def _pyarrow() -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingDependencyError(
            "a Parquet file needs pyarrow: pip install 'humans-sim[tables]', or give "
            "a file .csv"
        ) from None
