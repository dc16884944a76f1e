"""Results as folders: what is saved loads equal, and what does not hold any more is refused, cause by cause."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dynid
from dynid.estimation.factors.factors import FactorsFileError
from dynid.findings import UNCODED
from dynid.identification.answers import Answer
from dynid.identification.records import SCHEMA
from dynid.identification.result import Result, ResultError
from dynid.model.terms import JointTerm
from dynid.robot.formats.urdf_writer import urdf_text
from tests.friction_logs import friction_log
from tests.practice_logs import EXPERIMENT, PROCESSING, TRUTH, in_memory, log, motion

DATA = Path(__file__).parents[1] / "data" / "results"
TERMS = ["viscous", "coulomb"]
ROBOT = dynid.load_robot("builtin:two_link")


@pytest.fixture(scope="module")
def urdf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("robot") / "arm.urdf"
    path.write_text(urdf_text(ROBOT))
    return path


@pytest.fixture(scope="module")
def identified(urdf: Path) -> Result:
    return dynid.identify(urdf, in_memory(log()), TERMS, processing=PROCESSING)


@pytest.fixture
def folder(identified: Result, urdf: Path, tmp_path: Path) -> Path:
    """A saved result whose robot is a file that the test may change."""
    shutil.copy(urdf, tmp_path / "arm.urdf")
    path = tmp_path / "result"
    identified.save(path)
    experiment = path / "experiment.toml"
    experiment.write_text(experiment.read_text().replace(str(urdf), str(tmp_path / "arm.urdf")))
    return path


def change(folder: Path, changing: Callable[[dict[str, Any]], object]) -> None:
    """Change what a result says."""
    data = json.loads((folder / "result.json").read_text())
    changing(data)
    (folder / "result.json").write_text(json.dumps(data))


def assert_equal(loaded: Result, saved: Result) -> None:
    assert loaded.record == saved.record
    assert loaded.to_dict() == saved.to_dict()
    assert loaded.findings == saved.findings
    assert [factors.names for factors in loaded.torques] == [factors.names for factors in saved.torques]
    for mine, theirs in zip((*loaded.torques, *loaded.rows), (*saved.torques, *saved.rows), strict=True):
        for joint, factor in theirs.joints.items():
            assert np.array_equal(mine.joints[joint].R, factor.R)
            assert np.array_equal(mine.joints[joint].z, factor.z)
    _, q, v, a, _ = motion()
    assert np.array_equal(loaded.predict(q, v, a), saved.predict(q, v, a))
    if saved.physical is not None:
        assert np.array_equal(loaded.predict(q, v, a, physical=True), saved.predict(q, v, a, physical=True))


@pytest.mark.parametrize("robot", ["builtin", "file"])
def test_a_result_of_arrays_loads_equal(identified: Result, urdf: Path, robot: str, tmp_path: Path) -> None:
    found = identified
    if robot == "builtin":
        found = dynid.identify(ROBOT, in_memory(log()), TERMS, processing=PROCESSING)
    found.save(tmp_path / "result")
    loaded = dynid.load_result(tmp_path / "result")
    assert_equal(loaded, found)
    assert loaded.task.difference(found.task) == ""
    assert loaded.folder == tmp_path / "result"
    other = in_memory(log(seed=7))
    assert loaded.validate(other).to_dict() == found.validate(other).to_dict()


@pytest.mark.parametrize(
    "settings",
    [
        {"estimation": {"estimator": "momentum", "bootstrap": False}},
        {"estimation": {"robust": "huber"}},
        {"physical": {"fit": False}},
        {"known": {"fv1": 0.5}},
        {"drive": {"signs": "auto"}},
        {"processing": {"automatic": True}},
        {"processing": {"lowpass": "none"}},
    ],
    ids=str,
)
def test_results_of_every_kind_load_equal(settings: dict[str, Any], tmp_path: Path) -> None:
    found = dynid.identify(ROBOT, in_memory(log()), TERMS, **{"processing": PROCESSING, **settings})
    found.save(tmp_path / "result")
    loaded = dynid.load_result(tmp_path / "result")
    assert_equal(loaded, found)
    assert loaded.training == found.training
    assert loaded.drive == found.drive


def test_nonlinear_parameters_load_equal(tmp_path: Path) -> None:
    found = dynid.identify(ROBOT, in_memory(log()), ["viscous", "stribeck"], processing=PROCESSING)
    found.save(tmp_path / "result")
    loaded = dynid.load_result(tmp_path / "result")
    assert_equal(loaded, found)
    assert [s.value for s in loaded.model.nonlinear] == [s.value for s in found.model.nonlinear]


def test_a_result_of_files_loads_equal_and_keeps_its_experiment(write, tmp_path: Path) -> None:
    path = write()
    found = dynid.identify(path)
    found.save(tmp_path / "result")
    loaded = dynid.load_result(tmp_path / "result")
    assert_equal(loaded, found)
    assert (tmp_path / "result" / "experiment.toml").read_bytes() == path.read_bytes()
    assert loaded.task.logs == found.task.logs
    assert loaded.file is not None
    assert loaded.file.path == path


def test_a_folder_may_be_named_by_a_string(folder: Path) -> None:
    assert dynid.load_result(str(folder)).record == dynid.load_result(folder).record


def test_a_term_of_the_users_own_is_not_saved_under_a_wrong_name(tmp_path: Path) -> None:
    class Ripple(JointTerm):
        symbols = ("ripple",)
        units = ("N m",)
        needs = frozenset("q")

        def features(self, q, v, a):
            return (np.sin(9.0 * q),)

    found = dynid.identify(ROBOT, in_memory(log()), [*TERMS, Ripple()], processing=PROCESSING)
    with pytest.raises(dynid.DynidError, match="Ripple"):
        found.save(tmp_path / "result")
    assert not (tmp_path / "result").exists()


def test_a_registered_term_loads_equal(tmp_path: Path) -> None:
    from dynid.model.terms import TERMS as REGISTERED
    from dynid.model.terms import register_term

    class Ripple(JointTerm):
        symbols = ("ripple",)
        units = ("N m",)
        needs = frozenset("q")

        def features(self, q, v, a):
            return (np.sin(9.0 * q),)

    register_term("ripple", Ripple)
    try:
        found = dynid.identify(ROBOT, in_memory(log()), [*TERMS, Ripple()], processing=PROCESSING)
        found.save(tmp_path / "result")
        assert_equal(dynid.load_result(tmp_path / "result"), found)
    finally:
        del REGISTERED["ripple"]


# ------------------------------------------------------------------------------------------ what is not loaded, and why


def test_a_folder_without_a_result_holds_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ResultError, match="holds no result"):
            dynid.load_result(path)


@pytest.mark.parametrize("name", ["result.json", "origin.json", "experiment.toml"])
def test_a_folder_that_lacks_a_file_holds_no_result(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(ResultError, match="holds no result"):
        dynid.load_result(folder)


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", "\x00"], ids=["empty", "cut", "list", "no schema", "binary"])
def test_what_is_no_result_at_all_is_said_to_be_none(folder: Path, damage: str) -> None:
    (folder / "result.json").write_text(damage)
    with pytest.raises(ResultError, match="holds no result"):
        dynid.load_result(folder)


@pytest.mark.parametrize("schema", ["dynid-result-1", "dynid-result-99", None, 2])
def test_a_result_of_another_schema_says_which(folder: Path, schema: object) -> None:
    change(folder, lambda data: data.update(schema=schema))
    with pytest.raises(ResultError, match=f"another kind \\({schema}\\)"):
        dynid.load_result(folder)


DAMAGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a missing key": (lambda data: data.pop("parameters"), "parameters"),
    "a word for a number": (lambda data: data.update(relative_error="small"), "relative_error"),
    "a value that is none": (lambda data: data["parameters"][2].update(value=None), r"parameters\.2\.value"),
    "an infinite value": (lambda data: data["parameters"][0].update(value=float("inf")), r"parameters\.0\.value"),
    "an unknown estimator": (lambda data: data.update(estimator="magic"), "estimator"),
    "a finding without severity": (
        lambda data: data.update(findings=[{"code": "fit-poor", "subject": "fit", "text": ""}]),
        "findings",
    ),
    "a finding of unknown severity": (
        lambda data: data.update(findings=[{"code": "x", "severity": "huge", "subject": "fit", "text": ""}]),
        "findings",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_result_says_where(folder: Path, damage: str) -> None:
    changing, where = DAMAGES[damage]
    change(folder, changing)
    with pytest.raises(ResultError, match=rf"result\.json is damaged \({where}\)"):
        dynid.load_result(folder)


def test_parameters_of_another_model_are_refused(folder: Path) -> None:
    change(folder, lambda data: data["parameters"][0].update(name="m7"))
    with pytest.raises(ResultError, match="parameters are not those of its experiment"):
        dynid.load_result(folder)


def test_an_experiment_with_other_terms_is_refused(folder: Path) -> None:
    path = folder / "experiment.toml"
    text = path.read_text()
    path.write_text(text.replace('    "coulomb",\n', ""))
    assert path.read_text() != text
    with pytest.raises(ResultError, match="parameters are not those of its experiment"):
        dynid.load_result(folder)


def test_nonlinear_parameters_of_another_model_are_refused(folder: Path) -> None:
    extra = {"name": "vs1", "value": 0.1, "used": 0.1, "unit": "rad/s", "owner": "joint_1", "source": "known"}
    nothing = dict.fromkeys(
        ("std", "relative_std_percent", "lower", "upper", "bootstrap_std", "bootstrap_lower", "bootstrap_upper")
    )
    change(folder, lambda data: data.update(shapes=[{**nothing, **extra}]))
    with pytest.raises(ResultError, match="nonlinear parameters are not those of its experiment"):
        dynid.load_result(folder)


def test_a_robot_whose_joints_moved_since_is_refused(folder: Path) -> None:
    robot = folder.parent / "arm.urdf"
    text = robot.read_text()
    robot.write_text(text.replace('xyz="0.5 0 0.25"', 'xyz="0.7 0 0.25"'))
    assert robot.read_text() != text
    with pytest.raises(ResultError, match="placed or point elsewhere now"):
        dynid.load_result(folder)


def test_a_robot_whose_masses_changed_since_is_not(folder: Path) -> None:
    robot = folder.parent / "arm.urdf"
    text = robot.read_text()
    robot.write_text(text.replace('<mass value="', '<mass value="1'))
    assert robot.read_text() != text
    assert dynid.load_result(folder).parameters.names == tuple(TRUTH)


def test_joints_that_were_renamed_are_refused(folder: Path) -> None:
    change(folder, lambda data: data["kinematics"][0].update(joint="other"))
    with pytest.raises(ResultError, match="placed or point elsewhere now"):
        dynid.load_result(folder)


def test_physical_links_of_another_robot_are_refused(folder: Path) -> None:
    change(folder, lambda data: data["physical"]["links"].reverse())
    with pytest.raises(ResultError, match="physical links are not those of its robot"):
        dynid.load_result(folder)


def test_missing_and_damaged_factors_are_named(folder: Path) -> None:
    (folder / "log_1.factors").write_bytes(b"nothing")
    with pytest.raises(FactorsFileError, match=r"log_1\.factors.*holds no factors"):
        dynid.load_result(folder)
    (folder / "log_1.factors").unlink()
    with pytest.raises(FactorsFileError, match=r"log_1\.factors"):
        dynid.load_result(folder)


def test_missing_factors_of_another_form_are_named(tmp_path: Path) -> None:
    shutil.copytree(DATA / "schema_2_momentum", tmp_path / "result")
    (tmp_path / "result" / "log_1.momentum.factors").unlink()
    with pytest.raises(FactorsFileError, match=r"log_1\.momentum\.factors"):
        dynid.load_result(tmp_path / "result")


# --------------------------------------------------------------------------------------------------------- old results


@pytest.mark.parametrize("kind", ["torque", "momentum"])
def test_results_that_the_version_before_typed_records_saved_still_load(kind: str) -> None:
    """The folders were made by the commit 691af4c, of logs in `tests/practice_logs.py` and `tests/friction_logs.py`."""
    folder = DATA / f"schema_2_{kind}"
    data = json.loads((folder / "result.json").read_text())
    loaded = dynid.load_result(folder)
    assert data["schema"] == SCHEMA
    assert loaded.values == {row["name"]: row["value"] for row in data["parameters"]}
    assert {row.name: row.used for row in loaded.nonlinear} == {row["name"]: row["used"] for row in data["shapes"]}
    assert loaded.record.estimator == loaded.rows[0].form == kind
    assert [(one.severity.value, one.subject, one.text) for one in loaded.findings] == [
        (one["severity"], one["subject"], one["text"]) for one in data["findings"]
    ]
    assert all(one.code == UNCODED for one in loaded.findings)
    assert kind != "torque" or loaded.findings
    written = loaded.to_dict()
    assert set(data) <= set(written)
    for key in set(data) - {"findings"}:
        assert holds(written[key], data[key]), key


def holds(new: Any, old: Any) -> bool:
    """Whether plain data are the same as before, but for keys that were added."""
    if isinstance(old, dict):
        return isinstance(new, dict) and all(key in new and holds(new[key], old[key]) for key in old)
    if isinstance(old, list):
        return len(new) == len(old) and all(map(holds, new, old))
    return new == old


def test_the_logs_of_old_results_still_give_their_numbers() -> None:
    columns = {name: values[::4] for name, values in log(seconds=10.0, noise=0.3).items()}
    sparse = friction_log(["viscous", "sigmoid"])[::4]
    settings: dict[str, Any] = {"processing": {"automatic": False}, "physical": {"fit": False}}
    now = {
        "torque": dynid.identify(ROBOT, in_memory(columns), TERMS, processing=PROCESSING),
        "momentum": dynid.identify(
            ROBOT, sparse, ["viscous", "sigmoid"], estimation={"estimator": "momentum", "bootstrap": False}, **settings
        ),
    }
    for kind, found in now.items():
        before = dynid.load_result(DATA / f"schema_2_{kind}")
        assert found.values == pytest.approx(before.values, rel=1e-9)
        assert found.parameters.stds == pytest.approx(before.parameters.stds, rel=1e-9)
        assert [row.used for row in found.nonlinear] == pytest.approx([row.used for row in before.nonlinear], rel=1e-9)
        assert found.relative_error == pytest.approx(before.relative_error, rel=1e-9)
        assert (found.physical is None) == (before.physical is None)
        if found.physical is not None and before.physical is not None:
            # Schema 2 is of a time when the prior had a weight of 1 beside data that counted as white.
            assert found.physical.relative_error == pytest.approx(before.physical.relative_error, rel=0.01)


def test_an_old_result_predicts_exports_and_takes_new_logs(tmp_path: Path) -> None:
    loaded = dynid.load_result(DATA / "schema_2_torque")
    _, q, v, a, torque = motion()
    for physical in (False, True):
        error = loaded.predict(q, v, a, physical=physical) - torque
        assert np.linalg.norm(error) < 0.01 * np.linalg.norm(torque)
    assert loaded.record.verdict is None
    assert loaded.verdict.answer is Answer.FITS  # judged from what it holds
    validation = loaded.validate(in_memory(log(seed=7)))
    assert validation.relative_error < 0.02
    assert validation.verdict.answer is Answer.YES
    assert loaded.export(tmp_path / "arm.urdf").difference < 1e-9
    added = dynid.identify(ROBOT, in_memory(log(seed=7)), TERMS, processing=PROCESSING, add_to=loaded)
    assert added.record.logs == 2
    loaded.save(tmp_path / "again")
    assert_equal(dynid.load_result(tmp_path / "again"), loaded)


# ---------------------------------------------------------------------------------------------------- where it is saved


def test_folders_with_something_else_are_left_alone(identified: Result, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("years of work")
    with pytest.raises(ResultError, match="something else"):
        identified.save(folder, overwrite=True)
    assert [entry.name for entry in folder.iterdir()] == ["thesis.tex"]
    with pytest.raises(ResultError, match="is a file"):
        identified.save(folder / "thesis.tex", overwrite=True)
    done = tmp_path / "done"
    identified.save(str(done))
    with pytest.raises(ResultError, match="holds a result already"):
        identified.save(done)
    identified.save(done, overwrite=True)
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_the_command_says_what_to_do_where_a_result_is_in_the_way(write, tmp_path: Path) -> None:
    from tests.commands import run

    path = write(experiment=EXPERIMENT)
    assert run("identify", path, "--out", tmp_path / "result")[0] == 0
    status, _, err = run("identify", path, "--out", tmp_path / "result")
    assert status == 2
    assert "--force" in err
    assert run("identify", path, "--out", tmp_path / "result", "--force")[0] == 0
