"""Patterns, folders and addresses of logs: each stands for its files, in one order, paired by what the stars mean."""

from pathlib import Path

import pytest

from dynid.experiment import read_experiment
from dynid.experiment.reading import ExperimentError
from dynid.logs import RecordingError, files_of, local_file, single_logs, stands_for_many

TABLE = "t,q1,tau1\n0,0,0\n0.1,1,1\n0.2,2,4\n"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DYNID_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in ("run10.csv", "run2.csv", "run1.csv", "notes.md", ".hidden.csv"):
        (folder / name).write_text(TABLE, encoding="utf-8")
    bag = folder / "bag"
    bag.mkdir()
    (bag / "metadata.yaml").touch()
    return folder


def names(found: object) -> list[str]:
    return [Path(file.name).name for file in found]  # type: ignore[attr-defined]


def test_a_pattern_stands_for_its_files_in_natural_order(logs: Path) -> None:
    found = files_of(f"{logs}/run*.csv")
    assert names(found) == ["run1.csv", "run2.csv", "run10.csv"]
    assert [file.stands_for for file in found] == [("1",), ("2",), ("10",)]


def test_a_folder_stands_for_its_logs_and_a_bag_is_one_of_them(logs: Path) -> None:
    assert names(files_of(logs)) == ["bag", "run1.csv", "run2.csv", "run10.csv"]
    assert names(files_of(logs / "bag")) == ["bag"]
    assert not stands_for_many(str(logs / "bag"))


def test_a_file_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path) -> None:
    path = tmp_path / "run[1].csv"
    path.write_text(TABLE, encoding="utf-8")
    assert names(files_of(path)) == ["run[1].csv"]


@pytest.mark.parametrize("name", ["none*.csv", "empty"])
def test_what_stands_for_nothing_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordingError, match=r"check the name and the folder"):
        files_of(tmp_path / name)


def test_quantities_pair_by_what_the_star_stands_for(tmp_path: Path) -> None:
    for name in ("q_a", "q_b", "tau_b", "tau_a"):
        (tmp_path / f"{name}.csv").write_text(TABLE, encoding="utf-8")
    log = {"position": {"file": f"{tmp_path}/q_*.csv"}, "torque": {"file": f"{tmp_path}/tau_*.csv"}, "name": "run"}
    found = single_logs(log)
    pairs = [(Path(one["position"]["file"]).name, Path(one["torque"]["file"]).name, one["name"]) for one in found]
    assert pairs == [("q_a.csv", "tau_a.csv", "run a"), ("q_b.csv", "tau_b.csv", "run b")]
    (tmp_path / "tau_b.csv").rename(tmp_path / "tau_c.csv")
    with pytest.raises(RecordingError, match=r"tau_c\.csv has no counterpart"):
        single_logs(log)
    (tmp_path / "tau_c.csv").unlink()
    with pytest.raises(RecordingError, match=r"stands for 1 file\(s\)"):
        single_logs(log)


def experiment(folder: Path, file: str) -> Path:
    path = folder / "experiment.toml"
    quantities = [f'{key} = {{ file = "{file}", columns = {columns} }}' for key, columns in COLUMNS.items()]
    path.write_text("\n".join(['robot = "builtin:pendulum"', "[[log]]", *quantities]), encoding="utf-8")
    return path


COLUMNS = {"position": '["q1"]', "torque": '["tau1"]', "time": '"t"'}


def test_an_experiment_has_one_log_for_each_file(logs: Path) -> None:
    found = read_experiment(experiment(logs.parent, "logs/run*.csv"))
    assert [Path(log.position.file).name for log in found.log] == ["run1.csv", "run2.csv", "run10.csv"]
    assert all(log.time is not None and log.time.file == log.torques.file for log in found.log)


def test_an_experiment_without_a_match_names_the_line(logs: Path) -> None:
    with pytest.raises(ExperimentError) as caught:
        read_experiment(experiment(logs.parent, "logs/*.parquet"))
    assert caught.value.line == 2


def test_a_wrong_key_of_many_logs_is_named_once_with_its_own_line(logs: Path) -> None:
    path = experiment(logs.parent, "logs/run*.csv")
    path.write_text(path.read_text() + '\n[[log]]\nposition = { file = "logs/run1.csv" }\nrate = -1', encoding="utf-8")
    with pytest.raises(ExperimentError) as caught:
        read_experiment(path)
    assert caught.value.line is not None
    assert caught.value.line > 5


def test_overlapping_patterns_would_count_twice(logs: Path) -> None:
    path = experiment(logs.parent, "logs/run*.csv")
    again = path.read_text().split("[[log]]")[1].replace("run*", "run1")
    path.write_text(f"{path.read_text()}\n[[log]]{again}", encoding="utf-8")
    with pytest.raises(ExperimentError, match="two logs are the same"):
        read_experiment(path)


def test_an_address_needs_fsspec_and_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    with pytest.raises(RecordingError, match=r"pip install 'dynid\[cluster\]'"):
        local_file("s3://bucket/run.csv")


def test_an_address_is_fetched_once_and_again_when_it_changes() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.pipe("/logs/run2.csv", TABLE.encode())
    memory.pipe("/logs/run10.csv", TABLE.encode())
    found = files_of("memory://logs/*.csv")
    assert names(found) == ["run2.csv", "run10.csv"]
    first = local_file(found[0].name)
    assert first.read_text() == TABLE
    seen: list[str] = []
    assert local_file(found[0].name, seen.append) == first
    assert seen == []
    memory.pipe("/logs/run2.csv", b"other")
    assert local_file(found[0].name, seen.append).read_text() == "other"
    assert seen == ["Fetching run2.csv"]
    with pytest.raises(RecordingError, match="cannot be fetched"):
        local_file("memory://logs/none.csv")
