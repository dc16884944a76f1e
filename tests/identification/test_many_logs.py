"""Many logs: reduced one by one, here or by workers, they give the numbers of one process, and only once."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dynid
from dynid.estimation import NonlinearFit, RowForm
from dynid.findings import has
from dynid.identification import factor_cache, workers
from dynid.identification.factor_cache import FactorCache
from dynid.identification.log_factors import Reduction
from dynid.identification.many_logs import sampled_logs, spread
from dynid.identification.pipeline import Reducing
from dynid.identification.result import Result
from dynid.identification.task import experiment_file
from dynid.identification.workers import LogFailedError, Workers
from dynid.logs import Drive, LogSource, Processing
from dynid.model import NO_COMPILE, find_base_parameters
from dynid.model.kernels.kernel import compiled_kernel
from tests.practice_logs import MODEL, RATE, sines
from tests.urdf_texts import LIMIT, joint, urdf

EXPERIMENT = """
robot = "builtin:two_link"
terms = ["viscous", "coulomb"]

[[log]]
position = {{ file = "{name}", columns = "q_*" }}
torque = {{ file = "{name}", columns = "tau_*" }}
time = {{ file = "{name}", columns = "t" }}

[processing]
trim = 5
velocity_threshold = 0.05
"""

LOGS = 8


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cache of its own, and no compiled kernel: else it depends on earlier tests whether workers round as we do."""
    monkeypatch.setenv("DYNID_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(NO_COMPILE, "1")
    compiled_kernel.cache_clear()
    yield
    compiled_kernel.cache_clear()


@pytest.fixture
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """As though there were more logs than are read together."""
    monkeypatch.setattr(workers, "TOGETHER", 1)


def write_log(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 3.0, 1.0 / RATE)
    q, v, a = sines(rng, t)
    tau = MODEL.inverse_dynamics(q, v, a) + 0.05 * rng.standard_normal(q.shape)
    columns = {"t": t} | {f"q_{j}": q[:, j] for j in range(2)} | {f"tau_{j}": tau[:, j] for j in range(2)}
    pl.DataFrame(columns).write_parquet(path)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    for k in range(LOGS):
        write_log(folder / f"run{k}.parquet", k)
    return folder


@pytest.fixture
def experiment(recorded: Path, tmp_path: Path) -> Path:
    shutil.copytree(recorded, tmp_path / "logs")
    path = tmp_path / "experiment.toml"
    path.write_text(EXPERIMENT.format(name="logs/*.parquet"), encoding="utf-8")
    return path


def same(one: Result, other: Result) -> None:
    assert one.record.logs == other.record.logs
    for mine, theirs in ((one.values, other.values), (one.physical_values, other.physical_values)):
        assert mine is not None
        assert theirs is not None
        assert list(mine) == list(theirs)
        np.testing.assert_allclose(list(mine.values()), list(theirs.values()), rtol=1e-9, atol=1e-12)
    mine, theirs = (np.array([row.bootstrap_std for row in each.record.parameters], float) for each in (one, other))
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)
    assert sorted(f.code for f in one.findings) == sorted(f.code for f in other.findings)


def reduced(steps: list[str]) -> int:
    return sum(step.startswith("Reduced ") for step in steps)


def test_logs_one_by_one_give_the_numbers_of_logs_together_and_are_reduced_once(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = dynid.identify(experiment)
    monkeypatch.setattr(workers, "TOGETHER", 1)
    steps: list[str] = []
    same(dynid.identify(experiment, progress=steps.append), together)
    assert reduced(steps) == LOGS
    steps.clear()
    monkeypatch.setattr("dynid.identification.many_logs.HELD", 3)  # and with factors on disk
    again = dynid.identify(experiment, progress=steps.append)
    same(again, together)
    assert reduced(steps) == 0
    again.save(experiment.parent / "result")
    loaded = dynid.load_result(experiment.parent / "result")
    files = [log.position.file for log in loaded.task.logs if isinstance(log, LogSource)]
    assert [Path(file).name for file in files] == [f"run{k}.parquet" for k in range(LOGS)]


@pytest.mark.usefixtures("one_by_one")
def test_a_folder_that_goes_away_is_named_and_the_rest_is_identified(experiment: Path, tmp_path: Path) -> None:
    away = tmp_path / "other"
    away.mkdir()
    for k in (3, 7):
        (tmp_path / "logs" / f"run{k}.parquet").rename(away / f"run{k}.parquet")
    rest = dynid.identify(experiment, cache=False)
    text = experiment.read_text() + EXPERIMENT[EXPERIMENT.index("[[log]]") : EXPERIMENT.index("[processing]")].format(
        name="other/*.parquet"
    )
    experiment.write_text(text, encoding="utf-8")

    def step(words: str) -> None:
        if words.startswith("Reading a sample") and away.exists():
            away.rename(tmp_path / "gone")

    found = dynid.identify(experiment, progress=step)
    failed = [finding.subject for finding in found.findings if finding.code == "log-failed"]
    assert sorted(failed) == ["run3.parquet", "run7.parquet"]
    assert found.record.logs == LOGS - 2
    np.testing.assert_allclose(list(found.values.values()), list(rest.values.values()), rtol=1e-9)
    (tmp_path / "gone").rename(away)
    steps: list[str] = []
    whole = dynid.identify(experiment, progress=steps.append)
    assert (reduced(steps), whole.record.logs) == (2, LOGS)
    away.rename(tmp_path / "gone")
    experiment.write_text(text.replace("other/*.parquet", "other/run3.parquet"), encoding="utf-8")
    with pytest.raises(LogFailedError, match=r"run3\.parquet"):
        dynid.identify(experiment, strict=True)


@pytest.mark.usefixtures("one_by_one")
def test_damaged_entries_of_the_cache_are_computed_again_and_old_ones_removed(
    experiment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dynid.identify(experiment)
    entries = sorted((tmp_path / "cache" / "factors").glob("*/*.npz"))
    assert len(entries) == LOGS
    entries[0].write_bytes(b"PK\x03\x04 no archive")
    entries[1].write_bytes(entries[1].read_bytes()[:-100])
    steps: list[str] = []
    dynid.identify(experiment, progress=steps.append)
    assert reduced(steps) == 2
    assert list((tmp_path / "cache" / "factors").glob(f"{factor_cache.RUN}*")) == []  # folders of runs go with them
    small = FactorCache(largest=3 * entries[2].stat().st_size + 10)
    small.trim()
    assert len(list((tmp_path / "cache" / "factors").glob("*/*.npz"))) == 3


def test_the_first_of_spread_numbers_are_evenly_spread() -> None:
    assert sorted(spread(37)) == list(range(37))
    assert np.diff(sorted(spread(1000)[:32])).max() <= 2 * 1000 / 32


def test_what_needs_all_samples_is_refused_with_workers(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_require_dask", lambda: None)
    experiment.write_text(experiment.read_text() + '\n[estimation]\nrobust = "huber"\n', encoding="utf-8")
    with pytest.raises(dynid.DynidError, match=r"estimation\.robust = 'huber' needs the samples"):
        dynid.identify(experiment, workers=2)
    with pytest.raises(dynid.DynidError, match="not both"):
        Workers.of(2, "tcp://localhost:1")


def test_workers_need_dask_and_say_how_to_install_it(experiment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(dynid.DynidError, match=r"pip install 'dynid\[cluster\]'"):
        dynid.identify(experiment, workers=2)


@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_and_a_truncated_log_leave_the_result_of_the_rest(experiment: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    log = tmp_path / "logs" / "run5.parquet"
    content = log.read_bytes()
    log.rename(tmp_path / "run5.parquet")
    rest = dynid.identify(experiment)
    log.write_bytes(content[: len(content) // 2])
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        pids: list[int] = list(client.run(os.getpid).values())

        def kill_one(words: str) -> None:
            if words.startswith("Reduced ") and pids:
                os.kill(pids.pop(), signal.SIGKILL)
                pids.clear()

        found = dynid.identify(experiment, client=client, progress=kill_one)
        assert pids == []
        assert [f.subject for f in found.findings if f.code == "log-failed"] == ["run5.parquet"]
        np.testing.assert_allclose(list(found.values.values()), list(rest.values.values()), rtol=1e-9)
        log.write_bytes(content)
        steps: list[str] = []
        whole = dynid.identify(experiment, client=client, progress=steps.append)
        assert reduced(steps) == 1
        assert not has(whole.findings, "log-failed")
        same(whole, dynid.identify(experiment))


class FakeFuture:
    def __init__(self, answer: object, finished: bool) -> None:
        self.answer = answer
        self.finished = finished

    def done(self) -> bool:
        return self.finished

    def result(self, timeout: float) -> object:
        return self.answer

    def release(self) -> None:
        pass


class FakeWorkers:
    """Workers that all die over one unit, and are started anew."""

    is_asked = True

    def __init__(self, killer: int) -> None:
        self.killer = killer
        self.restarts = 0

    def connected(self) -> FakeWorkers:
        return self

    def restarted(self) -> FakeWorkers:
        self.restarts += 1
        return self

    def nthreads(self) -> dict[str, int]:
        return {"one": 1}

    def register_plugin(self, plugin: Any, name: str) -> None:
        plugin.setup(None)

    def submit(self, start: Callable[..., int], work: Any, name: str, item: int, pure: bool) -> FakeFuture:
        return FakeFuture(start(work, name, item), item != self.killer)


def test_a_unit_that_kills_all_workers_is_named_and_every_other_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers._Watch, "has_lost_all", lambda _: True)
    fake: Any = FakeWorkers(killer=5)
    found = dict(workers.done_by(lambda common, k: k * int(common) * k, b"1", range(12), range(12), fake))
    assert {k: found[k] for k in found if k != 5} == {k: k * k for k in range(12) if k != 5}
    assert "killed" in found[5].problem
    assert fake.restarts >= 2


def test_terms_that_no_log_determines_are_left_out_one_by_one_as_together(
    experiment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = experiment.read_text(encoding="utf-8") + '\n[drive]\nunmeasured = ["joint_2"]\n'
    experiment.write_text(text, encoding="utf-8")
    together = dynid.identify(experiment)
    monkeypatch.setattr(workers, "TOGETHER", 1)
    alone = dynid.identify(experiment)
    assert list(alone.values) == list(together.values)
    assert "fv1" in alone.values


def reduction(robot: dynid.Robot) -> Reduction:
    model = dynid.DynamicModel(robot, ["viscous"])
    return Reduction(model, model, Drive(), Processing(), RowForm(), 10)


def test_reduced_logs_are_kept_apart_where_the_equations_differ(tmp_path: Path) -> None:
    follower = LIMIT + '<mimic joint="elbow" multiplier="2"/>'
    text = urdf(joint("elbow", "base", "arm"), joint("hand", "arm", "tip", follower), links=("base", "arm", "tip"))
    texts = (text, text, text.replace('multiplier="2"', 'multiplier="3"'), text.replace("revolute", "prismatic"))
    facts = []
    for k, content in enumerate(texts):
        (tmp_path / f"{k}.urdf").write_text(content, encoding="utf-8")
        facts.append(reduction(dynid.load_robot(tmp_path / f"{k}.urdf")).facts)
    assert facts[0] == facts[1]
    assert facts[0] != facts[2]
    assert facts[0] != facts[3]


@pytest.mark.usefixtures("one_by_one")
def test_a_log_that_failed_stays_the_one_that_failed_where_terms_are_tried_again(experiment: Path) -> None:
    (experiment.parent / "logs" / "run1.parquet").write_bytes(b"nothing")
    task = experiment_file(experiment).task
    base = find_base_parameters(task.model)
    read = sampled_logs(task, base, Workers(), lambda _: None)
    reduce = Reducing(task.model, read, Workers(), None, lambda _: None)
    for _ in range(2):  # the second as where links ask for other terms
        used, found, _ = reduce(task, NonlinearFit(base, base, None))
        names = [Path(log.position.file).name for log in used.logs if isinstance(log, LogSource)]
        assert names[:2] == ["run0.parquet", "run2.parquet"]
        assert [finding.subject for finding in found.findings if finding.code == "log-failed"] == ["run1.parquet"]
