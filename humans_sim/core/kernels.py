# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels whose machine code is kept, and is what their sources say.

Numba's own cache looks at the file of the called function alone: after a change in a
file that it calls, old machine code would run on. Here the machine code of a module is
kept in a folder named by a hash of the module, of all modules of the package that it
imports (and they import), of the versions of Python, numba and LLVM, of the processor
and of numba's flags. Another text, another folder; the old one is removed. Processes
side by side compile a kernel once: the others wait for it.

The folders lie in ``__pycache__/kernels`` of the package; where that is read-only, in
the user's cache (``~/.cache/humans_sim``); in ``NUMBA_CACHE_DIR`` where that is set;
where nothing can be written, in a folder that ends with the process.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import math
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import config, njit, types
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parents[1]
_NAME = PACKAGE.name
_IMPORT = re.compile(
    rf"^(?:from|import) ({_NAME}[\w.]*)(?: import (\([^)]*\)|[^\n]*))?", re.M
)
"""Imports of the package's own modules; those in functions are no kernels' names."""
_FLAGS = (
    *("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "BOUNDSCHECK"),
    *("CPU_NAME", "CPU_FEATURES", "DEBUGINFO_DEFAULT", "DISABLE_INTEL_SVML"),
)
_UNUSED_DAYS = 30.0
"""Machine code that nobody loaded for so long, for example of another Python [days]."""
_CLOCK_STEP = 0.05
"""A change of a file may bear a time so much before that of the clock [s]."""


def kernel(
    function: Function | None = None, borrows: bool = False, **options: Any
) -> Any:
    """Compile a function at its first call, or load its machine code.

    Args:
        function: what numba compiles in its nopython mode.
        borrows: whether it makes no arrays and returns none: then no references are
            counted in it, as if all its arguments were :func:`lent`.
        options: those of ``numba.njit``, for example ``error_model="numpy"``.
    """
    if function is None:
        return lambda function: kernel(function, borrows, **options)
    if borrows:
        options["_nrt"] = False
    dispatcher = njit(**options)(function)
    # With NUMBA_DISABLE_JIT it is the function itself; others' kernels are not kept.
    if dispatcher is not function and function.__module__.startswith(f"{_NAME}."):
        dispatcher._cache = _KernelCache(function)
        compile_kernel = dispatcher.compile

        def compile_once(signature: Any) -> Any:
            # Threads share the cache: one of them loads or compiles, the others wait.
            with global_compiler_lock:
                try:
                    code = compile_kernel(signature)
                    for made in dispatcher.overloads.values() if borrows else ():
                        if "array" in str(made.signature.return_type):
                            raise TypeError(f"{function.__name__} returns an array")
                    return code
                finally:
                    dispatcher._cache.release()

        dispatcher.compile = compile_once
    return dispatcher


@intrinsic  # type: ignore[misc]
def lent(typing: Any, arrays: Any) -> tuple[Any, Any]:
    """Arrays, or tuples of arrays, whose references numba does not count.

    Numba counts a reference for every name that an array gets and for every row that is
    taken of one, a locked operation each: a third of a time step. What a caller holds
    as long as the kernel runs needs no counting in it. It may not be returned.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], args[0])

    return arrays(arrays), generate


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The code of :func:`lent`."""
    from numba.np.arrayobj import make_array

    if isinstance(kind, types.Array):
        array = make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for k, part in enumerate(kind):
            inner = builder.extract_value(value, k)
            inner = _without_owner(context, builder, part, inner)
            value = builder.insert_value(value, inner, k)
    return value


@intrinsic(prefer_literal=True)  # type: ignore[misc]
def small_vector(typing: Any, size: Any) -> tuple[Any, Any]:
    """An array of a few numbers, not set, that ends with the kernel that makes it.

    It lies where a kernel keeps its variables: what ``np.empty`` costs, a tenth of a
    microsecond, is spared. The size is written as a number; it may not be returned.
    """
    return _on_stack(size)


@intrinsic(prefer_literal=True)  # type: ignore[misc]
def small_matrix(typing: Any, rows: Any, columns: Any) -> tuple[Any, Any]:
    """The same with rows and columns."""
    return _on_stack(rows, columns)


def _on_stack(*sizes: Any) -> tuple[Any, Any]:
    """Type and code of a small array."""
    from numba.np.arrayobj import make_array, populate_array

    shape = [size.literal_value for size in sizes]
    kind = types.Array(types.float64, len(shape), "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        def number(value: int) -> Any:
            return context.get_constant(types.intp, value)

        array = make_array(kind)(context, builder)
        populate_array(
            array,
            data=cgutils.alloca_once(
                builder, context.get_data_type(types.float64), size=math.prod(shape)
            ),
            shape=[number(size) for size in shape],
            strides=[number(8 * math.prod(shape[k + 1 :])) for k in range(len(shape))],
            itemsize=number(8),
            meminfo=None,
        )
        return array._getvalue()

    return kind(*sizes), generate


if config.DISABLE_JIT:

    def lent(arrays: Any) -> Any:  # type: ignore[no-redef]  # noqa: D103
        return arrays

    def small_vector(size: int) -> Any:  # type: ignore[no-redef]  # noqa: D103
        return np.empty(size)

    def small_matrix(rows: int, columns: int) -> Any:  # type: ignore[no-redef]  # noqa: D103
        return np.empty((rows, columns))


def source_hash(module: str) -> str:
    """Hash of a module and of all modules of the package that it can see."""
    return _sources(module)[0]


def are_kernels_kept() -> bool:
    """Whether another process will find what this one compiles."""
    return cache_root() not in _passing


@cache
def cache_root() -> Path:
    """Folder that holds the folders of machine code."""
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given) / _NAME
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    # Several installations of a user do not remove each other's.
    place = hashlib.sha256(os.fsencode(PACKAGE)).hexdigest()[:8]
    for folder in (PACKAGE / "__pycache__" / "kernels", Path(home) / _NAME / place):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    # A name that others could foresee would let them put code of theirs there.
    folder = Path(tempfile.mkdtemp(prefix=f"{_NAME}-kernels-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)  # for the processes it starts
    _passing.append(folder)
    return folder


_passing: list[Path] = []
"""The folder of machine code that ends with this process, if there is one."""


@cache
def _platform_hash() -> str:
    """Hash of all but the sources that machine code depends on."""
    parts = (
        *(sys.implementation.cache_tag, sys.abiflags, platform.machine()),
        *(numba.__version__, version("llvmlite")),  # which brings LLVM
        *cpu_target.target_context.codegen().magic_tuple(),  # the processor
        *((flag, getattr(config, flag, None)) for flag in _FLAGS),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


@cache
def _file(module: str) -> Path | None:
    """Source of a module of the package; None where it is a name in a module."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


@cache
def _read(module: str) -> tuple[bytes, tuple[str, ...], float]:
    """Hash of a module's text, the modules it imports, its last change [s]."""
    path = _file(module)
    assert path is not None
    text = path.read_bytes()
    imported: set[str] = set()
    for source, names in _IMPORT.findall(text.decode("utf-8")):
        parts = re.findall(r"\w+", names)
        imported.update((source, *(f"{source}.{name}" for name in parts)))
    seen = tuple(sorted(name for name in imported if _file(name) is not None))
    return hashlib.sha256(text).digest(), seen, path.stat().st_ctime


@cache
def _sources(module: str) -> tuple[str, float]:
    """Hash of a module and of what it sees, and the last change among them [s]."""
    seen: dict[str, tuple[bytes, float]] = {}
    open_names = [module]
    while open_names:
        name = open_names.pop()
        if name not in seen:
            digest, imported, changed = _read(name)
            seen[name] = digest, changed
            open_names += imported
    total = hashlib.sha256()
    for name in sorted(seen):
        total.update(name.encode() + b"\0" + seen[name][0])
    return total.hexdigest()[:16], max(changed for _, changed in seen.values())


@cache
def _module_folder(module: str) -> Path:
    """Folder of a module's machine code; older ones are removed with its making."""
    root = cache_root()
    start = f"{module}.{_platform_hash()}."
    folder = root / f"{start}{source_hash(module)}"
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for other in _outdated(root, start):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
    elif time.time() - folder.stat().st_mtime > 86400.0:
        os.utime(folder)
    return folder


def _outdated(root: Path, start: str) -> Iterator[Path]:
    """Folders of one module's other sources, and those nobody used for long."""
    for folder in root.iterdir():
        try:
            age = time.time() - folder.stat().st_mtime
        except OSError:  # another process removes it, too
            continue
        if folder.name.startswith(start) or age > _UNUSED_DAYS * 86400.0:
            yield folder


class _Locator(_CacheLocator):  # type: ignore[misc]
    """Where numba keeps the machine code of a kernel of the package."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._module = function.__module__
        self._line = function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func)

    def get_cache_path(self) -> str:
        return str(_module_folder(self._module))

    def get_source_stamp(self) -> str:
        return ""  # the folder's name says it

    def get_disambiguator(self) -> str:
        return str(self._line)


class _CacheImplementation(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """Machine code of one kernel: opened at its first use, compiled by one process."""

    _impl_class = _CacheImplementation

    def __init__(self, function: Callable[..., Any]) -> None:
        self._py_func = function
        self._name = repr(function)
        self._enabled = True
        self._imported = time.time()
        self._lock: int | None = None
        self._opened = False

    def _open(self) -> None:
        """Look for the folder, which hashes sources: not at import."""
        if self._opened:
            return
        self._opened = True
        enabled = self._enabled
        super().__init__(self._py_func)
        # A source that changed after its import is not what will be compiled here.
        changed = _sources(self._py_func.__module__)[1]
        begin = self._imported - _CLOCK_STEP
        self._enabled = enabled and not begin < changed <= time.time()

    @property
    def cache_path(self) -> str:
        self._open()
        return str(self._cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        self._open()
        loaded = super().load_overload(sig, target_context)
        if loaded is None and self._enabled and self._lock is None:
            self._acquire()
            # Another process may have compiled it meanwhile.
            loaded = super().load_overload(sig, target_context)
        return loaded

    def _acquire(self) -> None:
        """Wait for other processes that compile this kernel."""
        path = Path(self.cache_path) / f"{self._impl.filename_base}.lock"
        try:
            self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            fcntl.lockf(self._lock, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: compiled twice, no harm
            self.release()

    def release(self) -> None:
        """Let other processes compile or load it; nothing where none waits."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
