# SPDX-License-Identifier: Apache-2.0
"""What the code of nodes declares: topics, services, actions, parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

MAKERS = {
    "create_publisher": "Publishes",
    "create_subscription": "Takes",
    "create_service": "Services",
    "_serve": "Services",
    "create_deferred_service": "Services",
    "PatientServer": "Actions",
    "ActionServer": "Actions",
}
QOS_PLACE = {"create_publisher": 2, "create_subscription": 3}
"""Which argument is the quality of service."""
NODE_FIRST = {"create_deferred_service", "PatientServer", "ActionServer"}
"""Those whose first argument is the node."""
WITH_DEFAULT = {"number", "changeable_number", "count", "choice"}
WITH_DEFAULT |= {"choices", "text", "flag", "declare_parameter"}
"""Declarations of a parameter: name, default, description."""
WITHOUT_DEFAULT = {"numbers", "path", "texts"}
"""Declarations of a parameter: name, description; empty where nothing is given."""
OWN = "topic"
"""What puts a topic into the namespace of a robot; the reference has it without."""
SETTING = "setting"
"""Fields of settings: default, description; the name may be given by ``name``."""


@dataclass
class Declarations:
    """What the files of a node declare.

    Attributes:
        docstring: of the node's module.
        interfaces: rows of name and type, by heading.
        qos: quality of service of topics, by heading and name.
        parameters: name, default and description of each.
    """

    docstring: str = ""
    interfaces: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    qos: dict[tuple[str, str], str] = field(default_factory=dict)
    parameters: list[tuple[str, str, str]] = field(default_factory=list)


class Module:
    """A file of a node.

    Args:
        path: the file.
        names: functions and classes of it that the node uses; all unless given.
    """

    def __init__(self, path: Path, names: set[str] | None = None) -> None:
        self._path = path
        self.tree = ast.parse(path.read_text())
        if names is not None:
            self._keep(names)
        self._names = _names_in(self.tree)
        self._types: dict[str, str] = {}
        self._values: dict[str, list[ast.expr]] = {}
        self._imports: dict[str, str] = {}
        self.uses: dict[str, set[str]] = {}
        self.fields: dict[ast.expr, str] = {}
        self._function: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(self.tree):  # outer functions come first
            if isinstance(node, ast.FunctionDef):
                self._function |= dict.fromkeys(ast.walk(node), node)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                self._take_import(node)
            elif isinstance(node, ast.Assign):
                self._take_assignment(node)
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self.fields[node.value] = ast.unparse(node.target)

    def _keep(self, names: set[str]) -> None:
        """Forget the functions and classes that neither the node uses nor these do."""
        kinds = (ast.ClassDef, ast.FunctionDef)
        defined = {n.name: n for n in self.tree.body if isinstance(n, kinds)}
        kept, found = set[str](), names & set(defined)
        while found:
            kept |= found
            used = set().union(*(_names_in(defined[name]) for name in found))
            found = used & set(defined) - kept
        self.tree.body = [
            n for n in self.tree.body if not isinstance(n, kinds) or n.name in kept
        ]

    def _take_import(self, node: ast.ImportFrom) -> None:
        package, _, kind = (node.module or "").rpartition(".")
        for alias in node.names:
            if kind in ("msg", "srv", "action"):
                self._types[alias.asname or alias.name] = f"{package}/{alias.name}"
            self._imports[alias.asname or alias.name] = node.module or ""
        if (node.module or "").startswith("humans_sim.nodes."):
            used = {alias.name for alias in node.names} & self._names
            self.uses.setdefault(node.module or "", set()).update(used)

    def _take_assignment(self, node: ast.Assign) -> None:
        for target in node.targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=True))
            for name, value in pairs:
                self._values.setdefault(ast.unparse(name), []).append(value)

    def _value(self, node: ast.expr) -> ast.expr | None:
        """What a name stands for: what was assigned to it last before a place."""
        values = self._values.get(ast.unparse(node), [])
        if isinstance(node, ast.Name):
            places = {None, self._function.get(node)}
            values = [v for v in values if self._function.get(v) in places]
        before = [value for value in values if value.lineno <= node.lineno]
        return max(before or values, key=lambda v: v.lineno, default=None)

    def calls(self) -> Iterator[tuple[str, ast.Call]]:
        """Calls, each with the name of what is called, aliases resolved."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                alias = self._value(node.func)
                if "." not in name and alias is not None:
                    name = ast.unparse(alias)
                yield name.rpartition(".")[2], node

    def arguments_of(self, call: ast.Call, text: str) -> Iterator[str]:
        """A text with the arguments that the enclosing function is called with."""
        for function in ast.walk(self.tree):
            if isinstance(function, ast.FunctionDef) and call in ast.walk(function):
                names = [argument.arg for argument in function.args.args]
                for name, caller in self.calls():
                    if name != function.name or len(caller.args) != len(names):
                        continue
                    filled = text
                    for argument, value in zip(names, caller.args, strict=True):
                        if isinstance(value, ast.Constant):
                            filled = filled.replace(f"<{argument}>", str(value.value))
                    yield filled

    def loops(self, call: ast.Call) -> Iterator[dict[str, str]]:
        """Texts of ``for name, text in TABLE.items()`` around a call, in each turn."""
        for loop in ast.walk(self.tree):
            if not isinstance(loop, ast.For) or call not in ast.walk(loop):
                continue
            name, _, method = ast.unparse(loop.iter).rpartition(".")
            if method != "items()":
                continue
            names = [ast.unparse(part) for part in getattr(loop.target, "elts", [])]
            for texts in self._rows(name):
                yield dict(zip(names, texts, strict=True))

    def _rows(self, name: str) -> Iterator[tuple[str, str]]:
        """Keys and values of a table of this module, or of one that it imports."""
        table = self._values.get(name, [None])[0]
        if isinstance(table, ast.Dict):
            for key, value in zip(table.keys, table.values, strict=True):
                if key is not None:
                    yield self.text_of(key), self.text_of(value)
        elif self._imports.get(name, "").startswith("humans_sim.applications."):
            yield from getattr(import_module(self._imports[name]), name).items()

    def alternatives(self, call: ast.Call) -> list[str]:
        """The other text that the first argument may be: ``a if ... else b``."""
        known = self._value(call.args[0]) if call.args else None
        return [self.text_of(known.orelse)] if isinstance(known, ast.IfExp) else []

    def type_of(self, node: ast.expr) -> str:
        """The type that an expression names, as ROS 2 writes it."""
        if isinstance(node, ast.IfExp):
            return f"{self.type_of(node.body)} or {self.type_of(node.orelse)}"
        name = ast.unparse(node)
        if name in self._types:
            return self._types[name]
        known = self._value(node)
        return self.type_of(known) if known is not None else ""

    def qos_of(self, node: ast.expr) -> str:
        """A quality of service in words: reliable with its depth, or latched."""
        if isinstance(node, ast.Constant):
            return f"reliable, {node.value}"
        if isinstance(node, ast.Call):
            return "latched" if ast.unparse(node) == "latched()" else ""
        known = self._value(node)
        if known is not None:
            return self.qos_of(known)
        module = self._imports.get(ast.unparse(node), "")
        if not module.startswith("humans_sim.nodes."):
            return ""
        library = next(p for p in self._path.parents if p.name == "humans_sim")
        path = library.parent / Path(*module.split(".")).with_suffix(".py")
        return Module(path).qos_of(ast.Name(ast.unparse(node), lineno=10**6))

    def usual_model(self) -> str:
        """The model that a class of the file works on where none is named."""
        values = self._values.get("usual_model", [])
        return self.text_of(values[0]) if values else ""

    def text_of(self, node: ast.expr) -> str:
        """The text of an expression; what is known at run time only as ``<name>``."""
        if isinstance(node, ast.JoinedStr):
            return "".join(self.text_of(part) for part in node.values)
        if isinstance(node, ast.FormattedValue):
            node = node.value
        if isinstance(node, ast.Call) and _name_of(node.func) == OWN:
            return self.text_of(node.args[0])
        known = self._value(node)
        if isinstance(known, ast.IfExp):
            known = known.body
        if isinstance(known, ast.Constant | ast.JoinedStr):
            return self.text_of(known)
        try:
            return str(ast.literal_eval(node))
        except ValueError:
            name = ast.unparse(node)
            return self._imported(node) or f"<{name.rpartition('.')[2].strip('_')}>"

    def _imported(self, node: ast.expr) -> str:
        """The text of a constant of another module of the library; else nothing."""
        first = node.value if isinstance(node, ast.Subscript) else node
        module = self._imports.get(ast.unparse(first), "")
        if not module.startswith("humans_sim.") or "nodes" in module.split("."):
            return ""
        value = getattr(import_module(module), ast.unparse(first))
        if isinstance(node, ast.Subscript):
            if not isinstance(node.slice, ast.Constant):
                return ""
            value = value[node.slice.value]
        return str(value) if isinstance(value, str | int | float) else ""


def _read(modules: list[Module]) -> Declarations:
    found = Declarations(ast.get_docstring(modules[0].tree) or "")
    found.interfaces = {heading: [] for heading in MAKERS.values()}
    seen = set()
    for module in modules:
        for name, call in module.calls():
            if name in MAKERS:
                first = 1 if name in NODE_FIRST else 0
                kind = module.type_of(call.args[first]) if call.args[first:] else ""
                if kind and len(call.args) > first + 1:
                    topic = module.text_of(call.args[first + 1])
                    found.interfaces[MAKERS[name]].append((topic, kind))
                    place = QOS_PLACE.get(name, len(call.args))
                    if place < len(call.args):
                        qos = module.qos_of(call.args[place])
                        found.qos[MAKERS[name], topic] = qos
            for row in _parameters(module, name, call):
                if row[0] not in seen:
                    seen.add(row[0])
                    found.parameters.append(_with_model(modules, row))
    return found


def _with_model(
    modules: list[Module], row: tuple[str, str, str]
) -> tuple[str, str, str]:
    """The parameter ``model`` with the model that a node's class names."""
    if row[0] != "model":
        return row
    return row[0], next(filter(None, (m.usual_model() for m in modules)), ""), row[2]


def _parameters(
    module: Module, name: str, call: ast.Call
) -> Iterator[tuple[str, str, str]]:
    """Rows of a declaration: one for each call of the function that it is in."""
    row = _parameter(module, name, call)
    if row is None:
        return
    for turn in module.loops(call):
        filled = list(row)
        for name, text in turn.items():
            filled = [cell.replace(f"<{name}>", text) for cell in filled]
        yield filled[0], filled[1], filled[2]
    prefixes = list(module.arguments_of(call, row[0]))
    for text in [row[0], *prefixes, *module.alternatives(call)]:
        if not text.startswith("<") or text.startswith("<kind>"):
            yield text, row[1], row[2]


def _parameter(
    module: Module, name: str, call: ast.Call
) -> tuple[str, str, str] | None:
    texts = [module.text_of(argument) for argument in call.args[:3]]
    owner = ast.unparse(call.func).rpartition(".")[0]
    if name == "declare_parameter" and len(texts) >= 2:
        default = texts[1] if texts[1][:1] != "<" else "derived"
        return texts[0], default, ""
    if name == SETTING and len(texts) >= 2 and call in module.fields:
        own = [module.text_of(k.value) for k in call.keywords if k.arg == "name"]
        default = "" if texts[0] in ("None", "()") else texts[0]
        default = default if default[:1] != "<" else "derived"
        return (own or [module.fields[call]])[0], default, texts[1]
    if name == "request_folder":
        return name, "", "files of requests are in it; empty: where the node began"
    if owner not in ("given", "parameters", "Parameters(self)", "") or not texts:
        return None
    if name in WITH_DEFAULT and len(texts) == 3:
        default = texts[1] if texts[1][:1] != "<" else "derived"
        return texts[0], default, texts[2]
    if name in WITHOUT_DEFAULT and len(texts) >= 2:
        return texts[0], "", texts[1]
    return None


def _name_of(function: ast.expr) -> str:
    """The last part of the name of what is called."""
    return ast.unparse(function).rpartition(".")[2]


def _names_in(tree: ast.AST) -> set[str]:
    """Names that a piece of code refers to."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _with_used(folder: Path, files: list[Path]) -> list[Module]:
    """Modules of these files, and what they use of other files of nodes."""
    library = folder.parents[1]
    modules = {path: Module(path) for path in files}
    used: dict[Path, set[str]] = {}
    open_paths = list(modules)
    while open_paths:
        for module, names in modules[open_paths.pop(0)].uses.items():
            path = library / Path(*module.split(".")).with_suffix(".py")
            if path in files or not path.exists() or names <= used.get(path, set()):
                continue
            used[path] = used.get(path, set()) | names
            modules[path] = Module(path, used[path])
            open_paths.append(path)
    return list(modules.values())


def nodes_of(folder: Path) -> dict[str, Declarations]:
    """What each node of a folder declares, by its name."""
    scripts = sorted(path.name for path in (folder.parents[1] / "scripts").iterdir())
    found = {}
    for name in scripts:
        inner = folder / name
        files = [inner.with_suffix(".py")]
        if (inner / "node.py").is_file():
            rest = sorted(inner.glob("*.py"))
            files = [inner / "node.py", *rest]
        found[name] = _read(_with_used(folder, files))
    return found
