"""Names in generated text: identifiers are made, and what robot files say stands in comments that it cannot leave."""

from __future__ import annotations

import re
import string

from dynid.errors import InvalidRequestError

LONGEST_IDENTIFIER = 48
"""Characters of an identifier that is made of a name."""

LONGEST_NAME = 120
"""Characters of a name that are shown."""

_PLAIN = frozenset(string.ascii_letters + string.digits + " _.,:+=()[]")
"""Characters that mean nothing at the end of a comment, in C, C++, Python, CMake, XML, YAML and Markdown."""


def identifier(name: str) -> str:
    """An identifier of C, C++, Python, CMake and ROS made of any name.

    >>> identifier("UR-5 (v2)"), identifier("7*/x"), identifier("")
    ('ur_5_v2', 'robot_7_x', 'robot')
    """
    words = "_".join(re.findall(r"[a-z0-9]+", name.lower()))[:LONGEST_IDENTIFIER].rstrip("_")
    if not words or words[0].isdigit():
        words = f"robot_{words}".rstrip("_")
    return f"{words}_robot" if words in _RESERVED or words.endswith("_t") else words


def checked_identifier(name: str) -> str:
    """A prefix that a user states.

    Raises:
        InvalidRequestError: If it is no identifier.
    """
    if identifier(name) != name:
        raise InvalidRequestError(
            f"'{shown(name)}' is no name for generated code; use lower-case letters, digits and single underscores, "
            f"such as {identifier(name)}"
        )
    return name


def shown(name: str) -> str:
    r"""A name as it may stand in any comment or table: other than plain characters by their code points.

    >>> shown("arm */ \n x?"), shown("link_1")
    ('arm {2A}{2F} {A} x{3F}', 'link_1')
    """
    text = "".join(c if c in _PLAIN else f"{{{ord(c):X}}}" for c in name[:LONGEST_NAME])
    return text + ("..." if len(name) > LONGEST_NAME else "")


_RESERVED = frozenset(
    word
    for line in (
        # Keywords of C, C++ and Python
        "alignas alignof and and_eq as asm assert async atomic_cancel auto await bitand bitor bool break case catch",
        "char class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue",
        "decltype def default del delete do double dynamic_cast elif else enum except explicit extern false finally",
        "float for friend from global goto if import in inline int is lambda long match module mutable namespace new",
        "noexcept none nonlocal not not_eq nullptr operator or or_eq pass private protected public raise register",
        "reinterpret_cast requires restrict return self short signed sizeof static static_assert static_cast struct",
        "switch synchronized template this thread_local throw true try type typedef typeid typename typeof union",
        "unsigned using virtual void volatile while with xor xor_eq yield",
        # What files of the folder import, and names of their own
        "cmath ctypes dynid eigen math numpy pathlib std stdint string sys",
        # Targets of CMake and make
        "all clean depend edit_cache export help install list_install_components package package_source preinstall",
        "rebuild_cache test",
        # Macros of compilers and headers
        "errno i386 linux main stderr stdin stdout unix",
        # Functions of C and of systems, which are no namespaces
        "abort abs accept access acos alarm asin atan atan2 atexit atof atoi atol bind calloc cbrt ceil chdir clock",
        "clone close connect conj copysign cos cosh crypt ctime daemon difftime div dup dup2 erf erfc execl exit exp",
        "exp2 expm1 fabs fdim ffs floor fma fmax fmin fmod fork frexp free gamma getenv getopt gets hypot index",
        "initstate ioctl isatty isdigit isinf isnan isspace j0 j1 jn kill labs ldexp ldiv lgamma link listen log",
        "log10 log1p log2 logb lseek malloc mkdir modf nan nearbyint nice open pause perror pipe poll pow printf",
        "profil putc puts qsort raise rand random read recv remainder remove remquo rename revoke rewind rindex rint",
        "rmdir round sbrk scalb scanf select send setbuf setenv shutdown signal signbit significand sin sincos sinh",
        "sleep socket splice sprintf sqrt srand stat step stime swab symlink sync syscall sysconf system tan tanh tee",
        "tempnam tgamma time times tmpfile tolower toupper trunc truncate umask unlink usleep vfork wait warn wctob",
        "write y0 y1 yn",
        # Modules of Python that importing NumPy needs: a file of that name would stand before them
        "abc argparse array ast base64 bisect builtins bz2 calendar code codecs collections contextlib copy csv",
        "dataclasses datetime decimal dis email enum fnmatch fractions functools gc genericpath glob gzip hashlib",
        "heapq html http inspect io itertools json keyword linecache locale logging lzma marshal ntpath numbers",
        "opcode operator os pickle pickletools platform posix posixpath pprint queue random re reprlib secrets",
        "shutil site socket ssl statistics struct subprocess tempfile textwrap threading timeit token tokenize",
        "traceback types typing unicodedata unittest urllib uuid warnings weakref zipfile zipimport zlib",
    )
    for word in line.split()
)
"""Words that mean something in one of the languages, in a build, or to the systems that they are for."""
