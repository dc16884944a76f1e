"""The Python face: the workflow on objects in memory, rooms entered in the order of the house, a fast import."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import dynid

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dynid.__file__).parent
ROOMS = ("robot", "model", "logs", "estimation", "excitation", "simulation", "experiment", "identification", "report")
TERMS = ["viscous", "coulomb"]
LIMITS = {"position": (-2.0, 2.0), "velocity": 2.0, "acceleration": 6.0, "effort": 500.0, "period": 10.0}


def test_every_name_of_the_front_door_is_there() -> None:
    for name in dynid.__all__:
        assert getattr(dynid, name) is not None


def test_the_workflow_of_the_design_runs_on_objects_in_memory(tmp_path: Path) -> None:
    robot = dynid.load_robot("builtin:two_link")
    inspection = dynid.inspect(robot, terms=TERMS)
    assert len(inspection.base_parameters) == 10
    assert "mx1 + 0.5*m2" in str(inspection)
    motion = dynid.excite(robot, terms=TERMS, time_limit=5, starts=1, **LIMITS)
    assert motion.q.shape == motion.v.shape == motion.a.shape == (len(motion.t), 2)
    simulated = dynid.simulate(robot, motion, noise=0.01, seed=1)
    log = dynid.Log(time=simulated.time, position=simulated.position, torque=simulated.torque)
    result = dynid.identify(robot, [log], terms=TERMS)
    truth = inspection.base_parameters.to_base(inspection.model.reference)
    assert np.linalg.norm(result.parameters.values - truth) < 0.02 * np.linalg.norm(truth)
    assert result.parameters.to_frame().columns[:4] == ["name", "expression", "unit", "value"]
    assert list(result.parameters.to_pandas()["value"]) == result.parameters.values.tolist()
    torques = result.predict(motion.q, motion.v, motion.a)
    assert torques.shape == motion.q.shape
    other = dynid.simulate(robot, dynid.excite(robot, TERMS, starts=1, seed=3, time_limit=5, **LIMITS), noise=0.01)
    assert result.validate(other).relative_error < 0.02
    assert dynid.validate(result, other).relative_error == result.validate(other).relative_error
    assert result.export(tmp_path / "arm.urdf").path.exists()
    assert result.report(tmp_path / "report.html", validate=[other]).path.exists()
    result.save(str(tmp_path / "result"))
    again = dynid.load_result(str(tmp_path / "result"))
    assert again.record == result.record
    assert np.allclose(again.predict(motion.q, motion.v, motion.a), torques, rtol=1e-12)
    for thing in (robot, inspection, motion, log, result, again, result.parameters, inspection.base_parameters):
        assert len(repr(thing)) < 200
    for thing in (inspection, motion, result, result.parameters, inspection.base_parameters):
        assert "<table" in thing._repr_html_()


def test_experiment_files_are_excited_and_simulated_too(tmp_path: Path) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(
        'robot = "builtin:two_link"\nterms = ["viscous", "coulomb"]\n[excitation]\nvelocity = 2.0\nperiod = 5.0\n'
    )
    limits = {key: LIMITS[key] for key in ("position", "acceleration", "effort")}
    motion = dynid.excite(path, starts=1, time_limit=5, **limits)
    assert motion.duration == pytest.approx(5.0)
    assert len(dynid.simulate(str(path), motion, seed=1)) > 1000


def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(ROOT / "examples" / "workflow.ipynb", as_version=4)
    imports = [
        line for cell in notebook.cells for line in cell.source.splitlines() if line.startswith(("import", "from"))
    ]
    assert len(imports) <= 3
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    assert (tmp_path / "report.html").exists()


def test_importing_is_lazy() -> None:
    heavy = "numpy polars scipy numba mujoco pinocchio plotly pydantic"
    code = f"import sys, dynid; print([name for name in '{heavy}'.split() if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Walk:
    """Which rooms are entered in which order, and which functions of other rooms each room calls."""

    def __init__(self) -> None:
        self.entered: list[str] = []
        self.calls: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._rooms: dict[CodeType, str] = {}

    def room(self, code: CodeType) -> str:
        if code not in self._rooms:
            path = Path(code.co_filename)
            inside = path.relative_to(PACKAGE).parts[0] if path.is_relative_to(PACKAGE) else ""
            self._rooms[code] = inside if inside in ROOMS else ""
        return self._rooms[code]

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        callee = self.room(frame.f_code) if event == "call" else ""
        if not callee:
            return
        if callee not in self.entered:
            self.entered.append(callee)
        caller = frame.f_back
        while caller is not None and not self.room(caller.f_code):
            caller = None if "importlib" in caller.f_code.co_filename else caller.f_back
        if caller is not None and self.room(caller.f_code) != callee and frame.f_code.co_name != "<lambda>":
            name = f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}"
            self.calls[self.room(caller.f_code), callee].add(name)


@pytest.fixture
def log() -> dynid.Log:
    rng, t = np.random.default_rng(0), np.arange(0.0, 20.0, 0.005)
    q = np.stack([np.sin(1.1 * t) + 0.3 * np.sin(3 * t), np.cos(1.7 * t)], axis=1)
    v = np.gradient(q, t, axis=0)
    model = dynid.DynamicModel(dynid.load_robot("builtin:two_link"), TERMS)
    torque = model.inverse_dynamics(q, v, np.gradient(v, t, axis=0))
    return dynid.Log(t, q, torque + 0.01 * rng.normal(size=q.shape))


def test_one_log_passes_the_rooms_in_their_order(log: dynid.Log, tmp_path: Path) -> None:
    def workflow() -> None:
        robot = dynid.load_robot("builtin:two_link")
        dynid.write_report(dynid.identify(robot, [log], TERMS), tmp_path / "report.html", overwrite=True)

    workflow()  # everything is imported and compiled
    walk = Walk()
    sys.setprofile(walk)
    try:
        workflow()
    finally:
        sys.setprofile(None)
    place = {room: k for k, room in enumerate(ROOMS)}
    entered = [room for room in walk.entered if room != "identification"]  # the recipe's own room comes first
    assert entered == sorted(entered, key=place.__getitem__)
    for (caller, callee), names in walk.calls.items():
        assert place[callee] <= place[caller], f"{caller} calls {callee}: {sorted(names)}"
    from_recipe = {
        (callee, name) for (caller, callee), names in walk.calls.items() if caller == "identification" for name in names
    }
    assert len(from_recipe) <= 20, sorted(from_recipe)
