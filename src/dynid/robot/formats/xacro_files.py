"""Expanding xacro files with the `xacro` package, without running what they contain.

A xacro file is a program: its `${...}` and `$(eval ...)` are Python expressions, and the package's own precautions can
be evaded. So the package runs in a process of its own, within limits of time and memory, and every expression is looked
at before it is evaluated: numbers, texts, lists, arithmetic, comparisons and calls of the package's functions are
allowed; names with underscores in front, lambdas and everything else of Python are refused. `$(find NAME)` is answered
by `packages`, so that no installation of ROS is needed.
"""

import ast
import builtins
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from dynid.errors import RobotFileError
from dynid.files import read_bytes
from dynid.robot.formats.packages import is_below, outside, own_folders, package_folders

SECONDS = 60
"""Time [s] that an expansion may take; those of large robots take one."""

MEMORY = 2 * 10**9
"""Memory [bytes] that an expansion may take."""

_ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Store, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop,
    ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.IfExp, ast.Attribute, ast.Subscript, ast.Slice, ast.Tuple,
    ast.List, ast.Dict, ast.Call, ast.keyword, ast.ListComp, ast.comprehension,
)  # fmt: skip
"""What an expression may be made of."""

_REFUSED = ("type", "vars", "format", "format_map", "mro")
"""Names that lead to what is not allowed."""


def is_xacro(path: Path) -> bool:
    """Whether a file is to be expanded, by its name."""
    return path.suffix.lower() == ".xacro"


def expanded(path: Path, arguments: Mapping[str, str] | None = None) -> bytes:
    """The robot that a xacro file describes, as the text of a URDF file.

    Args:
        path: The file.
        arguments: Values of its `<xacro:arg>`, by name; their defaults where not given.

    Raises:
        RobotFileError: If the package is not installed, or the file cannot be expanded; says why.
    """
    if importlib.util.find_spec("xacro") is None:
        problem = "is a xacro file, and the package that expands such files is not installed"
        raise RobotFileError(path, f"{problem}; install it with: pip install 'dynid[xacro]' (or pip install xacro)")
    key = (path.resolve(), tuple(sorted((arguments or {}).items())), tuple(sorted(os.environ.items())))
    try:
        if key not in _KNOWN or _KNOWN[key][1] != _changes(_KNOWN[key][1]):
            text, files = _expanded(path, key[1])
            _KNOWN.clear()  # one file is read several times in a row, never many
            _KNOWN[key] = (text, _changes(files))
    except OSError as error:
        raise RobotFileError(path, f"cannot be read ({error.strerror or error}); check it") from error
    return _KNOWN[key][0]


_KNOWN: dict[tuple[object, ...], tuple[bytes, dict[str, int]]] = {}
"""The text that was expanded last, and when the files that it comes from were changed."""


def _changes(files: Iterable[str]) -> dict[str, int]:
    return {file: Path(file).stat().st_mtime_ns for file in files}


def _expanded(path: Path, arguments: tuple[tuple[str, str], ...]) -> tuple[bytes, list[str]]:
    """The text, and the files that it comes from."""
    path.stat()
    known = os.pathsep.join(part for part in sys.path if part)
    command = [sys.executable, "-P", "-c", "from dynid.robot.formats.xacro_files import serve; serve()"]
    request = json.dumps({"path": str(path.resolve()), "arguments": dict(arguments)})
    try:
        done = subprocess.run(
            command,
            input=request,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
            env={**_environment(), "PYTHONPATH": known},
        )
        answer = json.loads(done.stdout)
    except subprocess.TimeoutExpired as error:
        raise RobotFileError(path, f"its expansion did not end within {SECONDS} s") from error
    except ValueError as error:
        raise RobotFileError(path, "its expansion crashed, or took too much time or memory") from error
    if "problem" in answer:
        raise RobotFileError(path, f"cannot be expanded: {answer['problem']}")
    return answer["text"].encode(), answer["files"]


def _environment() -> dict[str, str]:
    """The environment variables that a file may use, as `$(env NAME)`: none whose name is that of a secret."""
    return {name: value for name, value in os.environ.items() if not _SECRET.search(name)}


_SECRET = re.compile("SECRET|TOKEN|PASS|CREDENTIAL|AUTH|PRIVATE|(^|_)KEY|KEY($|_)|COOKIE|SESSION", re.IGNORECASE)
"""Names of environment variables that are nobody's business."""


def serve() -> None:
    """Expand the file of a request on standard input, in this process, and answer on standard output."""
    request = json.loads(sys.stdin.read())
    _limit()
    answers, sys.stdout = sys.stdout, sys.stderr  # the package prints
    try:
        text, files = _text(Path(request["path"]), request["arguments"])
        answer: dict[str, Any] = {"text": text, "files": [request["path"], *files]}
    except RecursionError:
        answer = {"problem": "its macros call each other without end"}
    except (Exception, SystemExit) as error:
        answer = {"problem": _in_words(error, request["path"])}
    answers.write(json.dumps(answer))


def _limit() -> None:
    """Limit this process; where the system has no limits, the time that the caller waits is the only one."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def _text(path: Path, arguments: dict[str, str]) -> tuple[str, list[str]]:
    """The expanded text, and the files that it includes."""
    import xacro  # pyright: ignore[reportMissingImports]

    parts = getattr(xacro, "substitution_args", None) or importlib.import_module("xacro.substitution_args")
    _restrict(xacro, parts, path)
    document: Any = xacro.process_file(str(path), mappings=arguments, verbosity=0)
    files = (Path(file) for file in dict.fromkeys(map(str, xacro.all_includes)))
    included = [str(file.resolve()) for file in files if file.is_file()]
    return document.toprettyxml(indent="  "), included


def _restrict(xacro: ModuleType, parts: ModuleType, path: Path) -> None:
    """Check all expressions before they are evaluated and files before they are parsed; find packages ourselves.

    What leads from a value to its class is taken away from the package's names, since `python['type']` is no name that
    a check of the expression would see.
    """
    _take_away(xacro._global_symbols)
    evaluate, evaluate_argument, parse = xacro.safe_eval, parts._eval, xacro.parse
    reach = own_folders(path, package=True)  # and packages that are found
    names = {**parts._eval_dict, **parts._eval_dict["__builtins__"]}
    functions = {name for name in names if not name.startswith("_")} | {"arg", "dirname"}

    def checked_eval(expression: str, *scopes: Any) -> Any:
        check_expression(expression)
        return evaluate(expression, *scopes)

    def checked_argument(expression: str, context: dict[str, Any]) -> str:
        own = {name for name in context.get("arg", {}) if not hasattr(builtins, name)}  # which would be the real ones
        check_expression(expression, functions | own)
        return evaluate_argument(expression, context)

    def find(package: str) -> str:
        folder = next((folder for folder in package_folders(package, path) if folder.is_dir()), None)
        if folder is None:
            raise ValueError(
                f"there is no package '{package}' above the file or in AMENT_PREFIX_PATH and ROS_PACKAGE_PATH; add the "
                "folder that holds it to one of these"
            )
        reach.append(folder.resolve())
        return str(folder)

    def checked_open(name: str) -> TextIO:
        return TextIOWrapper(BytesIO(_included(Path(name), reach)), encoding="utf-8")

    def checked_parse(text: Any, filename: str | None = None) -> Any:
        content = _included(Path(str(filename)), reach) if text is None else text
        if isinstance(content, bytes) and b"<!ENTITY" in content.replace(b"\0", b""):
            raise ValueError(f"{filename} declares XML entities, which are not expanded for safety; write them out")
        return parse(text, filename)

    xacro.safe_eval, parts._eval, parts._eval_find, xacro.parse = (  # type: ignore[attr-defined]
        checked_eval, checked_argument, find, checked_parse
    )  # fmt: skip
    parts._eval_dict["find"] = find
    xacro.open = checked_open  # type: ignore[attr-defined]


def _take_away(known: dict[str, Any]) -> None:
    """Take names away from the names that the package knows, and from the tables of names among them."""
    for symbols in (known, *known.values()):
        for name in _REFUSED if isinstance(symbols, dict) else ():
            dict.pop(symbols, name, None)


def _included(path: Path, folders: Sequence[Path]) -> bytes:
    """The content of a file that is included.

    Raises:
        ValueError: If it is not below one of the folders.
        OSError: If it cannot be read.
    """
    if not is_below(path, folders):
        raise ValueError(outside(str(path), path))
    return read_bytes(path)


def check_expression(text: str, names: set[str] | None = None) -> None:
    """Refuse an expression that is more than arithmetic on known names.

    Args:
        text: The expression.
        names: The names that it may use; all without underscores in front when None.

    Raises:
        ValueError: If it is refused; says which part.

    >>> check_expression("2 * pi * radius if hollow else max(a, b[0])")
    >>> check_expression("().__class__")
    Traceback (most recent call last):
    ValueError: the expression '().__class__' uses the name '__class__', which is not allowed
    """
    try:
        nodes = list(ast.walk(ast.parse(text.strip(), mode="eval")))
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"'{text.strip()}' is no expression") from error
    for node in nodes:
        if not isinstance(node, _ALLOWED):
            what = type(node).__name__.lower()
            raise ValueError(f"the expression '{text.strip()}' has a {what}, which is not allowed")
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "__" in node.value:
            raise ValueError(f"the expression '{text.strip()}' has a text with two underscores, which is not allowed")
        own = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        known = names is None or not isinstance(node, ast.Name) or own in names
        if own.startswith("_") or own in _REFUSED or not known:
            raise ValueError(f"the expression '{text.strip()}' uses the name '{own}', which is not allowed")


def _in_words(error: BaseException, path: str) -> str:
    """What went wrong, in one line that says what to do about a missing argument."""
    text = " ".join(str(error).split()) or type(error).__name__
    if "Undefined substitution argument" in text:
        name = text.rpartition(" ")[2]
        command = f"dynid convert {Path(path).name} robot.urdf --xacro-arg {name}:=VALUE"
        return f"it needs the argument '{name}'; expand it once with '{command}', and use what that writes"
    return text
