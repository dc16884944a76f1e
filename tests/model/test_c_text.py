"""Generated C, compiled strictly and run under sanitizers, equals the library and Pinocchio."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from dynid import DynamicModel, Robot, find_base_parameters, load_robot
from dynid.arrays import Array
from dynid.errors import InvalidRequestError
from dynid.model import random_states
from dynid.model.code.build_folder import built_library
from dynid.model.code.c_text import Scalar, constant
from dynid.model.code.code_request import CodeRequest
from dynid.model.code.functions import OFFERS, CodeModel
from dynid.model.code.template_values import library_files, shared_values
from dynid.robot.pinocchio import to_pinocchio
from tests.compiled_c import GCC, NO_COMPILER, Outputs, run_in_c
from tests.references import example_robot_file, pinocchio_torques
from tests.strategies import robots

pin = pytest.importorskip("pinocchio")
compiled = pytest.mark.skipif(GCC is None, reason=NO_COMPILER)

RELATIVE = 1e-10
BUILT_IN = ("two_link", "pendulum", "spatial_3r", "panda", "ur5", "tx40", "lwr4")
FILES = (
    *("TwoDofs", "double_pendulum", "finger_edu", "iris", "hextilt_flying_arm_5", "bolt", "kinova", "so101"),
    *("ur10_robot", "ur3_gripper", "ur5_robot", "talos_left_arm", "xarm7", "z1", "panda", "quadruped", "solo", "a1"),
    *("anymal", "b1", "go1", "go2", "hyq_no_sensors", "laikago", "solo12", "tiago_no_hand", "allegro_left_hand"),
    *("baxter", "anymal-kinova", "pr2"),
)
"""Robots of example-robot-data: arms, hands, legs, branches, prismatic and mimic joints."""

TREES = 8
"""Random trees that are compiled."""

TERMS = ("viscous", "asymmetric_coulomb", "armature", "offset", "stribeck", "sigmoid", "load_coulomb", "spring")

Inputs = dict[str, dict[str, Array]]


def close(found: Array, wanted: Array) -> None:
    assert np.abs(found - wanted).max() <= RELATIVE * max(1e-3, np.abs(wanted).max())


def requested(prefix: str, model: DynamicModel, names: tuple[str, ...], *, base: bool = False) -> CodeRequest:
    p = np.nan_to_num(model.reference, nan=0.3 if base else 0.0)
    regrouped = find_base_parameters(model) if base else None
    return CodeRequest(CodeModel(model, p, regrouped), prefix, Scalar.DOUBLE, names)


def ran(requests: dict[str, CodeRequest], folder: Path) -> tuple[Inputs, Outputs]:
    inputs: Inputs = {}
    for prefix, request in requests.items():
        code = request.code
        states = random_states(code.model, 4, np.random.default_rng(0))
        inputs[prefix] = dict(zip("qva", states, strict=True))
        if code.base is not None:
            inputs[prefix]["b"] = np.tile(code.base.to_base(code.parameters), (4, 1))
    return inputs, run_in_c(requests, inputs, folder)


def check(request: CodeRequest, x: dict[str, Array], found: dict[str, list[Array]]) -> None:
    """Compare with the library, whatever functions there are."""
    model, p = request.code.model, request.code.parameters
    q, v, a = (x[key] for key in "qva")
    wanted = model.inverse_dynamics(q, v, a, p)
    for name in ("inverse_dynamics", "regressor_product"):
        if name in found:
            close(found[name][0], wanted)
    M = model.mass_matrices(q, p)
    close(found["mass_matrix"][0].reshape(M.shape), M)
    if "momentum" in found:
        bare = DynamicModel(model.robot)
        gravity = bare.inverse_dynamics(q, parameters=p[: request.code.link_count])
        C = found["coriolis_matrix"][0].reshape(M.shape)
        close(found["gravity"][0], gravity)
        close(found["coriolis"][0], np.einsum("sij,sj->si", C, v))
        close(found["friction"][0] + found["rigid_inverse_dynamics"][0], wanted)
        close(found["momentum"][0], np.einsum("sij,sj->si", M, v))
        close(found["momentum"][1], np.einsum("sji,sj->si", C, v) - gravity)


def check_with_pinocchio(robot: Robot, x: dict[str, Array], rigid: Array) -> None:
    """Compare the torques of links with another library's."""
    close(rigid, pinocchio_torques(robot, to_pinocchio(robot), x["q"], x["v"], x["a"]))


@compiled
def test_built_in_robots_with_terms(tmp_path: Path) -> None:
    models = {name: DynamicModel(f"builtin:{name}", TERMS) for name in BUILT_IN}
    models["tx40_coupled"] = DynamicModel("builtin:tx40", ["viscous", "coulomb", "armature", "coupling"])
    requests = {name: requested(name, model, tuple(OFFERS), base=True) for name, model in models.items()}
    inputs, found = ran(requests, tmp_path)
    for name, request in requests.items():
        check(request, inputs[name], found[name])
    for name in ("two_link", "panda", "ur5"):
        robot = load_robot(f"builtin:{name}")
        motors = inputs[name]["a"] @ requests[name].code.motor_inertia
        check_with_pinocchio(robot, inputs[name], found[name]["rigid_inverse_dynamics"][0] - motors)


@compiled
def test_thirty_robot_files_equal_pinocchio(tmp_path: Path) -> None:
    loaded = {f"r{k}": load_robot(example_robot_file(f"{name}.urdf")) for k, name in enumerate(FILES)}
    names = ("rigid_inverse_dynamics", "mass_matrix")
    requests = {key: requested(key, DynamicModel(robot), names) for key, robot in loaded.items()}
    inputs, found = ran(requests, tmp_path)
    assert len(found) == 30
    for key, robot in loaded.items():
        check(requests[key], inputs[key], found[key])
        check_with_pinocchio(robot, inputs[key], found[key]["rigid_inverse_dynamics"][0])


@compiled
def test_random_trees(tmp_path: Path) -> None:
    drawn: list[Robot] = []

    @settings(max_examples=TREES)
    @given(robots())
    def draw(robot: Robot) -> None:
        drawn.append(robot)

    draw()
    requests = {f"t{k}": requested(f"t{k}", DynamicModel(robot), tuple(OFFERS)[:-1]) for k, robot in enumerate(drawn)}
    inputs, found = ran(requests, tmp_path)
    for k, robot in enumerate(drawn):
        check(requests[f"t{k}"], inputs[f"t{k}"], found[f"t{k}"])
        check_with_pinocchio(robot, inputs[f"t{k}"], found[f"t{k}"]["rigid_inverse_dynamics"][0])


@compiled
def test_an_output_may_be_the_same_array_as_an_input(tmp_path: Path) -> None:
    """Coupled motors: torques of one joint need the acceleration of the other, whose place may be written already."""
    model = DynamicModel("builtin:ur5", ["viscous", "coulomb:1+2", "armature", "coupling:4:5:1", "coupling:5:6"])
    p = np.nan_to_num(model.reference, nan=0.4)
    request = CodeRequest(CodeModel(model, p), "arm", Scalar.DOUBLE, ("rigid_inverse_dynamics", "friction", "momentum"))
    files = library_files(shared_values(request)[0])
    library = built_library(files, ("arm.c",))
    assert library is not None
    functions = ctypes.CDLL(str(library))
    q, v, a = (x[0] for x in random_states(model, 1, np.random.default_rng(0)))
    for name, x, count in (
        ("rigid_inverse_dynamics", (q, v, a), 1),
        ("friction", (q, v, a), 1),
        ("momentum", (q, v), 2),
    ):
        call = getattr(functions, f"arm_{name}")
        wanted = np.empty((count, 6))
        call(*map(pointer, (*x, *wanted)))
        for shared in range(len(x)):
            for output in range(count):
                inputs, outputs = [each.copy() for each in x], list(np.empty((count, 6)))
                outputs[output] = inputs[shared]
                call(*map(pointer, (*inputs, *outputs)))
                assert np.array_equal(outputs, wanted)


def pointer(x: Array) -> Any:
    return x.ctypes.data_as(ctypes.c_void_p)


@pytest.mark.parametrize(("value", "text"), [(0.1, "0.1f"), (-3e38, "-3e+38f"), (1e-300, "0.0f")])
def test_constants_of_single_precision(value: float, text: str) -> None:
    assert constant(value, Scalar.FLOAT) == text


@pytest.mark.parametrize(("value", "scalar"), [(4e38, Scalar.FLOAT), (np.inf, Scalar.DOUBLE), (np.nan, Scalar.DOUBLE)])
def test_constants_that_do_not_fit_are_refused(value: float, scalar: Scalar) -> None:
    with pytest.raises(InvalidRequestError, match="does not fit"):
        constant(value, scalar)
