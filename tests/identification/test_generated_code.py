"""Folders of generated code: what is in them, that they build and check themselves, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import dynid
from dynid import DynamicModel, GeneratedCode, Result, Robot, generate_code
from dynid.errors import (
    DynidError,
    ForeignOutputError,
    InvalidRequestError,
    OutputExistsError,
    ShapeError,
    UnknownNameError,
)
from dynid.estimation.contacts.contact_limits import ContactLimits
from dynid.estimation.contacts.speed_levels import SpeedLevel
from dynid.identification.answers import Answer, Verdict
from dynid.identification.robot_output import UntrustedResultError
from dynid.logs.settings import Coupling, Drive
from dynid.model import random_states
from dynid.model.code.build_folder import compiler
from dynid.model.code.contact_levels import ContactLevels
from dynid.model.code.names import identifier, shown
from dynid.robot.assembly import assemble
from dynid.robot.joints import JointDynamics
from tests import ros2_stub
from tests.commands import run
from tests.compiled_c import GCC, GXX, NO_COMPILER, SANITIZED, STRICT
from tests.identified_robots import made
from tests.references import example_robot_file

compiled = pytest.mark.skipif(GCC is None or GXX is None, reason=NO_COMPILER)

TERMS = ["viscous", "coulomb"]
HOSTILE = "x*/ int evil; /* ??/\n// \\\n]]> --> \"); system(1) # {{ 7*7 }} {% x %} é\u2028`$(id)`'''"
"""Ends comments, lines, strings and templates of every language in the folder."""


@cache
def result(physical: bool = True) -> Result:
    return made("builtin:two_link", {"fit": physical})


@cache
def arm() -> GeneratedCode:
    return generate_code(
        "builtin:ur5", terms=TERMS, thresholds=ContactLevels(np.full(6, 2.0), np.full(6, 0.5), np.ones(6))
    )


def build(folder: Path, *sources: str, compiler: str = "gcc", flags: tuple[str, ...] = STRICT) -> int:
    """Compile a program and give what it exits with."""
    command = [compiler, *flags, "-O0", *sources, "-o", "program", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run([str(folder / "program")], cwd=folder, check=False, capture_output=True).returncode


@compiled
@pytest.mark.parametrize("scalar", ["double", "float"])
def test_the_folder_checks_itself(tmp_path: Path, scalar: str) -> None:
    code = generate_code("builtin:ur5", terms=TERMS, scalar=scalar, name="arm")
    code.write(tmp_path / "code")
    flags = (*STRICT, *SANITIZED, "-Wconversion") if scalar == "double" else STRICT
    assert build(tmp_path / "code", "arm.c", "test_arm.c", flags=flags) == 0
    source = tmp_path / "code" / "arm.c"
    text = source.read_text()
    for wrong in ("1", "sqrt(q[0] - 100)"):
        source.write_text(re.sub(r"tau\[1\] = ", f"tau[1] = {wrong} + ", text, count=1))
        assert build(tmp_path / "code", "arm.c", "test_arm.c") == 1


@compiled
def test_the_base_parameters_of_the_model_are_in_the_header(tmp_path: Path) -> None:
    folder = arm().write(tmp_path / "code")
    (folder / "main.c").write_text(
        '#include "ur5.h"\n#include <math.h>\nint main(void) {\n'
        "  const double q[6] = {1, 2, 3, 4, 5, 6}, v[6] = {1, -1, 1, -1, 1, -1};\n"
        "  const double b[UR5_BASE_PARAMETERS] = UR5_BASE_VALUES;\n"
        "  double one[6], other[6];\n  int i, wrong = 0;\n"
        "  ur5_inverse_dynamics(q, v, q, one);\n  ur5_regressor_product(q, v, q, b, other);\n"
        "  for (i = 0; i < 6; ++i) wrong += fabs(one[i] - other[i]) > 1e-10;\n  return wrong;\n}\n"
    )
    assert build(folder, "main.c", "ur5.c") == 0


@compiled
def test_the_class_of_cpp_compiles_and_observes(tmp_path: Path) -> None:
    folder = arm().write(tmp_path / "code")
    (folder / "main.cpp").write_text(
        '#include "ur5.hpp"\n'
        "int main() {\n"
        "  ur5::Velocities gain, still{};\n"
        "  gain.fill(50);\n"
        "  ur5::Observer observer(gain);\n"
        "  ur5::Positions q{};\n"
        "  ur5::Velocities tau = ur5::Model::gravity(q);\n"
        "  if (ur5::Model::mass_matrix(q)[0] <= 0 || observer.contact(still) != 0) return 1;\n"
        "  observer = ur5::Observer(50);\n"
        "  observer.step(0.001, q, still, tau);\n"
        "  tau[2] -= 5;\n"
        "  for (int i = 0; i < 300; ++i) observer.step(0.001, q, still, tau);\n"
        "  return observer.contact(still) == 3 ? 0 : 2;\n"
        "}\n"
    )
    subprocess.run(["gcc", *STRICT, "-c", "ur5.c", "-o", "ur5.o"], cwd=folder, check=True)
    flags = ("-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    assert build(folder, "main.cpp", "ur5.o", compiler="g++", flags=flags) == 0


@compiled
def test_the_loader_for_python_and_cmake(tmp_path: Path) -> None:
    folder = arm().write(tmp_path / "code")
    if shutil.which("cmake") is None:
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "ur5.c", "ur5_samples.c", "-o", "libur5.so", "-lm"], cwd=folder, check=True
        )
        library = folder / "libur5.so"
    else:
        for command in (
            ["cmake", "-B", "build", "-DCMAKE_C_FLAGS=-O0"],
            ["cmake", "--build", "build", "--target", "ur5"],
        ):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        library = None
    spec = importlib.util.spec_from_file_location("ur5_loader", folder / "ur5.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = DynamicModel("builtin:ur5", TERMS)
    q, v, a = random_states(model, 5, np.random.default_rng(0))
    with pytest.raises(FileNotFoundError, match="cmake --build build"):
        module.Model(folder / "nothing.so")
    loaded: Any = module.Model(library)
    assert np.allclose(loaded.inverse_dynamics(q, v, a), model.inverse_dynamics(q, v, a), atol=1e-10)
    assert np.allclose(loaded.mass_matrix(q[0]), model.mass_matrices(q[:1])[0], atol=1e-10)
    observer: Any = module.Observer(loaded, 50.0)
    still, gravity = np.zeros((200, 6)), np.tile(loaded.gravity(q[0]), (200, 1))
    pushed = np.eye(6)[2] * (np.arange(200) >= 1)[:, None]
    found = observer.step(0.01, np.tile(q[0], (200, 1)), still, gravity - 5.0 * pushed)
    assert np.allclose(found[-1], 5.0 * np.eye(6)[2], atol=1e-9)
    assert observer.contact(still[0]) == 3
    observer.reset()
    assert np.array_equal(observer.step(0.01, q[0], still[0], gravity[0]), still[0])
    assert observer.contact(still[0]) == 0
    observer.step(0.01, q[0], still[0], gravity[0] * np.nan)
    assert observer.contact(still[0]) == 1
    with pytest.raises(ValueError, match="tau"):
        observer.step(0.01, q[0], still[0], gravity[:, :2])


@compiled
def test_the_ros2_plugin_compiles_against_the_interface(tmp_path: Path) -> None:
    folder = generate_code("builtin:ur5", "ros2", terms=TERMS).write(tmp_path / "package")
    for name, text in ros2_stub.FILES.items():
        path = folder / "stub" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["gcc", *STRICT, "-c", "src/ur5.c", "-o", "ur5.o"], cwd=folder, check=True)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DSIZE=6", "-Istub", "-Iinclude", "-Isrc"]
    sources = ["src/solver.cpp", "stub/main.cpp", "ur5.o", "-o", "program"]
    subprocess.run(["g++", *flags, *sources], cwd=folder, check=True)
    done = subprocess.run([str(folder / "program")], check=True, capture_output=True, text=True)
    torques, sums, friction = np.array([line.split() for line in done.stdout.splitlines()], dtype=float).T
    model = DynamicModel("builtin:ur5", TERMS)
    k = np.arange(6)
    q, v, a = 0.3 + 0.1 * k, 0.5 - 0.2 * k, 1.0 + 0.3 * k
    assert np.allclose(torques, sums, atol=1e-9)
    assert np.allclose(torques + friction, model.inverse_dynamics(q, v, a)[0], atol=1e-9)


@compiled
@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake, which is not installed")
def test_the_ros2_package_builds_with_stand_ins_for_what_it_depends_on(tmp_path: Path) -> None:
    folder = generate_code("builtin:two_link", "ros2", terms=TERMS).write(tmp_path / "package")
    stub = tmp_path / "stub"
    for name, text in ros2_stub.FILES.items():
        path = stub / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = [
        f"-D{name}_DIR={stub / 'cmake'}"
        for name in (*("ament_cmake", "Eigen3", "inverse_dynamics_solver"), "pluginlib", "rclcpp")
    ]
    flags = ["-DCMAKE_C_FLAGS=-O0", "-DCMAKE_CXX_FLAGS=-O0", f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}"]
    build = tmp_path / "build"
    for command in (
        ["cmake", "-S", folder, "-B", build, *found, *flags],
        ["cmake", "--build", build, "--target", "install"],
        ["ctest", "--test-dir", build],
    ):
        done = subprocess.run(command, check=True, capture_output=True)
    assert b"100% tests passed, 0 tests failed out of 1" in done.stdout
    package = "two_link_inverse_dynamics_solver"
    for name in (f"lib/lib{package}.so", f"share/{package}/{package}.xml", f"include/{package}/solver.hpp"):
        assert (tmp_path / "installed" / name).is_file()


def test_the_ros2_package_names_itself_alike_everywhere() -> None:
    files = generate_code("builtin:ur5", "ros2", terms=TERMS).files
    package, plugin = ET.fromstring(files["package.xml"]), ET.fromstring(files["ur5_inverse_dynamics_solver.xml"])
    assert package.findtext("name") == plugin.attrib["path"] == "ur5_inverse_dynamics_solver"
    assert plugin[0].attrib["type"] == "ur5_inverse_dynamics_solver::Ur5Solver"
    assert "class Ur5Solver :" in files["include/ur5_inverse_dynamics_solver/solver.hpp"]


def hostile() -> Robot:
    """A robot all of whose names are hostile."""
    robot = dynid.load_robot("builtin:ur5")
    described = robot.description
    names = {body.name: f"{HOSTILE}{k}" for k, body in enumerate(described.bodies)}
    bodies = tuple(replace(body, name=names[body.name]) for body in described.bodies)
    joints = tuple(
        replace(
            joint,
            name=f"{HOSTILE}{k}",
            dynamics=JointDynamics(0.1, 0.2, 0.3),
            parent=names[str(joint.parent)],
            child=names[joint.child],
        )
        for k, joint in enumerate(described.joints)
    )
    return assemble(replace(described, name=HOSTILE, bodies=bodies, joints=joints))


def test_hostile_names_stay_in_comments() -> None:
    robot = hostile()
    for target in ("c", "ros2"):
        for name, text in generate_code(robot, target).files.items():
            assert text.isascii()
            if not name.endswith(".json"):
                for piece in ("evil;", "*/ int", "??/", "7*7", "$(", "]]>", "-->", "\\\n", "''''"):
                    assert piece not in text, (name, piece)
            elif name == "model.json":
                assert json.loads(text)["joints"][0]["name"] == f"{HOSTILE}0"
            if name.endswith(".xml"):
                ET.fromstring(text)
            if name.endswith(".py"):
                compile(text, name, "exec")


@compiled
def test_a_folder_of_hostile_names_builds_and_checks_itself(tmp_path: Path) -> None:
    code = generate_code(hostile(), functions=["gravity", "friction"])
    folder = code.write(tmp_path / "code")
    assert build(folder, f"{code.name}.c", f"test_{code.name}.c", flags=(*STRICT, "-trigraphs")) == 0


@pytest.mark.parametrize(
    "name", ["", "7", "int", "std", "a*/b", "ÄÖ", "__x__", "linux", "A" * 500, "class", "Link", "sin", "uint8_t"]
)
def test_identifiers_are_words_that_mean_nothing(name: str) -> None:
    made_of_it = identifier(name)
    assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", made_of_it)
    assert made_of_it not in ("int", "std", "linux", "class", "link", "sin", "uint8_t")
    assert len(made_of_it) < 64
    assert identifier(made_of_it) == made_of_it


def test_shown_names_are_plain_in_every_language() -> None:
    text = shown(HOSTILE)
    assert re.fullmatch(r"[A-Za-z0-9 _.,:+=()\[\]{}]*", text)
    assert yaml.safe_load(f"name: '{text}'")["name"] == text
    assert tomllib.loads(f"name = '{text}'")["name"] == text


def test_the_same_model_gives_the_same_bytes() -> None:
    assert generate_code("builtin:ur5", terms=TERMS).files == generate_code("builtin:ur5", terms=TERMS).files
    other = generate_code("builtin:ur5", terms=["viscous"]).files
    digests = [re.search(r'DIGEST "(\w+)"', files["ur5.h"]) for files in (arm().files, other)]
    assert digests[0]
    assert digests[1]
    assert digests[0][1] != digests[1][1]
    assert str(np.datetime64("today"))[:4] not in arm().files["ur5.h"]


def test_a_result_becomes_code_of_its_links_or_its_base_parameters() -> None:
    own = result()
    of_links, of_base = (own.compile(backend="numba", parameters=which) for which in ("physical", "base"))
    q, v, a = random_states(own.model, 5, np.random.default_rng(0))
    assert np.allclose(of_links(q, v, a), own.predict(q, v, a, physical=True), rtol=0.0, atol=1e-9)
    assert np.allclose(of_base(q, v, a), own.predict(q, v, a), rtol=0.0, atol=1e-9)
    assert np.allclose(of_links.regressor_product(q, v, a, list(own.values.values())), own.predict(q, v, a), atol=1e-9)
    assert "mass_matrix" in of_links.functions
    with pytest.raises(UnknownNameError, match="positive definite"):
        of_base.mass_matrix(q)


@pytest.mark.skipif(compiler() is None, reason=NO_COMPILER)
def test_both_backends_give_the_same_answers() -> None:
    built, interpreted = result().compile(), result().compile(backend="numba")
    assert (built.backend, interpreted.backend) == ("c", "numba")
    q, v, a = random_states(result().model, 50, np.random.default_rng(0))
    for name, inputs in (("inverse_dynamics", (q, v, a)), ("mass_matrix", (q,)), ("coriolis_matrix", (q, v))):
        many = getattr(built, name)(*inputs)
        assert np.allclose(many, getattr(interpreted, name)(*inputs), rtol=1e-12, atol=1e-12)
        assert np.array_equal(getattr(built, name)(*(x[3] for x in inputs)), many[3])
    with pytest.raises(ShapeError):
        built.gravity(q[:, :1])
    alone = result().compile(functions=["gravity"])
    assert alone.functions == ("gravity",)
    assert np.array_equal(alone.gravity(q), built.gravity(q))
    with pytest.raises(UnknownNameError):
        alone(q, v, a)


def test_without_a_compiler_numba_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert result().compile().backend == "numba"
    with pytest.raises(InvalidRequestError, match="compiler"):
        result().compile(backend="c")


def verdict_no() -> Result:
    own = result()
    verdict = Verdict(answer=Answer.NO, reason="the logs */ do not move", headline="no: the logs */ do not move")
    return replace(own, record=own.record.model_copy(update={"verdict": verdict}))


REFUSED: dict[str, tuple[Callable[[], object], type[DynidError], str]] = {
    "a mass matrix of base parameters": (
        lambda: generate_code(result(False), functions=["mass_matrix"]), InvalidRequestError, "physical.fit"),
    "a plugin of base parameters": (lambda: generate_code(result(False), "ros2"), InvalidRequestError, "mass_matrix"),
    "a spring in ROS 2": (
        lambda: generate_code("builtin:ur5", "ros2", terms=["spring"]), InvalidRequestError, "'spring'"),
    "a floating base in ROS 2": (
        lambda: generate_code(dynid.load_robot(example_robot_file("solo12.urdf"), floating_base=True), "ros2"),
        InvalidRequestError, "floating base"),
    "float in ROS 2": (lambda: generate_code("builtin:ur5", "ros2", scalar="float"), InvalidRequestError, "double"),
    "no verdict to trust": (lambda: generate_code(verdict_no()), UntrustedResultError, "--anyway"),
    "unknown masses": (lambda: generate_code("builtin:tx40"), InvalidRequestError, "link_1"),
    "an unknown function": (
        lambda: generate_code("builtin:ur5", functions=["gravty"]), UnknownNameError, "gravity"),
    "an unknown type": (lambda: generate_code("builtin:ur5", scalar="half"), UnknownNameError, "half"),
    "a name that is none": (lambda: generate_code("builtin:ur5", name="a b"), InvalidRequestError, "a_b"),
    "too few thresholds": (
        lambda: generate_code("builtin:ur5", thresholds=ContactLevels(np.ones(2))), ShapeError, "(6,)"),
    "negative thresholds": (
        lambda: generate_code("builtin:ur5", thresholds=ContactLevels(-np.ones(6))),
        InvalidRequestError, "above zero"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused(name: str) -> None:
    call, kind, word = REFUSED[name]
    with pytest.raises(kind) as raised:
        call()
    assert word in str(raised.value)


def test_numbers_that_do_not_fit_float_are_named() -> None:
    robot = dynid.load_robot("builtin:two_link")
    heavy = replace(robot.links[1].bodies[0], inertia=1e39 * np.array([1.0, 0, 0, 0, 1, 0, 1, 0, 0, 1]))
    links = (robot.links[0], replace(robot.links[1], bodies=(heavy,)))
    with pytest.raises(InvalidRequestError, match="parameter m2 of"):
        generate_code(replace(robot, links=links), scalar="float")


def found_limits(*joints: str, physical: bool = True) -> ContactLimits:
    """Thresholds as they are found from held-out logs; the second joint has none."""
    return ContactLimits(
        joints=joints,
        scales=(SpeedLevel(4.0, 1.0, 0.2, 0.5), SpeedLevel(np.inf)),
        gain=60.0,
        false_alarms_per_minute=1.0,
        interval=(0.5, 2.0),
        seconds=120.0,
        peaks=(30, 30),
        extrapolation=1.0,
        stds=(1.0, 1.0),
        lasting=(0.1, 0.1),
        resting=0.1,
        cutoff=80.0,
        physical=physical,
    )


@compiled
def test_thresholds_of_held_out_logs_are_in_the_code(tmp_path: Path) -> None:
    folder = generate_code(result(), thresholds=found_limits("joint_1", "joint_2")).write(tmp_path / "code")
    (folder / "main.c").write_text(
        '#include "two_link.h"\n#include <math.h>\nint main(void) {\n'
        "  const double slow[2] = {-0.1, 0}, fast[2] = {2, 0};\n  double at[2];\n"
        "  two_link_contact_thresholds(slow, at);\n  if (fabs(at[0] - 4.55) > 1e-12 || at[1] < 1e300) return 1;\n"
        "  two_link_contact_thresholds(fast, at);\n  return fabs(at[0] - 5) > 1e-12;\n}\n"
    )
    assert build(folder, "main.c", "two_link.c") == 0
    header = (folder / "two_link.h").read_text()
    assert "120 s of motion without contacts" in header
    assert "order 4 at 80 Hz" in header


@pytest.mark.parametrize("thresholds", [found_limits("a", "b"), found_limits("joint_1", "joint_2", physical=False)])
def test_thresholds_of_another_robot_or_model_are_refused(thresholds: ContactLimits) -> None:
    with pytest.raises(InvalidRequestError):
        generate_code(result(), thresholds=thresholds)


def test_the_files_say_that_a_result_should_not_be_trusted() -> None:
    code = generate_code(verdict_no(), anyway=True)
    assert "no: the logs {2A}{2F} do not move" in code.files[f"{code.name}.h"]


def test_the_files_say_what_lies_between_joints_and_logs() -> None:
    own = result()
    plain = generate_code(own).files
    assert "The logs had" not in plain["two_link.h"]
    assert "## Drives" not in plain["README.md"]
    drive = Drive(
        ratios=(10.0, -20.0),
        couplings=(Coupling(motor="joint_2", joint="joint_1", ratio=2.0),),
        torque_constants=(0.5, 1.0),
        torques="motor",
        offsets=(0.0, 0.25),
    )
    files = generate_code(replace(own, task=replace(own.task, drive=drive))).files
    for name in ("two_link.h", "README.md"):
        assert "u of the motors: tau = N^T K u." in files[name]
        assert "The logs had positions: q + offsets." in files[name]
        assert "10, 0; 2, -20." in files[name]
        assert "0.5, 1." in files[name]
        assert "0, 0.25." in files[name]
    assert len(json.loads(files["model.json"])["notes"]) == 5
    motors = replace(own.task, drive=drive.model_copy(update={"positions": "motor", "torques": "joint"}))
    text = generate_code(replace(own, task=motors)).files["two_link.h"]
    assert "u: tau = K u." in text
    assert "of the motors: N (q + offsets)." in text


def test_a_result_without_links_says_what_is_left_out() -> None:
    code = generate_code(result(False))
    assert "mass_matrix" not in code.functions
    assert "positive definite" in code.left_out[0]
    assert "positive definite" in code.files["README.md"]


def test_a_folder_is_written_whole_and_never_over_another(tmp_path: Path) -> None:
    code = generate_code("builtin:two_link")
    folder = code.write(tmp_path / "code")
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == set(code.files)
    with pytest.raises(OutputExistsError):
        code.write(folder)
    code.write(folder, overwrite=True)
    other = tmp_path / "mine"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    with pytest.raises(ForeignOutputError):
        code.write(other, overwrite=True)
    assert (other / "notes.txt").read_text() == "mine"


def test_files_of_users_in_a_folder_of_code_are_not_lost(tmp_path: Path) -> None:
    folder = generate_code("builtin:two_link").write(tmp_path / "code")
    (folder / "build" / "CMakeFiles").mkdir(parents=True)
    (folder / "build" / "Makefile").write_text("all:\n")
    package = generate_code("builtin:ur5", "ros2", terms=TERMS, name="arm")
    package.write(folder, overwrite=True)  # whatever was generated before
    assert {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} == set(package.files)
    (folder / "src" / "main.cpp").write_text("int main() {}\n")
    with pytest.raises(ForeignOutputError) as raised:
        package.write(folder, overwrite=True)
    assert raised.value.found == "src/main.cpp"
    assert (folder / "src" / "main.cpp").is_file()


@compiled
@pytest.mark.parametrize("name", ["link", "sin", "index"])
def test_names_of_functions_of_c_are_no_namespaces(tmp_path: Path, name: str) -> None:
    robot = replace(dynid.load_robot("builtin:two_link"), name=name)
    code = generate_code(robot, functions=["gravity"])
    folder = code.write(tmp_path / "code")
    text = f'#include <cmath>\n#include <cstring>\n#include <unistd.h>\n#include "{code.name}.hpp"\n'
    (folder / "main.cpp").write_text(text)
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    subprocess.run(["g++", *flags, "main.cpp"], cwd=folder, check=True)


def test_the_command_writes_code_of_results_and_robots(tmp_path: Path) -> None:
    result().save(tmp_path / "result")
    status, output, errors = run("export", tmp_path / "result", "--to", "c", "--json")
    assert status == 0, errors
    record = json.loads(output)
    assert Path(record["folder"]).parent == tmp_path / "result"
    assert record["target"] == "c"
    status, output, _ = run("export", "builtin:two_link", "--to", "c", "--out", tmp_path / "my code")
    assert status == 0
    assert "cmake -S '" in " ".join(output.split())  # a path with a space, for a shell
    assert "observer_step" in output
    status, output, _ = run("export", "builtin:ur5", "--to", "ros2", "--out", tmp_path / "package")
    assert status == 0
    assert "colcon build" in output
    status, _, errors = run("export", "builtin:ur5", "--to", "c", "--out", tmp_path / "package")
    assert status == 2
    assert "--force" in errors
    status, _, errors = run("export", tmp_path / "result", "--to", "urdf", "--scalar", "float")
    assert status == 2
    assert "--scalar" in errors
