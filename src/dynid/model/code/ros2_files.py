"""A ROS 2 package around generated code: a plugin of the interface `inverse_dynamics_solver`."""

from __future__ import annotations

from dynid.errors import InvalidRequestError
from dynid.model.code.c_text import Scalar
from dynid.model.code.code_files import test_text
from dynid.model.code.code_request import RECORD_FILE, CodeRequest, recorded
from dynid.model.code.template_values import rendered, shared_values
from dynid.model.code.term_torques import name_of

NEEDED = ("gravity", "coriolis", "friction", "rigid_inverse_dynamics", "mass_matrix")
"""Functions that the plugin calls."""


def ros2_files(request: CodeRequest) -> dict[str, str]:
    """The texts of all files of a package by path.

    Raises:
        InvalidRequestError: If the interface has no place for what the model is.
    """
    _require_suitable(request)
    values, functions = shared_values(request)
    p, package = request.prefix, f"{request.prefix}_inverse_dynamics_solver"
    values |= {"package": package, "class": "".join(word.capitalize() for word in p.split("_")) + "Solver"}
    files = {
        "package.xml": rendered("package.xml.j2", values),
        "CMakeLists.txt": rendered("ros2_CMakeLists.txt.j2", values),
        f"{package}.xml": rendered("plugin.xml.j2", values),
        f"include/{package}/solver.hpp": rendered("solver.hpp.j2", values),
        "src/solver.cpp": rendered("solver.cpp.j2", values),
        f"src/{p}.h": rendered("model.h.j2", values),
        f"src/{p}.c": rendered("model.c.j2", values),
        f"test/test_{p}.c": test_text(request, functions, values),
    }
    about = {
        "package.xml": "the package",
        f"{package}.xml": "the plugin's description",
        f"include/{package}/solver.hpp": f"the plugin `{package}::{values['class']}`",
        "src/solver.cpp": "its code, which calls the functions of C",
        f"src/{p}.h": "the functions, in C99",
        f"test/test_{p}.c": "compares the functions with stored samples",
        RECORD_FILE: "names of joints and parameters, and all numbers",
    }
    use = (
        f"Put the folder into a workspace beside `inverse_dynamics_solver` (released for Humble and Jazzy), and run\n"
        f"`colcon build --packages-up-to {package}` and `colcon test --packages-select {package}`. Load the plugin\n"
        f"`{package}/{values['class']}` with\n"
        "`pluginlib::ClassLoader<inverse_dynamics_solver::InverseDynamicsSolver>`.\n"
        "`getTorques` is of inertia, Coriolis effects and gravity, as the interface says; add `getFrictionVector`.\n"
        "`initialize` takes nothing of the node and its robot description: the model is in the code."
    )
    files["README.md"] = rendered("README.md.j2", values | {"contents": list(about.items()), "use": use})
    return recorded(files, values["record"])


def _require_suitable(request: CodeRequest) -> None:
    if request.scalar is not Scalar.DOUBLE:
        raise InvalidRequestError("the ROS 2 interface has numbers of double precision; leave the scalar out")
    robot = request.code.robot
    if robot.has_quaternions:
        raise InvalidRequestError(
            f"the ROS 2 interface is of joints with one position each, and '{robot.name}' has a floating base or a "
            "spherical joint; lock it, or write --to c"
        )
    missing = [name for name in NEEDED if name not in request.names]
    if missing:
        reason = f": {request.left_out[0]}" if request.left_out else ""
        raise InvalidRequestError(f"the ROS 2 plugin needs the functions {', '.join(missing)}{reason}")
    odd = next((term for term in request.code.model.terms if term.needs & {"q"}), None)
    if odd is not None:
        raise InvalidRequestError(
            f"the ROS 2 interface takes friction as a function of velocities alone, and the term '{name_of(odd)}' "
            "depends on positions or the load; write --to c, or identify without it"
        )
