"""Generated code beside Pinocchio's C++ and CasADi's generated C: time for each call, size, time to generate.

Run: python -m benchmarks.generated_code (with --write, into docs/generated_code.md)

Pinocchio is compiled against the headers of its wheel where Eigen's are found (`apt install libeigen3-dev`), else
called from Python. CasADi comes with the extra `dev`; its inverse dynamics is the
recursion of textbooks with its symbols. All are compiled with `gcc -O2`, and run on one core.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.references import example_robot_file

from benchmarks.marked_tables import with_table
from dynid import DynamicModel, Robot, load_robot
from dynid.identification.generated_code import generate_code
from dynid.model import random_states
from dynid.robot.inertia import inertia_matrix, skew
from dynid.robot.pinocchio import to_pinocchio

ROBOTS = {
    "Panda": "builtin:panda",
    "UR5": "builtin:ur5",
    "Go2": example_robot_file("go2.urdf"),
    "G1": example_robot_file("g1_29dof_rev_1_0.urdf"),
    "TALOS": example_robot_file("talos_reduced.urdf"),
}
"""What is timed: arms, a quadruped, humanoids; all on fixed bases."""

PAGE = Path(__file__).parents[1] / "docs" / "generated_code.md"
STATES, ROUNDS = 1024, 40
"""States that are gone through, and how often; the fastest round counts."""

FLAGS = ("-O2",)
EIGEN = Path("/usr/include/eigen3")
DEFINED = (
    *("-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS"),
    *("-DBOOST_FUSION_INVOKE_MAX_ARITY=12", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION"),
)
"""What Pinocchio's own build files define for programs that use it; `rnea` is then that of the wheel."""


TIMED = """
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}
static double q[STATES][SIZE_Q], v[STATES][SIZE_V], a[STATES][SIZE_V], out[MOST];
static void read_states(void)
{
    if (fread(q, sizeof q, 1, stdin) != 1 || fread(v, sizeof v, 1, stdin) != 1 || fread(a, sizeof a, 1, stdin) != 1)
        exit(1);
}
#define TIME(name, call) do { \\
    double best = 1e9, sum = 0; \\
    int round, i; \\
    for (round = 0; round < ROUNDS; ++round) { \\
        double start = now(), each; \\
        for (i = 0; i < STATES; ++i) { call; sum += out[0]; } \\
        each = (now() - start) / STATES; \\
        if (each < best) best = each; \\
    } \\
    printf("%s %.4f %.12g\\n", name, best, sum); \\
} while (0)
"""


def stream(robot: Robot) -> bytes:
    q, v, a = random_states(DynamicModel(robot), STATES, np.random.default_rng(0))
    return b"".join(x.astype(float).tobytes() for x in (q, v, a))


def sizes(robot: Robot) -> list[str]:
    values = {
        "SIZE_Q": robot.nq,
        "SIZE_V": robot.nv,
        "MOST": 2 * robot.nv**2 + 2 * robot.nv,
        "STATES": STATES,
        "ROUNDS": ROUNDS,
    }
    return [f"-D{key}={value}" for key, value in values.items()]


def ran(folder: Path, program: str, data: bytes) -> dict[str, tuple[float, float]]:
    done = subprocess.run([str(folder / program)], input=data, capture_output=True, check=True)
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    return {name: (float(each), float(total)) for name, each, total in rows}


OWN = """
#include "code.h"
int main(void)
{
    read_states();
    TIME("inverse_dynamics", code_rigid_inverse_dynamics(q[i], v[i], a[i], out));
    TIME("gravity", code_gravity(q[i], out));
    TIME("mass_matrix", code_mass_matrix(q[i], out));
    TIME("coriolis_matrix", code_coriolis_matrix(q[i], v[i], out));
    TIME("momentum", code_momentum(q[i], v[i], out, out + SIZE_V));
    return 0;
}
"""


def object_size(folder: Path, source: str) -> float:
    """Size of the machine code of a source [kB]."""
    subprocess.run(["gcc", "-std=c99", *FLAGS, "-c", source, "-o", "sized.o"], cwd=folder, check=True)
    listed = subprocess.run(["size", "sized.o"], cwd=folder, check=True, capture_output=True, text=True)
    return int(listed.stdout.splitlines()[1].split()[0]) / 1e3


def own(robot: Robot, folder: Path) -> dict[str, float]:
    """Microseconds for each call of generated code by function, seconds to generate it, and sizes in kB."""
    start = time.perf_counter()
    code = generate_code(robot, terms=[], name="code")
    seconds = time.perf_counter() - start
    for name, text in generate_code(robot, terms=[], name="alone", functions=["rigid_inverse_dynamics"]).files.items():
        (folder / name).write_text(text)
    for name, text in code.files.items():
        (folder / name).write_text(text)
    (folder / "timed.c").write_text(TIMED + OWN)
    command = ["gcc", "-std=c99", *FLAGS, *sizes(robot), "timed.c", "code.c", "-o", "own", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    times = {name: each for name, (each, _) in ran(folder, "own", stream(robot)).items()}
    return {
        **times,
        "generation": seconds,
        "source": len(code.files["code.c"]) / 1e3,
        "size": object_size(folder, "code.c"),
        "size_alone": object_size(folder, "alone.c"),
    }


PINOCCHIO = """
#include <cstdio>
#include <pinocchio/multibody.hpp>
#include <pinocchio/algorithm/rnea.hpp>
int main()
{
    read_states();
    pinocchio::Model model;
    build(model);
    pinocchio::Data data(model);
    Eigen::VectorXd x(SIZE_Q), y(SIZE_V), z(SIZE_V);
    TIME("rnea", x = Eigen::Map<Eigen::VectorXd>(q[i], SIZE_Q); y = Eigen::Map<Eigen::VectorXd>(v[i], SIZE_V);
         z = Eigen::Map<Eigen::VectorXd>(a[i], SIZE_V); out[0] = pinocchio::rnea(model, data, x, y, z)[0]);
    return 0;
}
"""


def built_model(robot: Robot) -> str:
    """C++ that builds the same model: names of joint models by those of Pinocchio's in Python."""
    model = to_pinocchio(robot)
    lines = ["static void build(pinocchio::Model &model) {", "  using namespace pinocchio;"]
    lines += [f"  model.gravity.linear() << {numbers(robot.gravity)};"]
    for k in range(1, model.njoints):
        joint, placement, inertia = model.joints[k], model.jointPlacements[k], model.inertias[k]
        kind, axis = joint.shortname(), robot.joints[k - 1].axis
        make = f"{kind}({', '.join(map(repr, axis.tolist()))})" if kind.endswith("Unaligned") else f"{kind}()"
        lines += [
            "  { Eigen::Matrix3d R, I; Eigen::Vector3d p, c;",
            f"    R << {numbers(placement.rotation)}; p << {numbers(placement.translation)};",
            f"    c << {numbers(inertia.lever)}; I << {numbers(inertia.inertia)};",
            f'    JointIndex j = model.addJoint({model.parents[k]}, {make}, SE3(R, p), "j{k}");',
            f"    model.appendBodyToJoint(j, Inertia({inertia.mass!r}, c, I), SE3::Identity()); }}",
        ]
    return "\n".join([*lines, "}"])


def numbers(x: Any) -> str:
    return ", ".join(repr(float(each)) for each in np.ravel(x))


def pinocchio_cpp(robot: Robot, folder: Path) -> float:
    """Microseconds for each call of `rnea` from C++."""
    import pinocchio as pin

    prefix = Path(pin.__file__).parents[4]
    model = built_model(robot)
    head, main = PINOCCHIO.split("int main()")
    (folder / "pinocchio.cpp").write_text(TIMED + head + model + "\nint main()" + main)
    command = [
        "g++",
        "-std=c++17",
        *FLAGS,
        "-DNDEBUG",
        *DEFINED,
        *sizes(robot),
        f"-I{EIGEN}",
        f"-I{prefix / 'include'}",
    ]
    command += ["pinocchio.cpp", "-o", "pinocchio", f"-L{prefix / 'lib'}", "-lpinocchio_default"]
    subprocess.run([*command, f"-Wl,-rpath,{prefix / 'lib'}"], cwd=folder, check=True)
    return ran(folder, "pinocchio", stream(robot))["rnea"][0]


def pinocchio_python(robot: Robot) -> float:
    """The same from Python."""
    import pinocchio as pin

    model = to_pinocchio(robot)
    data = model.createData()
    states = random_states(DynamicModel(robot), STATES, np.random.default_rng(0))

    def once() -> None:
        for q, v, a in zip(*states, strict=True):
            pin.rnea(model, data, q, v, a)

    return fastest(once) / STATES


def fastest(work: Callable[[], None]) -> float:
    """The fastest of some runs [us]."""
    times = []
    for _ in range(10):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


CASADI = """
#include "casadi_code.c"
int main(void)
{
    double *results[1] = {out};
    const double *given[3];
    static casadi_int integers[16];
    static double work[WORK];
    read_states();
    TIME("rnea", given[0] = q[i]; given[1] = v[i]; given[2] = a[i]; rnea(given, results, integers, work, 0));
    return 0;
}
"""


def casadi_code(robot: Robot, folder: Path) -> tuple[float, float, float]:
    """Microseconds for each call, kB of machine code and seconds to generate of CasADi's code."""
    import casadi as ca

    start = time.perf_counter()
    q, v, a = (ca.SX.sym(name, robot.nv) for name in "qva")
    function = ca.Function("rnea", [q, v, a], [newton_euler(ca, robot, q, v, a)])
    writer = ca.CodeGenerator("casadi_code.c")
    writer.add(function)
    writer.generate(f"{folder}/")
    seconds = time.perf_counter() - start
    (folder / "casadi_timed.c").write_text(TIMED + CASADI)
    command = ["gcc", "-std=c99", *FLAGS, *sizes(robot), f"-DWORK={function.sz_w() + 1}", "casadi_timed.c"]
    subprocess.run([*command, "-o", "casadi", "-lm"], cwd=folder, check=True)
    return ran(folder, "casadi", stream(robot))["rnea"][0], object_size(folder, "casadi_code.c"), seconds


def newton_euler(ca: Any, robot: Robot, q: Any, v: Any, a: Any) -> Any:
    """Inverse dynamics with CasADi's symbols: the recursion of textbooks in the frames of the file."""
    still, states, wrenches, placed = ca.SX.zeros(3), [], [], []
    for joint, link in zip(robot.joints, robot.links, strict=True):
        own, row = q[joint.q.start], joint.v.start
        place, axis = clean(joint.placement), clean(joint.axis)
        if joint.leader is not None:
            own = joint.ratio * own + joint.offset
        turns = joint.kind.is_angular
        R, p = ca.SX(place[:3, :3]), ca.SX(place[:3, 3])
        if turns:
            K = ca.SX(skew(axis))
            R = ca.mtimes(R, ca.SX.eye(3) + ca.sin(own) * K + (1.0 - ca.cos(own)) * ca.mtimes(K, K))
        else:
            p = p + ca.mtimes(R, axis) * own
        w, rate, x = (still, still, ca.SX(-robot.gravity)) if joint.parent == -1 else states[joint.parent]
        x = ca.mtimes(R.T, x + ca.cross(rate, p) + ca.cross(w, ca.cross(w, p)))
        w, rate = ca.mtimes(R.T, w), ca.mtimes(R.T, rate)
        speed, more = joint.ratio * v[row] * ca.SX(axis), joint.ratio * a[row] * ca.SX(axis)
        if turns:
            rate, w = rate + more + ca.cross(w, speed), w + speed
        else:
            x = x + more + 2.0 * ca.cross(w, speed)
        m, h, inertia = link.parameters[0], ca.SX(link.parameters[1:4]), ca.SX(inertia_matrix(link.parameters))
        force = m * x + ca.cross(rate, h) + ca.cross(w, ca.cross(w, h))
        moment = ca.cross(h, x) + ca.mtimes(inertia, rate) + ca.cross(w, ca.mtimes(inertia, w))
        states.append((w, rate, x))
        wrenches.append([force, moment])
        placed.append((R, p, axis, turns))
    tau = [ca.SX(0.0)] * robot.nv
    for i, joint in reversed(list(enumerate(robot.joints))):
        R, p, axis, turns = placed[i]
        force, moment = wrenches[i]
        tau[joint.v.start] += joint.ratio * ca.dot(ca.SX(axis), moment if turns else force)
        if joint.parent != -1:
            carried = ca.mtimes(R, force)
            wrenches[joint.parent][0] += carried
            wrenches[joint.parent][1] += ca.mtimes(R, moment) + ca.cross(p, carried)
    return ca.vertcat(*tau)


def clean(x: Any) -> Any:
    """Numbers without the rounding of right angles, so that CasADi, too, can leave out zeros and ones."""
    return np.where(np.abs(x - np.round(x)) < 1e-15, np.round(x), x)


def measured() -> tuple[list[list[str]], list[list[str]]]:
    """The rows of two tables: times for each call, and sizes with the time to generate."""
    times, sizes_of_code = [], []
    for name, source in ROBOTS.items():
        robot = load_robot(source)
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = own(robot, Path(folder)), casadi_code(robot, Path(folder))
            cpp = EIGEN.exists()
            pinocchio = pinocchio_cpp(robot, Path(folder)) if cpp else pinocchio_python(robot)
        of_casadi = [f"{theirs[0]:.2f}", f"{theirs[1]:.0f}", f"{theirs[2]:.2f}"]
        first = f"{name} ({robot.nv})"
        reference = f"{pinocchio:.2f}" + ("" if cpp else " (from Python)")
        functions = ("gravity", "mass_matrix", "momentum", "coriolis_matrix")
        row = [first, f"{ours['inverse_dynamics']:.2f}", reference, of_casadi[0]]
        times.append([*row, *(f"{ours[key]:.2f}" for key in functions)])
        row = [first, f"{ours['size_alone']:.0f}", of_casadi[1], f"{ours['size']:.0f}", f"{ours['source']:.0f}"]
        sizes_of_code.append([*row, f"{ours['generation']:.1f}", of_casadi[2]])
        print(" | ".join(times[-1]), file=sys.stderr)
    return times, sizes_of_code


TIMES = (
    *("robot (joints)", "inverse dynamics", "Pinocchio", "CasADi", "gravity", "mass matrix", "momentum"),
    "Coriolis matrix",
)
SIZES = (
    *("robot (joints)", "inverse dynamics [kB]", "CasADi [kB]", "all functions [kB]", "source of all [kB]"),
    *("all generated in [s]", "CasADi's in [s]"),
)


def main() -> None:
    """Print the tables in Markdown; with `--write`, put them into the page."""
    times, sizes_of_code = measured()
    tables = {"generated code, times": (TIMES, times), "generated code, sizes": (SIZES, sizes_of_code)}
    page = PAGE.read_text()
    for name, (head, body) in tables.items():
        text = "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *body))
        print(f"{text}\n")
        page = with_table(page, name, text)
    if "--write" in sys.argv:
        PAGE.write_text(page)


if __name__ == "__main__":
    main()
