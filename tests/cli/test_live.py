"""The live page: for those who started it only, in step with the stream, whatever browsers and senders do."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dynid
from dynid.cli import app
from dynid.cli.page_guard import PageGuard
from dynid.cli.page_server import MOST_CONNECTIONS
from dynid.errors import InvalidRequestError
from dynid.logs.streams.packets import binary_packet, json_packet
from dynid.logs.streams.samples import Sample
from tests.browser import ARGUMENTS, CHROMIUM, WIDTHS, needs_chromium
from tests.changed_arms import parameters, recording, with_payload
from tests.verdict_cases import motion

UR5 = dynid.load_robot("builtin:ur5")
TERMS = ["viscous"]


def moved(seconds: float = 4.0) -> dynid.Log:
    """The UR5, whose joints begin to move one after the other."""
    t, q, _, _ = motion(seconds=seconds)
    q = q[0] + (q - q[0]) * np.clip(2.0 * t[:, None] - 0.5 * np.arange(6), 0.0, 1.0)
    v = np.gradient(q, t, axis=0)
    torque = dynid.DynamicModel(UR5).inverse_dynamics(q, v, np.gradient(v, t, axis=0)) + v
    return dynid.Log(time=t, position=q, torque=torque, name="moved")


def asked(address: str, path: str = "", method: str = "GET", **headers: str) -> tuple[int, bytes, dict[str, str]]:
    here, token = address.removeprefix("http://").split("/")[:2]
    host, _, port = here.rpartition(":")
    with closing(HTTPConnection(host.strip("[]"), int(port), timeout=10.0)) as connection:
        connection.request(method, path or f"/{token}/", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


@pytest.fixture(scope="module")
def page() -> Iterator[dynid.LivePage]:
    with dynid.live(UR5, TERMS) as shown:
        yield shown


def test_the_page_is_for_those_with_the_token(page: dynid.LivePage) -> None:
    here, token = page.address.removeprefix("http://").split("/")[:2]
    port = here.partition(":")[2]
    assert here.startswith("127.0.0.1:")
    assert asked(page.address)[0] == 200
    assert asked(page.address, Host=f"localhost:{port}", Origin=f"http://localhost:{port}")[0] == 200
    for path in ("/", f"/{token[:-1]}/", f"/{token}x/", f"/x/{token}/", "/events", f"/?{token}"):
        assert asked(page.address, path)[0] == 403
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1:1", "", f"10.0.0.7:{port}"):
        assert asked(page.address, Host=host)[0] == 403
    for origin in ("http://evil.example", f"http://evil.example:{port}", "null", f"https://127.0.0.1:{port}", ""):
        for path in (f"/{token}/", f"/{token}/events", f"/{token}/state.json"):
            assert asked(page.address, path, Origin=origin)[0] == 403
    for path in (f"/{token}", f"/{token}/../etc/passwd", f"/{token}/x", f"/{token}//"):
        assert asked(page.address, path)[0] == 404
    assert asked(page.address, method="POST")[0] == 501


def test_the_page_loads_nothing_and_is_not_framed(page: dynid.LivePage) -> None:
    _, content, headers = asked(page.address)
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert headers["Referrer-Policy"] == "no-referrer"
    assert b"http://" not in content.replace(b"http://www.w3.org/2000/svg", b"")
    assert b"https://" not in content


def test_names_from_files_are_no_markup(tmp_path: Path) -> None:
    bad = "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"
    links = "".join(
        f'<link name="{bad}{k}"><inertial><mass value="1"/><origin xyz="0 0 0.1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for k in range(2)
    )
    joint = f'<joint name="{bad}" type="continuous"><parent link="{bad}0"/><child link="{bad}1"/></joint>'
    (tmp_path / "arm.urdf").write_text(f'<robot name="{bad}">{links}{joint}</robot>')
    with dynid.live(tmp_path / "arm.urdf") as shown:
        assert b"<img" not in asked(shown.address)[1]


def test_other_hosts_need_a_token_and_are_asked_for_by_number() -> None:
    with pytest.raises(InvalidRequestError, match="--token"):
        dynid.live(UR5, host="0.0.0.0")
    with pytest.raises(InvalidRequestError, match="16"):
        dynid.live(UR5, host="0.0.0.0", token="short")
    guard = PageGuard("x" * 20, "0.0.0.0")
    path = "/" + "x" * 20 + "/"
    for host, admitted in (
        ("192.168.1.7:80", True),
        ("192.168.1.7", True),
        ("evil.example:80", False),
        ("7:80", False),
    ):
        assert guard.admits(path, 80, [host], [], websocket=False) == admitted
    assert guard.admits(path, 81, ["[fe80::1]:81"], ["http://[fe80::1]:81"], websocket=False)
    assert not guard.admits(path, 81, ["10.0.0.1:81"], ["http://evil.example:81"], websocket=False)
    assert not PageGuard().admits(path, 80, ["192.168.1.7:80"], [], websocket=False)


@pytest.mark.parametrize("host", ["::1", "127.0.0.2", "localhost", "127.0.0.1"])
def test_every_loopback_address_shows_the_page_that_it_prints(host: str) -> None:
    guard = PageGuard(host=host)
    here, path = guard.address(8090).removeprefix("http://").split("/")[0], f"/{guard.token}/"
    assert guard.admits(path, 8090, [here], [f"http://{here}"], websocket=True)
    assert not guard.admits(path, 8090, ["evil.example:8090"], [], websocket=False)
    assert not guard.admits(path, 8090, ["10.0.0.7:8090"], [], websocket=False)
    assert not guard.admits(path, 8090, [here], ["http://evil.example:8090"], websocket=False)
    assert "[::1]" in PageGuard("x" * 20, "::").address(8090)  # :: is no address to open


def test_a_page_that_cannot_be_shown_leaves_no_port_taken(page: dynid.LivePage) -> None:
    taken = int(page.address.split(":")[2].partition("/")[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for _ in range(2):
        with pytest.raises(InvalidRequestError, match="--port") as caught:
            dynid.live(UR5, udp=f"127.0.0.1:{port}", port=taken)
        assert "page" in str(caught.value)


def test_a_port_that_is_taken_is_an_error_where_it_was_stated(page: dynid.LivePage) -> None:
    port = int(page.address.split(":")[2].partition("/")[0])
    with pytest.raises(InvalidRequestError, match="--port"):
        dynid.live(UR5, port=port)
    with dynid.live(UR5) as other:
        assert other.address.split("/")[2] != page.address.split("/")[2]


def test_samples_of_a_loop_are_used_or_counted() -> None:
    log = moved(1.0)
    with dynid.live(UR5, TERMS) as shown:
        for t, q, tau in zip(log.time.tolist(), log.position, log.torque, strict=True):
            assert shown.update(t, q, tau)
        assert not shown.update(0.0, log.position[0], log.torque[0])
        assert not shown.update(9.0, log.position[0, :5], log.torque[0])
        assert not shown.update(9.0, log.position[0] * np.nan, log.torque[0])
        assert not shown.update(9.0, ["a"] * 6, log.torque[0])
        end = time.monotonic() + 10.0
        while shown.state.samples < len(log) and time.monotonic() < end:
            time.sleep(0.02)
        counts = json.loads(asked(shown.address, f"/{shown.address.split('/')[3]}/state.json")[1])["counts"]
        assert shown.estimate.samples == len(log)
    assert (counts["accepted"], counts["late"]) == (len(log), 1)
    assert counts["malformed"] == {"not-a-number": 2, "wrong-count": 1}
    assert not shown.update(9.0, log.position[0], log.torque[0])
    assert repr(shown).startswith(f"LivePage({shown.address}: {len(log)} samples")


def test_what_goes_wrong_is_raised_at_the_end_and_no_sample_is_taken_for_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise InvalidRequestError("broken")

    log = moved(1.0)
    with pytest.raises(InvalidRequestError, match="broken"), dynid.live(UR5, TERMS) as shown:  # noqa: PT012
        monkeypatch.setattr(shown._session, "include", fail)
        assert shown.update(0.0, log.position[0], log.torque[0])
        end = time.monotonic() + 10.0
        while shown.update(time.monotonic(), log.position[1], log.torque[1]) and time.monotonic() < end:
            time.sleep(0.01)
        assert time.monotonic() < end


def test_slow_and_many_browsers_hold_nothing_up() -> None:
    """Some ask and never read, some never ask, and there are more than there is room for."""
    log = moved(3.0)
    with dynid.live(UR5, TERMS) as shown:
        here, token = shown.address.removeprefix("http://").split("/")[:2]
        host, _, port = here.partition(":")
        open_ones = []
        for k in range(MOST_CONNECTIONS + 10):
            one = socket.create_connection((host, int(port)), timeout=5.0)
            open_ones.append(one)
            if k % 2:
                one.sendall(f"GET /{token}/events HTTP/1.1\r\nHost: {here}\r\n\r\n".encode())
        for t, q, tau in zip(log.time.tolist(), log.position, log.torque, strict=True):
            shown.update(t, q, tau)
        end = time.monotonic() + 10.0
        while shown.state.samples < len(log) and time.monotonic() < end:
            time.sleep(0.02)
        assert shown.state.samples == len(log)
        for one in open_ones:
            one.close()


@needs_chromium
def test_a_segment_gets_its_colour_while_the_condition_number_falls() -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    log, errors, half = moved(6.0), [], 0.0
    with dynid.live(UR5, TERMS, udp="127.0.0.1:0") as shown, sync_api.sync_playwright() as playwright:
        port = int(asked(shown.address)[1].decode().partition("UDP at 127.0.0.1:")[2].partition("<")[0])
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            seen = browser.new_page(viewport=dict(zip(("width", "height"), WIDTHS["desktop"], strict=True)))
            seen.on("console", lambda m: None if "willReadFrequently" in m.text else errors.append(m.text))
            seen.on("pageerror", lambda error: errors.append(str(error)))
            seen.goto(shown.address)
            wrist = "document.querySelectorAll('#segments li')[5]?.dataset.colour"
            condition = "parseFloat(document.getElementById('condition').textContent) || 0"
            colour = until(lambda: seen.evaluate(wrist))
            pixels = until(lambda: drawn(seen))
            assert len(pixels) > 20
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for k, (t, q, tau) in enumerate(zip(log.time.tolist(), log.position, log.torque, strict=True)):
                    write = binary_packet if k % 2 else json_packet
                    sender.sendto(write(Sample(t, q, tau)), ("127.0.0.1", port))
                    if k % 100 == 0:
                        sender.sendto(b"{junk", ("127.0.0.1", port))
                        time.sleep(0.02)
                    if k == len(log) // 2:
                        until(lambda: shown.state.samples > len(log) // 2 - 100)
                        half = until(lambda: seen.evaluate(condition))
            junk = -(-len(log) // 100)
            seen.wait_for_selector(f"[data-count='malformed, by kind']:has-text('not-json: {junk}')")
            until(lambda: seen.evaluate(wrist) != colour)
            until(lambda: 0 < seen.evaluate(condition) < half)
            until(lambda: drawn(seen) != pixels)
            until(lambda: seen.evaluate("!document.getElementById('show').disabled"))
            before = drawn(seen)
            seen.click("#show")
            until(lambda: drawn(seen) != before)
            for size in WIDTHS.values():
                seen.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
                assert seen.evaluate("document.documentElement.scrollWidth <= innerWidth")
        finally:
            browser.close()
    assert errors == []


def until(found):
    """What is found, as soon as it is."""
    end = time.monotonic() + 15.0
    while not (value := found()) and time.monotonic() < end:
        time.sleep(0.05)
    assert value
    return value


def drawn(seen) -> dict[str, int]:
    """Colours of the robot on the page, and how many pixels have each."""
    found = seen.evaluate(
        "() => { const c = document.getElementById('robot'), d = c.getContext('2d').getImageData(0, 0, c.width, "
        "c.height).data, n = {}; for (let k = 0; k < d.length; k += 4) if (d[k + 3]) { const key = "
        "`${d[k]},${d[k + 1]},${d[k + 2]}`; n[key] = (n[key] || 0) + 1; } return n; }"
    )
    return dict(found)


def written(path: Path, log: dynid.Log) -> Path:
    columns = {"t": log.time}
    for letter, values in (("q", log.position), ("tau", log.torque)):
        columns |= {f"{letter}_{joint.name}": values[:, k] for k, joint in enumerate(UR5.joints)}
    pl.DataFrame(columns).write_csv(path)
    return path


def test_the_command_replays_records_and_says_what_to_do_next(tmp_path: Path) -> None:
    path, run = written(tmp_path / "run.csv", moved(2.0)), tmp_path / "kept.npz"
    arguments = ["live", "builtin:ur5", "--replay", str(path), "--speed", "inf", "--terms", "viscous", "--no-browser"]
    done = CliRunner().invoke(app, [*arguments, "--json", "--record", str(run)])
    assert done.exit_code == 0, done.output
    state = json.loads(done.stdout)
    assert (state["samples"], state["recorded"]) == (len(moved(2.0)), str(run))
    assert state["condition_number"] > 1.0
    assert len(dynid.read_log(run, UR5)) == len(moved(2.0))
    again = CliRunner().invoke(app, [*arguments, "--record", str(run)])
    assert (again.exit_code, "kept.npz" in again.stderr) == (2, True)
    shown = CliRunner().invoke(app, [*arguments, "--seconds", "1"])
    assert shown.exit_code == 0
    assert "Next: keep the samples next time: --record run.npz" in shown.stdout


@pytest.fixture(scope="module")
def picked_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An arm that picks up 1 kg after 32 s."""
    arm = dynid.DynamicModel("builtin:spatial_3r", ["viscous", "coulomb", "offset"])
    t, q, _, _, tau = recording(arm, [(32.0, parameters(arm)), (6.0, with_payload(arm, 1.0))])
    path = tmp_path_factory.mktemp("picked") / "run.csv"
    columns = {"t": t} | {f"q_{k}": q[:, k] for k in range(3)} | {f"tau_{k}": tau[:, k] for k in range(3)}
    pl.DataFrame(columns).write_csv(path)
    return path


CHANGES = ["--terms", "viscous,coulomb,offset", "--speed", "inf", "--learning", "10", "--no-browser"]


def test_changes_are_told_when_they_are_noticed(picked_up: Path) -> None:
    arguments = ["live", "builtin:spatial_3r", "--replay", str(picked_up), *CHANGES]
    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    changes = json.loads(done.stdout)["changes"]
    assert [alarm["cause"] for alarm in changes["alarms"]] == ["payload"]
    assert 32.0 < changes["alarms"][0]["seconds"] < 33.5
    assert "Change: " in done.stderr
    none = CliRunner().invoke(app, [*arguments, "--json", "--learning", "0"])
    assert json.loads(none.stdout)["changes"]["learned"] is None


@needs_chromium
def test_a_change_is_shown_on_the_page(picked_up: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    thresholds = dynid.ChangeThresholds(learning=10.0)
    arm = dynid.load_robot("builtin:spatial_3r")
    terms = ["viscous", "coulomb", "offset"]
    with (
        dynid.live(arm, terms, replay=picked_up, speed=20.0, changes=thresholds) as shown,
        sync_api.sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        try:
            seen = browser.new_page(color_scheme="dark")
            seen.goto(shown.address)
            seen.wait_for_selector("#changes.alarm #change:has-text('a payload was picked up')")
            until(lambda: seen.evaluate("document.querySelectorAll('#evidence .alarm').length") == 1)
        finally:
            browser.close()


def test_experiments_say_which_columns_are_followed(tmp_path: Path) -> None:
    log = moved(2.0)
    pl.DataFrame(
        {"ms": 1000.0 * log.time}
        | {f"a{k}": np.rad2deg(log.position[:, k]) for k in range(6)}
        | {f"b{k}": 2.0 * log.torque[:, k] for k in range(6)}
    ).write_csv(tmp_path / "run.csv")
    (tmp_path / "arm.toml").write_text(
        'robot = "builtin:ur5"\nterms = ["viscous"]\n[drive]\ntorque_constants = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]\n'
        '[[log]]\nposition = { file = "run.csv", columns = "a*", unit = "deg" }\n'
        'torque = { file = "run.csv", columns = "b*", unit = "A" }\n'
        'time = { file = "run.csv", columns = "ms", unit = "ms" }\n'
    )
    with dynid.live(tmp_path / "arm.toml", follow=tmp_path / "run.csv") as shown:
        end = time.monotonic() + 10.0
        while shown.state.samples < len(log) and time.monotonic() < end:
            time.sleep(0.02)
        followed = shown.estimate
    with dynid.live(tmp_path / "arm.toml", replay=tmp_path / "run.csv", speed=np.inf) as shown:
        shown.wait(10.0, until_end=True)
        replayed = shown.estimate
    direct = dynid.Stream(UR5, TERMS)
    direct.update(log.time, log.position, log.torque)
    for found in (followed, replayed):
        assert found.samples == len(log)
        assert np.allclose(found.values, direct.estimate.values, rtol=1e-3, atol=1e-3)


def test_drives_without_a_signal_are_left_out_as_the_experiment_says(tmp_path: Path) -> None:
    log = moved(2.0)
    pl.DataFrame(
        {"t": log.time}
        | {f"a{k}": log.position[:, k] for k in range(6)}
        | {f"b{k}": log.torque[:, k] * (k < 4) for k in range(6)}
    ).write_csv(tmp_path / "run.csv")
    (tmp_path / "arm.toml").write_text(
        'robot = "builtin:ur5"\nterms = ["viscous"]\n'
        '[drive]\nunmeasured = ["wrist_2_joint", "wrist_3_joint"]\n'
        '[[log]]\nposition = { file = "run.csv", columns = "a*" }\n'
        'torque = { file = "run.csv", columns = "b*" }\ntime = { file = "run.csv", columns = "t" }\n'
    )
    with dynid.live(tmp_path / "arm.toml", replay=tmp_path / "run.csv", speed=np.inf) as shown:
        shown.wait(10.0, until_end=True)
        assert [row.name for row in shown.state.rows] == [joint.name for joint in UR5.joints[:4]]
        assert shown.estimate.samples == len(log)
        assert shown.estimate.relative_error < 0.01


def test_recordings_of_bodies_are_read_with_the_experiment_of_the_documentation(tmp_path: Path) -> None:
    from dynid.identification.task import experiment_file
    from dynid.logs import LogSource, read_source

    text = (Path(__file__).parents[2] / "docs" / "live.md").read_text(encoding="utf-8")
    (tmp_path / "body.toml").write_text(text.partition("```toml\n")[2].partition("```")[0])
    person = dynid.human(sex="female", height=1.7, mass=62.0)
    dynid.convert("human", tmp_path / "human.urdf", sex="female", height=1.7, mass=62.0)
    t, rng = 0.01 * np.arange(50), np.random.default_rng(0)
    q = 0.1 * rng.normal(size=(50, person.nq - 7))
    pose, wrench = np.array([0.1, 0.2, 1.0, 0.0, 0.0, 0.6, 0.8]), np.arange(6.0)
    with dynid.live(person, contacts={"left_sole": np.eye(4)}, torques=False, record=tmp_path / "run.npz") as shown:
        for s, row in zip(t.tolist(), q, strict=True):
            assert shown.update(s, row, base_pose=pose, wrenches={"left_sole": wrench})
        shown.wait(0.3)
    task = experiment_file(tmp_path / "body.toml").task
    (source,) = task.logs
    assert isinstance(source, LogSource)
    log = read_source(source, task.model.robot, drive=task.drive)
    assert np.array_equal(log.position, q)
    assert log.base_pose is not None
    assert np.array_equal(log.base_pose[7], pose)
    contact = next(iter(log.contacts or ()))
    assert contact.body == "left_sole"
    assert contact.wrench is not None
    assert np.array_equal(contact.wrench[9], wrench)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--follow"),
        (["--udp", "127.0.0.1:x"], "HOST:PORT"),
        (["--udp", "0.0.0.0:5005"], "token"),
        (["--udp", "127.0.0.1:0", "--host", "0.0.0.0"], "--token"),
        (["--udp", "127.0.0.1:0", "--follow", "x.csv"], "one of"),
        (["--follow", "x.mcap"], "--replay"),
        (["--replay", "missing.csv"], "missing.csv"),
        (["--udp", "127.0.0.1:0", "--plate", "forearm_link"], "--floating"),
        (["--udp", "127.0.0.1:0", "--record", "run.csv"], ".npz"),
        (["--udp", "127.0.0.1:0", "--record", "no/such/folder/run.npz"], "cannot be written"),
        (["--udp", "no.such.host.invalid:5005", "--token", "x" * 20], "address of this machine"),
        (["--udp", "127.0.0.1:0", "--cutoff", "-1"], "positive"),
        (["--udp", "127.0.0.1:0", "--terms", "glue"], "glue"),
        (["--udp", "127.0.0.1:0", "--learning", "-1"], "learning"),
        (["--udp", "127.0.0.1:0", "--forgetting", "0"], "forgetting"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(arguments: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["live", "builtin:ur5", "--no-browser", "--seconds", "0.1", *arguments])
    assert done.exit_code == 2, done.output
    assert words in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_with_a_summary(tmp_path: Path, number: signal.Signals) -> None:
    path = written(tmp_path / "run.csv", moved(3.0))
    command = [sys.executable, "-m", "dynid.cli", "live", "builtin:ur5", "--replay", str(path), "--no-browser"]
    with subprocess.Popen(
        [*command, "--record", str(tmp_path / "run.npz")], stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout is not None
        assert "/" in process.stdout.readline()
        time.sleep(1.0)
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(timeout=20.0) == 0
    assert "base parameters determined" in rest.replace("\n", " ").replace("  ", " ")
    assert "Next: identify from the recording: dynid init builtin:ur5" in rest
    assert (tmp_path / "run.npz").exists()
