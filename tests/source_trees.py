"""Syntax trees of the package's files, parsed and walked once a process."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "dynid"


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of every module, by its file.

    They are some million objects that stay: the garbage collector would look at all of them in all later tests.
    """
    gc.disable()
    found = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    gc.freeze()
    gc.enable()
    return found


@cache
def nodes() -> dict[Path, tuple[ast.AST, ...]]:
    """Every node of every module, as `ast.walk` gives them."""
    return {path: tuple(ast.walk(tree)) for path, tree in trees().items()}
