"""Numbers of generated code: known ones are computed, others are operations, each there once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynid.model.code.expressions import Expr, Number, Tape
from dynid.model.code.functions import Function
from dynid.model.code.tape_machine import evaluate, program_of, run

LEAVES = st.sampled_from(["x", "y", 0.0, 1.0, -1.0, 2.5])
TREES = st.recursive(LEAVES, lambda tree: st.tuples(st.sampled_from("+-*~"), tree, tree), max_leaves=30)


def built(tree: object, leaves: dict[str, Number]) -> Number:
    """A number of a random formula."""
    if not isinstance(tree, tuple):
        return leaves[tree] if isinstance(tree, str) else float(tree)  # type: ignore[arg-type]
    kind, left, right = tree
    x, y = built(left, leaves), built(right, leaves)
    return {"+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "~": lambda: -x}[kind]()


@given(TREES, st.floats(-3, 3), st.floats(-3, 3))
def test_a_formula_on_the_tape_has_the_value_of_the_formula(tree: object, x: float, y: float) -> None:
    tape = Tape()
    found = built(tree, {"x": tape.given("q[0]"), "y": tape.given("q[1]")})
    function = Function("f", "", (("q", 2),), (("r", 1),), tape, ((found,),))
    wanted = built(tree, {"x": x, "y": y})
    q = np.array([[x, y]])
    for value in (evaluate(function, {"q": q})[0][0, 0], run(program_of(function), q)[0, 0]):
        assert value == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def test_what_is_known_vanishes() -> None:
    tape = Tape()
    x, y = tape.given("q[0]"), tape.given("q[1]")
    assert 0.0 * x == 0.0
    assert isinstance(0.0 * x, float)
    assert x - x == 0.0
    assert 1.0 * x is x
    assert x + 0.0 is x
    assert x * y is y * x
    assert -(x - y) is y - x
    assert isinstance(x + y, Expr)
    assert x**2 is x * x


def test_what_no_output_needs_is_left_out() -> None:
    tape = Tape()
    x, y = tape.given("q[0]"), tape.given("q[1]")
    needed = x * x
    assert isinstance(y * x, Expr)
    kinds = [tape.operations[k][0] for k in tape.used([needed, 1.0])]
    assert kinds == ["given", "mul"]


def test_a_branch_on_an_unknown_number_is_refused() -> None:
    x = Tape().given("q[0]")
    with pytest.raises(TypeError):
        bool(x)
    with pytest.raises(TypeError):
        _ = x**0.5
