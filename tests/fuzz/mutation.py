"""Damage: bits, numbers, words, blocks, ends and encodings of a file, and pieces of others."""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence

import numpy as np

Rng = np.random.Generator

NUMBERS = (
    b"nan", b"inf", b"-inf", b"1e308", b"-1e308", b"1e200", b"1e-320", b"-0", b"0", b"-1", b"1e999", b"", b"1e5",
    b"0x10", b"9" * 400, b"18446744073709551616", b"-9223372036854775809", b"4294967295", b"1_000", b"1,5", b"\xd9\xa3",
    b"true", b"null", b'"x"', b"[]", b"{}", b"2147483648", b"0.1e", b"1e", b"--1", b"+5",
)  # fmt: skip
"""What numbers in texts become."""

WORDS = (
    b"", b"a" * 5000, b"\xff\xfe", "\u202e\u0000é".encode(), b"[red]", b"<script>", b"../../etc/passwd", b"${HOME}",
    b"%s%n", b"nan", b"builtin:two_link", b"/dev/zero", b"__class__", b"\\u0000", b"'", b'"', b"]]>", b"[" * 3000,
)  # fmt: skip
"""What words in texts become."""

_NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w.:/-]*")


def mutated(rng: Rng, content: bytes, others: Sequence[bytes]) -> bytes:
    """A file with one to four damages; archives are sometimes damaged within, with checksums that hold."""
    if content[:2] == b"PK" and rng.random() < 0.6:
        return _within_archive(rng, content, others)
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.6:
        return _packed(mutated(rng, zlib.decompress(content, 31), others))
    is_text = b"\0" not in content[:2000] and sum(byte > 127 for byte in content[:2000]) < 100
    ways = (*BYTES, *TEXT, *TEXT) if is_text else (*BYTES, _double, _integer)
    for _ in range(int(rng.choice([1, 1, 1, 2, 3, 4]))):
        way = ways[rng.integers(len(ways))]
        content = way(rng, content or b"\n", others)
    return content[:3_000_000]


def _within_archive(rng: Rng, content: bytes, others: Sequence[bytes]) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, NotImplementedError, OSError, zlib.error):
        return content[: len(content) // 2]
    chosen = sorted(members)[rng.integers(len(members))]
    if rng.random() < 0.1:
        del members[chosen]
    else:
        members[chosen] = mutated(rng, members[chosen], [*others, *members.values()])
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return packed.getvalue()


def _packed(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(content) + packer.flush()


def _span(rng: Rng, content: bytes, longest: int = 300) -> tuple[int, int]:
    start = int(rng.integers(len(content)))
    return start, min(len(content), start + int(rng.integers(1, longest)))


def _flip(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    changed = bytearray(content)
    for at in rng.integers(len(content), size=int(rng.choice([1, 2, 8]))):
        changed[int(at)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _random_bytes(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    start, stop = _span(rng, content, 20)
    return content[:start] + rng.bytes(stop - start) + content[stop:]


def _truncate(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    return content[: rng.integers(len(content))]


def _remove(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    start, stop = _span(rng, content)
    return content[:start] + content[stop:]


def _repeat(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    start, stop = _span(rng, content)
    return content[:start] + content[start:stop] * int(rng.choice([2, 3, 50, 1000])) + content[stop:]


def _splice(rng: Rng, content: bytes, others: Sequence[bytes]) -> bytes:
    other = others[int(rng.integers(len(others)))] or b"\0"
    start, stop = _span(rng, other, 2000)
    at, end = _span(rng, content)
    return content[:at] + other[start:stop] + content[at if rng.random() < 0.5 else end :]


def _zeros(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    start, stop = _span(rng, content, 50)
    return content[:start] + b"\0" * (stop - start) + content[start if rng.random() < 0.5 else stop :]


def _double(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    value = float(rng.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, -0.0, 1e200]))
    at = int(rng.integers(len(content))) // 8 * 8
    return content[:at] + struct.pack("<d", value) + content[at + 8 :]


def _integer(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    value = int(rng.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x00FFFFFF, 1 << 16]))
    at = int(rng.integers(len(content))) // 4 * 4
    return content[:at] + struct.pack(rng.choice(["<I", ">I"]), value) + content[at + 4 :]


def _replace(rng: Rng, content: bytes, pattern: re.Pattern[bytes], values: Sequence[bytes]) -> bytes:
    found = list(pattern.finditer(content[:200_000]))
    if not found:
        return content
    count = int(rng.choice([1, 1, 1, 5, len(found)]))
    chosen = {int(k) for k in rng.integers(len(found), size=count)}
    parts: list[bytes] = []
    last = 0
    for k in sorted(chosen):
        parts += [content[last : found[k].start()], values[int(rng.integers(len(values)))]]
        last = found[k].end()
    return b"".join(parts) + content[last:]


def _number(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    return _replace(rng, content, _NUMBER, NUMBERS)


def _same_number(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    return _replace(rng, content, _NUMBER, [NUMBERS[rng.integers(len(NUMBERS))]])


def _word(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    own = [match[0] for match in _WORD.finditer(content[:200_000])] or [b"x"]
    return _replace(rng, content, _WORD, WORDS if rng.random() < 0.4 else own)


def _lines(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    lines = content.split(b"\n")
    one, other = rng.integers(len(lines), size=2)
    way = rng.integers(4)
    if way == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif way == 1:
        lines.insert(int(one), lines[other])
    elif way == 2:
        del lines[one]
    else:
        lines[one] = lines[one] + lines[other]
    return b"\n".join(lines)


def _encoding(rng: Rng, content: bytes, _: Sequence[bytes]) -> bytes:
    text = content.decode(errors="replace")
    name = str(rng.choice(["utf-16", "utf-16-be", "utf-32", "utf-8-sig", "cp037", "crlf", "cr"]))
    if name in ("crlf", "cr"):
        return text.replace("\n", {"crlf": "\r\n", "cr": "\r"}[name]).encode()
    return text.encode(name, errors="replace")


Way = Callable[[Rng, bytes, Sequence[bytes]], bytes]
BYTES: tuple[Way, ...] = (_flip, _random_bytes, _truncate, _remove, _repeat, _splice, _zeros)
TEXT: tuple[Way, ...] = (_number, _number, _same_number, _word, _lines, _encoding)
