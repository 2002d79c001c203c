# SPDX-License-Identifier: Apache-2.0
"""The reference of the library: every public name of `hs` and of its packages.

Sections and summaries of `hs` are those of docs/api.md. A package's public names are
those of its ``__all__``; what `hs` has already is described there.
"""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

from generated_pages import contents, keep_only, literal, table, title, write

PACKAGE = "humans_sim"
_NAME = re.compile(r"^\| `([\w.]+)` \| (.+) \|$", re.M)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")


def sections(api: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Headings of docs/api.md with the names below them, each with what it is."""
    parts = re.split(r"^## (.+)$", api, flags=re.M)[1:]
    listed = zip(parts[::2], parts[1::2], strict=True)
    return [(heading, _NAME.findall(part)) for heading, part in listed]


def packages(library: Path) -> list[str]:
    """Packages below the library that list public names, by their dotted names."""
    files = sorted(library.glob("**/__init__.py"))
    listing = (path for path in files[1:] if "__all__" in path.read_text())
    return [".".join(path.parent.relative_to(library).parts) for path in listing]


def summary(value: Any) -> str:
    """The first line of a docstring of its own; nothing where there is none."""
    described = inspect.isroutine(value) or inspect.isclass(value)
    text = inspect.getdoc(value) if described else ""
    return (text or "").split("\n")[0]


def constant_text(package: Path, name: str) -> str:
    """What is written below a constant where the modules of a package assign it."""
    for path in sorted(package.rglob("*.py")):
        body = ast.parse(path.read_text()).body
        for node, text in pairwise(body):
            targets = getattr(node, "targets", [getattr(node, "target", None)])
            names = {part.id for part in targets if isinstance(part, ast.Name)}
            if name in names and isinstance(text, ast.Expr):
                return " ".join(str(ast.literal_eval(text.value)).split())
    return ""


def described(name: str, value: Any, text: str = "") -> list[str]:
    """The directive that documents a public name."""
    if inspect.isclass(value):
        return [f".. autoclass:: {name}", ""]
    if inspect.isroutine(value):
        return [f".. autofunction:: {name}", ""]
    if inspect.ismodule(value):
        return [f".. py:module:: {name}", ""]
    module, _, own = name.rpartition(".")
    return [
        f".. py:data:: {own}",
        f"   :module: {module}",
        f"   :type: {type(value).__name__}",
        "",
        f"   {text}",
        "",
    ]


def _rest(markdown: str) -> str:
    return _LINK.sub(r"\1", markdown).replace("`", "``")


def _library_pages(folder: Path, api: str, seen: dict[int, str]) -> list[str]:
    library = import_module(PACKAGE)
    pages = []
    for number, (heading, names) in enumerate(sections(api), 1):
        rows = [
            (f":py:obj:`hs.{name} <{PACKAGE}.{name}>`", _rest(text))
            for name, text in names
        ]
        lines = [*title(heading), *table(("name", "what it is"), rows)]
        for name, text in names:
            value = attrgetter(name)(library)
            seen[id(value)] = f"{PACKAGE}.{name}"
            lines += described(f"{PACKAGE}.{name}", value, text)
        pages.append(f"python/{number:02}_{heading.split()[0].lower()}")
        write(folder / f"{pages[-1]}.rst", lines)
    return pages


def _package_page(folder: Path, package: str, seen: dict[int, str]) -> str:
    module = import_module(f"{PACKAGE}.{package}")
    lines = [*title(f"{PACKAGE}.{package}"), (module.__doc__ or "").strip(), ""]
    rows, bodies = [], []
    for name in sorted(module.__all__):
        value, full = getattr(module, name), f"{PACKAGE}.{package}.{name}"
        if inspect.ismodule(value):
            rows.append((literal(name), (value.__doc__ or "").split("\n")[0]))
            continue
        text = summary(value)
        known = seen.setdefault(id(value), full) if text else full
        text = text or constant_text(Path(module.__file__ or "").parent, name)
        rows.append((f":py:obj:`{name} <{known}>`", text))
        if known == full:
            bodies += described(full, value, text)
    lines += [*table(("name", "what it is"), rows), *bodies]
    write(folder / "python" / f"{package}.rst", lines)
    return f"python/{package}"


def _module_page(folder: Path, library: Path) -> None:
    lines = [*title("Modules"), "Every module, and what is in it.", ""]
    by_folder: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(library.rglob("*.py")):
        place = path.relative_to(library.parent).with_suffix("")
        text = ast.get_docstring(ast.parse(path.read_text())) or ""
        name = ".".join(part for part in place.parts if part != "__init__")
        first = " ".join(text.split("\n\n")[0].split())
        by_folder.setdefault(place.parts[1], []).append((literal(name), first))
    for heading, rows in by_folder.items():
        if len(rows) > 1:
            lines += [*title(heading, "-"), *table(("module", "what is in it"), rows)]
    write(folder / "modules.rst", lines)


def _write_pages(app: Any, config: Any) -> None:
    source = Path(app.srcdir)
    library = Path(import_module(PACKAGE).__file__ or "").parent
    folder, seen = source / "reference", {}
    pages = _library_pages(folder, (source / "api.md").read_text(), seen)
    inner = [_package_page(folder, name, seen) for name in packages(library)]
    names = [page.removeprefix("python/") for page in [*pages, *inner]]
    keep_only(folder / "python", [f"{name}.rst" for name in names])
    lines = title("The library, name by name")
    lines += ["``import humans_sim as hs`` gives these:", "", *contents(pages)]
    lines += ["Packages have more public names:", "", *contents(inner)]
    write(folder / "python.rst", lines)
    _module_page(folder, library)


def setup(app: Any) -> dict[str, bool]:
    """Extend Sphinx."""
    app.connect("config-inited", _write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
