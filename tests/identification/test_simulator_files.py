"""Identified joints where simulators take them: Isaac Lab, mjlab, MJCF actuators, YAML and JSON."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import make_dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import mujoco
import pytest
import yaml
from typer.testing import CliRunner

import dynid
from dynid import Result
from dynid.cli import app
from dynid.errors import InvalidRequestError, OutputExistsError, UnknownNameError
from dynid.identification.answers import Answer
from dynid.identification.joint_models import Estimate, JointModel, joint_models
from dynid.identification.records import CommandParameter, CommandRecord, RolloutRecord
from dynid.identification.robot_output import UntrustedResultError, default_path
from dynid.identification.simulator_files import isaaclab_text, mjlab_text
from dynid.robot import LARGEST_NUMBER
from dynid.robot.formats import Format
from tests.identified_robots import made

PARAMETERS = (
    "armature",
    "friction",
    "dynamic_friction",
    "viscous_friction",
    "stiffness",
    "damping",
    "joint_names_expr",
)
LIMITS = ("effort_limit", "velocity_limit", "effort_limit_sim", "velocity_limit_sim")
NEW_LIMITS = ("actuator_effort_limit", "actuator_velocity_limit", "joint_effort_limit", "joint_velocity_limit")
MJLAB = ("target_names_expr", "stiffness", "damping", "effort_limit", "armature", "frictionloss", "viscous_damping")
LAGS = ("delay_min_lag", "delay_max_lag")
ODD = 'it\'s """\\N{no}\né.*'


@cache
def measured(terms: tuple[str, ...] = ("viscous", "coulomb", "armature", "offset")) -> Result:
    """A result from torques."""
    return made("builtin:two_link", terms=terms)


def commanded(result: Result | None = None) -> Result:
    """The same as from commands of a known controller."""
    result = result or measured()
    bias = CommandParameter(name="bias1", owner="joint_1", unit="rad", value=0.01, std=1e-3, lower=0.008, upper=0.012)
    record = CommandRecord(
        law="continuous",
        delay=0.0073,
        delay_std=2e-4,
        kp=(20.0, 30.0),
        kd=(0.5, 0.7),
        effort_limit=(23.7, 45.0),
        bias=(0.01, -0.02),
        parameters=(bias,),
        rollout=RolloutRecord(rmse=1e-3, joints=(), command=1e-2),
        output_error=True,
        regression_seconds=0.1,
    )
    return replace(result, record=result.record.model_copy(update={"commands": record}))


def run(text: str, module: str, **configs: tuple[str, ...]) -> dict[str, Any]:
    """What a file defines, with a module whose configurations have these fields and no others."""
    fake = ModuleType(module)
    for name, fields in configs.items():
        setattr(fake, name, make_dataclass(name, [(field, Any, None) for field in fields]))
    parent = ModuleType(module.partition(".")[0])
    defined: dict[str, Any] = {}
    before = {name: sys.modules.get(name) for name in (parent.__name__, module)}
    sys.modules |= {parent.__name__: parent, module: fake}
    try:
        exec(compile(text, "actuators.py", "exec"), defined)
        takes_gains = "stiffness" in defined["actuators"].__annotations__
        gains = dict.fromkeys(defined.get("JOINTS", ()), 5.0)
        defined["made"] = defined["actuators"](gains, gains) if takes_gains else defined["actuators"]()
    finally:
        for name, known in before.items():
            sys.modules.pop(name) if known is None else sys.modules.update({name: known})
    return defined


def test_joint_models_hold_what_was_identified() -> None:
    result = commanded()
    one, two = joint_models(result)
    values = result.physical_values
    assert values is not None
    rows = {row.name: row.std for row in result.physical.terms} if result.physical else {}
    assert one.armature == Estimate(values["Ia1"], rows["Ia1"])
    assert (two.viscous, two.coulomb, two.offset) == tuple(Estimate(values[n], rows[n]) for n in ("fv2", "fs2", "off2"))
    assert (one.kp, one.kd, one.effort_limit) == (Estimate(20.0), Estimate(0.5), Estimate(23.7))
    assert (one.bias, two.bias) == (Estimate(0.01, 1e-3), Estimate(-0.02))
    assert one.delay == two.delay == Estimate(0.0073, 2e-4)
    assert one.static is None
    assert {joint.kp for joint in joint_models(measured())} == {None}


def test_a_limit_beyond_all_torques_is_none(tmp_path: Path) -> None:
    result = commanded()
    assert result.record.commands is not None
    limits = {"effort_limit": (23.7, LARGEST_NUMBER)}
    record = result.record.model_copy(update={"commands": result.record.commands.model_copy(update=limits)})
    result = replace(result, record=record)
    assert [joint.effort_limit for joint in joint_models(result)] == [Estimate(23.7), None]
    for name, form in (("a.py", "mjlab"), ("b.py", "isaaclab"), ("c.json", "json")):
        result.export(tmp_path / name, form)
        assert "1e+30" not in (tmp_path / name).read_text()


def test_friction_of_two_directions_and_of_rest() -> None:
    both = measured(("asymmetric_coulomb",))
    values = both.physical_values
    assert values is not None
    first = joint_models(both)[0]
    assert first.coulomb is not None
    assert first.coulomb.value == pytest.approx((values["fsp1"] + values["fsn1"]) / 2)
    assert first.armature is None
    rest = replace(JointModel("a"), coulomb=Estimate(0.2, 0.01), static=Estimate(0.5))
    text = isaaclab_text(both, [rest], 0.005, [])
    made_groups = run(text, "isaaclab.actuators", ImplicitActuatorCfg=(*PARAMETERS, *LIMITS))["made"]
    assert made_groups["identified_1"].friction == {"a": 0.5}
    assert made_groups["identified_1"].dynamic_friction == {"a": 0.2}
    assert made_groups["identified_1"].armature is None


@pytest.mark.parametrize("limits", [LIMITS, (*LIMITS, *NEW_LIMITS)])
def test_isaac_lab_gets_every_number(tmp_path: Path, limits: tuple[str, ...]) -> None:
    result = commanded()
    done = result.export(tmp_path / "two_link.py", "isaaclab")
    fields = (*PARAMETERS, *limits, "min_delay", "max_delay")
    (group,) = run(done.path.read_text(), "isaaclab.actuators", DelayedPDActuatorCfg=fields)["made"].values()
    joints = {re.escape(joint.name): joint for joint in joint_models(result)}
    assert group.joint_names_expr == list(joints)
    assert (group.min_delay, group.max_delay) == (1, 1)
    pairs = {"stiffness": "kp", "damping": "kd", "armature": "armature", "friction": "coulomb"}
    pairs |= {"dynamic_friction": "coulomb", "viscous_friction": "viscous"}
    pairs |= {"actuator_effort_limit" if "actuator_effort_limit" in limits else "effort_limit": "effort_limit"}
    for field, key in pairs.items():
        assert getattr(group, field) == {name: getattr(joint, key).value for name, joint in joints.items()}
    shifts = run(done.path.read_text(), "isaaclab.actuators", DelayedPDActuatorCfg=fields)["COMMAND_SHIFT"]
    assert result.physical_values is not None
    assert shifts["joint_1"] == pytest.approx(-result.physical_values["off1"] / 20.0 - 0.01)
    assert any("2.3 ms of the delay" in item for item in done.left_out)
    assert any("constant torques" in item for item in done.left_out)
    assert any("encoders" in item for item in done.left_out)


def test_mjlab_gets_every_number(tmp_path: Path) -> None:
    result = commanded()
    done = result.export(tmp_path / "two_link.py", "mjlab", step=0.002)
    found = run(done.path.read_text(), "mjlab.actuator", BuiltinPositionActuatorCfg=(*MJLAB, *LAGS))["made"]
    for config, joint in zip(found, joint_models(result), strict=True):
        assert config.target_names_expr == (re.escape(joint.name),)
        keys = ("kp", "kd", "effort_limit", "armature", "coulomb", "viscous")
        assert [getattr(config, field) for field in MJLAB[1:]] == [getattr(joint, key).value for key in keys]
        assert (config.delay_min_lag, config.delay_max_lag) == (4, 4)


def test_results_from_torques_have_no_gains_and_no_delay(tmp_path: Path) -> None:
    result = measured()
    isaac = result.export(tmp_path / "isaac.py", "isaaclab").path.read_text()
    (group,) = run(isaac, "isaaclab.actuators", ImplicitActuatorCfg=(*PARAMETERS, *LIMITS))["made"].values()
    assert group.stiffness is None
    assert len(group.armature) == 2
    mjlab = result.export(tmp_path / "mjlab.py", "mjlab").path.read_text()
    found = run(mjlab, "mjlab.actuator", BuiltinPositionActuatorCfg=MJLAB)["made"]
    assert [config.stiffness for config in found] == [5.0, 5.0]
    with pytest.raises(InvalidRequestError, match="gains"):
        result.export(tmp_path / "arm.xml", actuators="position")


def test_names_and_words_of_users_are_harmless() -> None:
    result = commanded()
    verdict = replace(result.verdict, headline=ODD)
    result = replace(result, record=result.record.model_copy(update={"robot": ODD, "verdict": verdict}))
    joints = [replace(joint, name=f"{ODD}{k}") for k, joint in enumerate(joint_models(result))]
    isaac = run(
        isaaclab_text(result, joints, 0.005, [ODD]),
        "isaaclab.actuators",
        DelayedPDActuatorCfg=(*PARAMETERS, *LIMITS, "min_delay", "max_delay"),
    )
    mjlab = run(mjlab_text(result, joints, 0.005, [ODD]), "mjlab.actuator", BuiltinPositionActuatorCfg=(*MJLAB, *LAGS))
    for defined in (isaac, mjlab):
        assert list(defined["ARMATURE"]) == [joint.name for joint in joints]
        assert "é" in defined["__doc__"]
    assert re.fullmatch(mjlab["made"][0].target_names_expr[0], joints[0].name)


def test_gains_in_mjcf_files(tmp_path: Path) -> None:
    result = commanded()
    plain = result.export(tmp_path / "plain.xml")
    assert any("--actuators" in item for item in plain.left_out)
    done = result.export(tmp_path / "arm.xml", actuators="position")
    model = mujoco.MjModel.from_xml_path(str(done.path))
    assert model.actuator_gainprm[:, 0].tolist() == [20.0, 30.0]
    assert model.actuator_biasprm[:, 2].tolist() == [-0.5, -0.7]
    assert model.actuator_forcerange[:, 1].tolist() == [23.7, 45.0]
    general = result.export(tmp_path / "general.xml", actuators="general")
    offsets = [joint.offset.value for joint in joint_models(result) if joint.offset]
    wanted = [-offsets[0] - 20.0 * 0.01, -offsets[1] + 30.0 * 0.02]
    assert mujoco.MjModel.from_xml_path(str(general.path)).actuator_biasprm[:, 0] == pytest.approx(wanted)
    assert not any("encoders" in item for item in general.left_out)
    assert done.beside is not None
    law = yaml.safe_load(done.beside.read_text())["commands"]
    assert law["delay"] == {"value": 0.0073, "std": 2e-4, "unit": "s"}
    assert [row["bias"]["value"] for row in law["joints"]] == [0.01, -0.02]
    urdf = result.export(tmp_path / "arm.urdf")
    assert urdf.beside is not None
    assert yaml.safe_load(urdf.beside.read_text())["commands"]["joints"][0]["kp"]["value"] == 20.0


def test_yaml_and_json_hold_the_same(tmp_path: Path) -> None:
    result = commanded()
    paths = [result.export(tmp_path / name).path for name in ("arm.json", "arm.yaml")]
    data = json.loads(paths[0].read_text())
    assert data == yaml.safe_load(paths[1].read_text())
    assert data["joints"][0]["kp"] == {"value": 20.0, "std": None, "unit": "N m/rad"}
    assert data["delay"]["value"] == 0.0073


def test_requests_that_do_not_fit(tmp_path: Path) -> None:
    result = commanded()
    with pytest.raises(InvalidRequestError, match="isaaclab or mjlab"):
        result.export(tmp_path / "arm.py")
    for name, arguments in {
        "arm.txt": {"format": "isaaclab"},
        "a.py": {"format": "isaaclab", "step": 5.0},
        "b.py": {"format": "mjlab", "actuators": "position"},
        "arm.xml": {"step": 0.005},
    }.items():
        with pytest.raises(InvalidRequestError):
            result.export(tmp_path / name, **arguments)
    with pytest.raises(UnknownNameError):
        result.export(tmp_path / "arm.xml", actuators="torque")  # pyright: ignore[reportArgumentType]
    assert not list(tmp_path.iterdir())
    result.export(tmp_path / "arm.py", "mjlab")
    with pytest.raises(OutputExistsError):
        result.export(tmp_path / "arm.py", "isaaclab")
    assert default_path(result, tmp_path, Format.MJLAB).name == "two_link_identified_mjlab.py"


def test_the_command_takes_step_and_actuators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynid, "load_result", lambda _: commanded())
    for arguments in ("isaaclab --step 0.002", "mjcf --actuators general", "yaml"):
        done = CliRunner().invoke(app, ["export", str(tmp_path), "--to", *arguments.split(), "--json"])
        assert done.exit_code == 0, done.output
        assert Path(json.loads(done.stdout)["path"]).exists()
    assert "DELAY_STEPS = 4\n" in (tmp_path / "two_link_identified_isaaclab.py").read_text()


def test_untrusted_results_say_so(tmp_path: Path) -> None:
    result = commanded()
    verdict = replace(result.verdict, answer=Answer.NO, headline="Do not use it.", reason="It is wrong.")
    result = replace(result, record=result.record.model_copy(update={"verdict": verdict}))
    with pytest.raises(UntrustedResultError):
        result.export(tmp_path / "arm.py", "mjlab")
    assert result.export(tmp_path / "arm.py", "mjlab", anyway=True).warning
    assert "Do not use it." in (tmp_path / "arm.py").read_text()
