"""The order of the house: imports go up."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "dynid"


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


def test_every_part_of_the_package_has_its_place_in_the_order() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__"} == set(order())


def test_imports_go_up() -> None:
    place = {part: k for k, part in enumerate(order())}
    for path in PACKAGE.rglob("*.py"):
        own = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if own != "__init__":
            for part in imported(ast.parse(path.read_text())):
                assert place[part] <= place[own], f"{path.relative_to(ROOT)} imports {part}"
