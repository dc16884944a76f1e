"""Samples of a model that generated code is compared with: by dynid before it is written, and by its own test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model.code.functions import CodeModel, Function
from dynid.model.code.tape_machine import evaluate
from dynid.model.dynamic_model import DynamicModel
from dynid.model.sampling import random_states

SAMPLES = 8
"""States that are stored."""

DECIMALS = 3
"""Decimals of their numbers."""

AGREEMENT = 1e-9
"""Largest difference, relative to the largest torque, between generated code and the model."""


def stored_states(code: CodeModel) -> dict[str, Array]:
    """Inputs of all functions by name, each of shape (samples, elements)."""
    rng = np.random.default_rng(0)
    bare = DynamicModel(code.robot)
    states = dict(zip("qva", (np.round(x, DECIMALS) for x in random_states(bare, SAMPLES, rng)), strict=True))
    if code.base is not None:
        states["b"] = np.tile(np.round(code.base.to_base(code.parameters), 9), (SAMPLES, 1))
    return states


def wanted_outputs(code: CodeModel, states: Mapping[str, Array]) -> dict[str, list[Array | None]]:
    """What the library has for each function: its outputs, shape (samples, elements); None for what it has not."""
    model, p, links = code.model, code.parameters, code.link_count
    q, v, a = (states[key] for key in "qva")
    of_links, of_terms = p.copy(), p.copy()
    of_links[links:], of_terms[:links] = 0.0, 0.0
    bare = model if not model.terms else DynamicModel(code.robot)
    gravity = bare.inverse_dynamics(q, parameters=p[:links])
    coriolis = bare.inverse_dynamics(q, v, parameters=p[:links]) - gravity
    motors = a @ code.motor_inertia
    rigid = bare.inverse_dynamics(q, v, a, p[:links]) + motors
    friction = model.inverse_dynamics(q, v, a, of_terms) - motors
    M = bare.mass_matrices(q, p[:links]) + code.motor_inertia
    found: dict[str, list[Array | None]] = {
        "gravity": [gravity],
        "coriolis": [coriolis],
        "friction": [friction],
        "rigid_inverse_dynamics": [rigid],
        "inverse_dynamics": [rigid + friction],
        "momentum": [np.einsum("sij,sj->si", M, v), None],
        "mass_matrix": [M.reshape(len(q), -1)],
        "coriolis_matrix": [None],
    }
    if code.base is not None:
        b, base = states["b"][0], code.base
        torques = base.regressor(q, v, a) @ b + base.known_torques(q, v, a)
        found["regressor_product"] = [torques.T]
    return found


def check_against_model(
    code: CodeModel, functions: Sequence[Function], states: Mapping[str, Array]
) -> dict[str, list[Array | None]]:
    """Outputs of the model for the functions, with which they agree.

    Raises:
        InvalidRequestError: If they do not, as where a term's columns are no function of the states.
    """
    wanted = wanted_outputs(code, states)
    done = {each.name: evaluate(each, {name: states[name] for name, _ in each.inputs}) for each in functions}
    for name, outputs in done.items():
        for output, expected in zip(outputs, wanted[name], strict=True):
            _require_equal(name, output, expected)
    if "coriolis_matrix" in done:
        n = code.robot.nv
        C = done["coriolis_matrix"][0].reshape(-1, n, n)
        _require_equal("coriolis_matrix", np.einsum("sij,sj->si", C, states["v"]), wanted["coriolis"][0])
        wanted["coriolis_matrix"] = [done["coriolis_matrix"][0]]
    if "momentum" in done:
        wanted["momentum"][1] = done["momentum"][1]
    return wanted


def _require_equal(name: str, found: Array, expected: Array | None) -> None:
    if expected is None:
        return
    size = float(np.abs(expected).max(initial=0.0))
    difference = float(np.abs(found - expected).max(initial=0.0))
    if not difference <= AGREEMENT * (size + AGREEMENT):
        raise InvalidRequestError(
            f"the generated function {name} differs from the model by {difference:.2g} of {size:.2g}; a term of your "
            "own may depend on more than the states and its parameters: leave it out"
        )
