"""The order of the house: imports go up, rooms are few, names stand once, functions are short."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source_trees import PACKAGE, nodes, trees

ROOT = Path(__file__).parents[1]

ROOMS = 10
"""At most so many rooms."""

SMALL_MODULES = 6
"""At most so many modules beside them."""

LINES = 60
"""Longest function, without its docstring."""

IMPORTS = 0.10
"""Largest share of code lines that are imports."""

LONGER = {
    "model.kernels.compiled.fill": "split up, Numba counts references to its arrays for every link: 4 times as slow",
    "model.kernels.compiled_adjoint.pull_back": "the same",
    "cli.excite.excite": "one line for each of its 40 options, as Typer reads them",
    "cli.live.live": "one line for each of its 24 options, as Typer reads them",
    "cli.observe.observe": "one line or more for each of its 14 options, as Typer reads them",
}
"""Functions that are longer than `LINES`, each with the measured reason."""

SHARED_STEMS = {"__init__", "__main__", "settings"}
"""File names that several rooms have."""


def order() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    listed = text[text.index("imports go only up this list") : text.index("- A test states one property")]
    return re.findall(r"`(\w+)`", listed)


def imported(tree: ast.AST) -> Iterator[str]:
    """First parts of what is imported of the package when the code runs."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dynid."):
            yield str(node.module).split(".")[1]
        yield from imported(node)


def is_room(path: Path) -> bool:
    return (path / "__init__.py").exists()


def test_every_part_of_the_package_has_its_place_in_the_order() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or is_room(path)}
    assert parts - {"__init__"} == set(order())


def test_imports_go_up() -> None:
    place = {part: k for k, part in enumerate(order())}
    for path, tree in trees().items():
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if own != "__init__":
            for part in imported(tree):
                assert place[part] <= place[own], f"{path.relative_to(ROOT)} imports {part}"


def test_there_are_ten_rooms_and_a_few_small_modules() -> None:
    rooms = [path.name for path in PACKAGE.iterdir() if is_room(path)]
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert len(rooms) <= ROOMS, rooms
    assert len(modules) <= SMALL_MODULES, modules


def test_no_file_name_stands_twice() -> None:
    stems = Counter(path.stem for path in trees())
    assert [stem for stem, count in stems.items() if count > 1 and stem not in SHARED_STEMS] == []


def functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
    """Names of functions and their lines, without decorators and docstrings."""
    for node in ast.iter_child_nodes(tree):
        name = f"{prefix}.{node.name}" if isinstance(node, ast.FunctionDef | ast.ClassDef) else prefix
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            has_words = ast.get_docstring(node) is not None
            words = (first.end_lineno or 0) - first.lineno + 1 if has_words else 0
            yield name, (node.end_lineno or 0) - node.lineno + 1 - words
        yield from functions(node, name)


def test_functions_are_short() -> None:
    lengths = {
        name: lines
        for path, tree in trees().items()
        for name, lines in functions(tree, ".".join(path.relative_to(PACKAGE).with_suffix("").parts))
    }
    assert {name: lines for name, lines in lengths.items() if lines > LINES and name not in LONGER} == {}
    assert [name for name in LONGER if lengths.get(name, 0) <= LINES] == []  # reasons that are not needed any more


def code_lines(text: str) -> set[int]:
    """Numbers of the lines that hold code: neither blank, nor comments, nor docstrings."""
    lines: set[int] = set()
    is_new = True  # whether a statement begins: a string alone on its line is no code
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL):
            continue
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            is_new = True
            continue
        if not (is_new and token.type == tokenize.STRING):
            lines.update(range(token.start[0], token.end[0] + 1))
        is_new = False
    return lines


def test_a_tenth_of_the_code_at_most_is_imports() -> None:
    code = imports = 0
    for path, parts in nodes().items():
        code += len(code_lines(path.read_text(encoding="utf-8")))
        for node in parts:
            if isinstance(node, ast.Import | ast.ImportFrom):
                imports += (node.end_lineno or 0) - node.lineno + 1
    assert imports <= IMPORTS * code, f"{imports} of {code} lines, {imports / code:.1%}"


def test_findings_are_made_with_codes() -> None:
    calls = [
        path.relative_to(PACKAGE)
        for path, parts in nodes().items()
        for node in parts
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "prose"
    ]
    assert calls == []


def reads_words(node: ast.AST) -> bool:
    """Whether an expression holds the words of a finding: its text, or what it is about."""
    return any(
        isinstance(part, ast.Attribute)
        and isinstance(part.value, ast.Name)
        and (part.attr == "subject" or (part.attr == "text" and re.search("finding|note|noticed", part.value.id)))
        for part in ast.walk(node)
    )


STRING_TESTS = {"startswith", "endswith", "partition", "rpartition", "split", "find", "index", "count", "replace"}


def test_no_code_decides_by_the_words_of_a_finding() -> None:
    decisions = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path, parts in nodes().items()
        if path.relative_to(PACKAGE).parts[0] != "cli"  # it prints them
        for node in parts
        if (
            (isinstance(node, ast.Compare) and reads_words(node))
            or (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in STRING_TESTS
                and reads_words(node.func.value)
            )
        )
    ]
    assert decisions == []


def imported_modules(tree: ast.AST) -> Iterator[str]:
    """Full names of modules, and of what is taken from them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_tests_import_neither_each_other_nor_the_benchmarks() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for module in imported_modules(ast.parse(path.read_text(encoding="utf-8")))
        if re.match(r"benchmarks\b|tests\.(\w+\.)*test_\w+", module)
    ]
    assert wrong == []


@pytest.mark.parametrize("room", [path.name for path in PACKAGE.iterdir() if is_room(path)])
def test_tests_mirror_the_rooms(room: str) -> None:
    assert list((ROOT / "tests" / room).glob("test_*.py"))
