# SPDX-License-Identifier: Apache-2.0
"""Damaged and hostile files, made of sound ones by chance; the same for equal seeds."""

from __future__ import annotations

import io
import json
import random
import re
import struct
import warnings
import zipfile
from collections.abc import Callable

import numpy as np

NUMBERS = (
    "nan inf -inf 1e400 -1e400 1e308 -1e308 1e-320 0 -0 -1 1 2 1e9 -1e9 1e18 "
    "9223372036854775808 0x10 1_0 ٣ 1e 1,5 .. --1 1/0 2**9 true null ~"
).split()
WORDS = ("", "a" * 300, "../../x", "\0", "\u202e", "%s%n", "{side}", "${w}", "human36")
WORDS += ("evil.xacro", "/dev/zero", "null", "~", "*", "&a", "!!python/name:os", "<<")
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w-]*")


def damaged(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """A file after one to four accidents.

    Args:
        data: the sound file.
        chance: source of randomness.
        others: files to take pieces from.
    """
    if zipfile.is_zipfile(io.BytesIO(data)) and chance.random() < 0.7:
        return _archive(data, chance)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 4))):
        data = chance.choice(_ACCIDENTS)(data, chance, others)
    return data[: 1 << 22]


def harmless(data: bytes, chance: random.Random, form: str) -> bytes:
    """A file that means the same: white space, comments, order of keys.

    Args:
        data: the sound file.
        chance: source of randomness.
        form: ``yaml``, ``xml``, ``json`` or ``table``.
    """
    text = data.decode()
    if form == "json":
        pairs = list(json.loads(text).items())
        chance.shuffle(pairs)
        return json.dumps(dict(pairs), indent=chance.choice((None, 1, 8))).encode()
    kind = chance.randrange(4)
    if kind == 0:
        text = text.rstrip("\n") + "\n" * chance.choice((0, 1, 2, 5))
    elif kind == 1:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    elif form == "yaml":
        text = _other_yaml(text, chance)
    elif form == "xml":
        text = _other_xml(text, chance)
    return text.encode()


def _other_yaml(text: str, chance: random.Random) -> str:
    """Top-level keys in another order, comments or blanks at ends of lines."""
    parts = re.split(r"(?m)^(?=[A-Za-z_\"'])", text)
    if chance.random() < 0.5 and len(parts) > 2:
        head, rest = parts[0], [part.rstrip("\n") + "\n" for part in parts[1:]]
        chance.shuffle(rest)
        return head + "".join(rest)
    lines = text.split("\n")
    for k in chance.sample(range(len(lines)), min(3, len(lines))):
        if lines[k].strip() and lines[k].count('"') % 2 == 0:
            lines[k] += chance.choice(("  ", "  # a note: {x: 1}", "\n", "\n# -"))
    return "\n".join(lines)


def _other_xml(text: str, chance: random.Random) -> str:
    """Blanks and comments between elements, attributes in another order."""
    if chance.random() < 0.5:
        between = chance.choice(("> <", ">\n\t<", "><!-- <mass value='9'/> --><"))
        return re.sub(r">\s*<(?![!?])", lambda _: between, text)

    def turned(tag: re.Match[str]) -> str:
        attributes = re.findall(r'[\w:]+="[^"]*"', tag[2])
        chance.shuffle(attributes)
        return f"<{tag[1]} {'  '.join(attributes)} {tag[3]}>"

    return re.sub(r'<([\w:]+)((?:\s+[\w:]+="[^"]*")+)\s*(/?)>', turned, text)


def _bits(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    changed = bytearray(data)
    for _k in range(chance.choice((1, 1, 4, 32)) if changed else 0):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _cut(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _hole(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    begin = chance.randrange(len(data) + 1)
    return data[:begin] + data[begin + chance.choice((1, 4, 64, 4096)) :]


def _splice(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    other = chance.choice(others)
    begin, end = sorted(chance.randrange(len(other) + 1) for _ in range(2))
    place = chance.randrange(len(data) + 1)
    return data[:place] + other[begin : min(end, begin + 5000)] + data[place:]


def _lines(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    lines = data.split(b"\n")
    k = chance.randrange(len(lines))
    what = chance.randrange(5)
    if what == 0:
        lines[k : k + 1] = [lines[k]] * chance.choice((2, 3, 200))
    elif what == 1:
        del lines[k]
    elif what == 2:
        j = chance.randrange(len(lines))
        lines[j], lines[k] = lines[k], lines[j]
    elif what == 3:
        lines[k] = b"  " * chance.randrange(4) + lines[k].lstrip()
    else:
        lines[k] = lines[k][: chance.randrange(len(lines[k]) + 1)]
    return b"\n".join(lines)


def _number(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    numbers = list(_NUMBER.finditer(data))
    if not numbers:
        return data
    digits = chance.choice((30, 400, 5000))
    others = ("9" * digits, "-" + "9" * digits, "0." + "0" * digits + "1", "1" + "e9")
    new = chance.choice(NUMBERS if chance.random() < 0.8 else others).encode()
    for one in chance.sample(numbers, min(len(numbers), chance.choice((1, 1, 1, 3)))):
        if data[one.start() : one.end()] == one[0]:
            data = data[: one.start()] + new + data[one.end() :]
    return data


def _word(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    words = list(_WORD.finditer(data))
    if not words:
        return data
    one = chance.choice(words)
    new = chance.choice(WORDS).encode()
    if chance.random() < 0.5:
        new = chance.choice(words)[0]
    return data[: one.start()] + new + data[one.end() :]


def _nesting(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    count = chance.choice((3, 40, 1000, 20_000))
    opened, closed = chance.choice(
        ((b"[", b"]"), (b"{a: ", b"}"), (b"<a>", b"</a>"), (b"- ", b""), (b"(", b")"))
        + ((b"-", b""), (b"{", b"}"), (b'"', b""), (b"!!", b""))
    )
    place = chance.randrange(len(data) + 1)
    if chance.random() < 0.7 and b":" in data:
        place = data.index(b":", chance.randrange(data.rindex(b":") + 1)) + 2
    close = closed * count if chance.random() < 0.7 else b""
    return data[:place] + opened * count + b"1" + close + data[place:]


def _bytes(data: bytes, chance: random.Random, _: list[bytes]) -> bytes:
    new = chance.choice(
        (b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\t", b"\x80", b"\x1a", b"\n\n")
        + (
            chance.randbytes(8),
            b",",
            b";",
            b":",
            b'"',
            b"'",
            b"#",
            b"&a ",
            b"*a",
            b"<<",
        )
    )
    place = chance.choice((0, len(data), chance.randrange(len(data) + 1)))
    return data[:place] + new + data[place:]


_ACCIDENTS: tuple[Callable[[bytes, random.Random, list[bytes]], bytes], ...] = (
    *(_bits, _cut, _hole, _splice, _lines, _lines, _number, _number, _number),
    *(_word, _word, _nesting, _bytes),
)


def _archive(data: bytes, chance: random.Random) -> bytes:
    """An archive with a member that is not what it should be."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    k = chance.randrange(len(members))
    name, content = members[k]
    if chance.random() < 0.3:
        k = next(i for i, (n, _) in enumerate(members) if n == "header.npy")
        name, content = members[k]
        content = _header(content, chance)
    elif chance.random() < 0.5:
        content = _array(content, chance)
    else:
        content = damaged(content, chance, [b"abc", *(c for _, c in members)])
    members[k] = (chance.choice((name,) * 6 + ("x.npy", "../" + name)), content)
    if chance.random() < 0.1:
        members.append(chance.choice(members))
    if chance.random() < 0.05:
        del members[chance.randrange(len(members))]
    stream = io.BytesIO()
    method = chance.choice(
        (zipfile.ZIP_DEFLATED,) * 4 + (zipfile.ZIP_STORED,) * 3 + (zipfile.ZIP_BZIP2,)
    )
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", method) as archive:
        warnings.simplefilter("ignore")  # names that are there twice
        for name, content in members:
            archive.writestr(name, content)
    made = stream.getvalue()
    return _entries(made, chance) if chance.random() < 0.25 else made


def _entries(data: bytes, chance: random.Random) -> bytes:
    """Fields of the archive's own tables set to something else."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 2))):
        mark = chance.choice((b"PK\3\4", b"PK\1\2", b"PK\5\6"))
        places = [match.start() for match in re.finditer(mark, data)]
        if not places:
            continue
        place = chance.choice(places) + 4 + 2 * chance.randrange(12)
        new = chance.choice((0, 1, 8, 12, 14, 99, 0xFFFF, chance.randrange(0x10000)))
        if place + 2 <= len(changed):
            struct.pack_into("<H", changed, place, new)
    return bytes(changed)


def _header(content: bytes, chance: random.Random) -> bytes:
    """The header with a value of its JSON changed."""
    text = str(np.load(io.BytesIO(content)))
    value: object = json.loads(text)
    holder, key = _place(value, chance)
    odd: tuple[object, ...] = (None, -1, 1.5, "x", [], {}, True, 10**30, float("nan"))
    odd += ("evil.xacro", {"name": "evil.xacro"}, [[]], "\0", 10**400, float("inf"))
    if holder is None:
        text = json.dumps(chance.choice(odd))
    else:
        if chance.random() < 0.3 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = chance.choice(odd)
        text = json.dumps(value)
    if chance.random() < 0.1:
        text = text.replace(":", ":" + "[" * chance.choice((50, 5000)), 1)
    stream = io.BytesIO()
    np.save(stream, np.array(text))
    return stream.getvalue()


def _place(value: object, chance: random.Random) -> tuple[object, object]:
    """A container somewhere in a value, and one of its keys."""
    holder: object = None
    key: object = None
    while isinstance(value, dict | list) and value and chance.random() < 0.8:
        holder = value
        key = chance.choice(list(value)) if isinstance(value, dict) else None
        key = chance.randrange(len(value)) if isinstance(value, list) else key
        value = holder[key]  # type: ignore[index]
    return holder, key


def _array(content: bytes, chance: random.Random) -> bytes:
    """An array of another shape, kind or content."""
    try:
        array = np.load(io.BytesIO(content))
    except ValueError:
        return content
    what = chance.randrange(8)
    if what == 0 and array.size and array.dtype.kind == "f":
        array.flat[chance.randrange(array.size)] = chance.choice(
            (np.nan, np.inf, -np.inf, 1e308, -1.0)
        )
    elif what == 1 and array.ndim:
        array = array[::-1]
    elif what == 2 and array.ndim:
        array = array[: chance.randrange(len(array) + 1)]
    elif what == 3 and array.dtype.kind != "U":
        array = array.astype(chance.choice(("U5", "i1", "f2", "c16", "S3", "u8", "?")))
    elif what == 4:
        array = array[None]
    elif what == 5:
        array = np.zeros(chance.choice((10**6, 3 * 10**7)), np.uint8)
    elif what == 6:
        array = np.array([{}], dtype=object)
    elif array.ndim:
        array = np.asfortranarray(array.T)
    stream = io.BytesIO()
    np.save(stream, array)
    made = bytearray(stream.getvalue())
    if chance.random() < 0.3:  # a header of numpy that is no dictionary, or lies
        place = chance.randrange(min(len(made), 128))
        made[place] = chance.randrange(256)
    return bytes(made)
