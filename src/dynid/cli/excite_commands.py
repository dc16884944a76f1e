"""What `dynid excite --commands` does and prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dynid.cli.app import assignments, per_joint, words
from dynid.cli.console import plain_console, plain_table, show_facts, show_findings, show_next

REFUSED = ("segments", "block_triangular", "move", "noise", "harmonics", "waypoints", "degree", "period")
"""Options of trajectories that commands do not have, and what they are when they are not given."""


def asks_for_commands(given: dict[str, Any]) -> bool:
    """Whether options, or the experiment that they name, ask for commanded positions.

    Raises:
        InvalidRequestError: If they ask for something else at once.
    """
    from dynid.errors import InvalidRequestError
    from dynid.experiment import is_experiment, read_experiment

    source = given["source"]
    stated = is_experiment(source) and read_experiment(source, needs_logs=False).excitation.commands
    if not (given["commands"] or stated):
        alone = next((key for key in ("kp", "kd") if given[key]), None)
        if alone is not None:
            raise InvalidRequestError(f"--{alone} is of designed commands; add --commands, or leave it out")
        return False
    other = next((key for key in REFUSED if given[key] not in (None, [], False, 1)), None)
    if other is not None:
        raise InvalidRequestError(f"--{other.replace('_', '-')} is not for --commands; leave one of them out")
    return True


def designed_commands(given: dict[str, Any], settings: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Design commands as options state, and write them where they say; plain data for JSON.

    Args:
        given: The options, by name.
        settings: Keys of `[excitation]` that they state.
        step: Callback; receives a short description of each step.
    """
    from dynid.cli.servo_option import stated_servo
    from dynid.excitation.trajectory_formats import require_free
    from dynid.identification.requests import excite_commands

    out = given["out"]
    if out is not None:
        require_free(out, overwrite=given["force"])  # before the design, which takes long
    held = assignments("--lock", *given["lock"])
    lock = {name: at or 0.0 for name, at in held.items()} if any(at is not None for at in held.values()) else [*held]
    found = excite_commands(
        given["source"],
        words(*given["terms"]),
        kp=_gain("kp", given),
        kd=_gain("kd", given),
        servo=stated_servo(*given["servo"]),
        known=given["known"],
        lock=lock,
        exact_frames=given["exact_frames"],
        progress=step,
        **{key: given[key] for key in ("time_limit", "starts", "seed")},
        **{key: value for key, value in settings.items() if value is not None and key != "commands"},
    )
    if out is None:
        return found.to_dict()
    options = {"overwrite": given["force"], "allow_broken_limits": given["allow_broken_limits"]}
    return found.save(out, words(*given["formats"]), **options)


def _gain(key: str, given: dict[str, Any]) -> float | tuple[float, ...] | str | None:
    """A gain for all joints, one for each, or "robot"; None where it is not given."""
    from dynid.errors import InvalidRequestError

    if words(*given[key]) == ["robot"]:
        return "robot"
    found = per_joint(f"--{key}", *given[key])
    if isinstance(found, dict):
        raise InvalidRequestError(f"--{key} is one number for all joints, or one for each; or 'robot'")
    return found


def show_commands(data: dict[str, Any], out: Path | None, *, full: bool = False) -> None:
    """Print designed commands; `data` is that of `CommandExcitation.to_dict`."""
    from dynid.findings import Finding

    output = plain_console()
    if "warning" in data:
        output.print(Text(f"WARNING: {data['warning']}\n", style="bold white on red"))
    output.print(
        f"{data['robot']}: commands of {data['duration']:g} s at {data['command_rate']:g} Hz, designed in "
        f"{data['seconds']:.1f} s ({data['tried']} tried)."
    )
    _show_parameters(output, data, full=full)
    show_facts(output, _facts(data))
    show_findings(output, map(Finding.from_dict, data["findings"]))
    more = "" if full else "Every parameter: --full"
    if out is None:
        show_next(output, "write them: repeat the command with --out commands", more)
        return
    output.print(f"Wrote {', '.join(Path(name).name for name in data['files'])} to {out}.")
    look = f"dynid view {out / 'predicted_motion.csv'} --robot ROBOT"
    violated = "they violate limits; do not run them on a real robot"
    send = f"look at it ({look}), send {out / 'commands.csv'} with these gains, and log positions and commands"
    show_next(output, violated if "warning" in data else send, more)


def _facts(data: dict[str, Any]) -> dict[str, str]:
    kinds = sorted({wave["kind"] for wave in data["waves"]})
    low, high = min(wave["band"][0] for wave in data["waves"]), max(wave["band"][1] for wave in data["waves"])
    order = "one joint after the other" if data["in_turn"] else "all joints at once"
    facts = {"waves": f"{' and '.join(kinds)}, {low:.2g} to {high:.2g} Hz, {order}"}
    nearest = sorted(data["limits"], key=lambda check: -check["used"])[:3]
    facts["limits"] = ", ".join(f"{check['name']} {check['used']:.0%} used" for check in nearest)
    titles = {"commands": "these", "present": "present logs", "together": "together"}
    rho = data["delay_correlations"]
    if any(row["name"] == "delay" for row in data["parameters"]):
        parts = [f"{titles[key]} {one['armature']:.2f} and {one['viscous']:.2f}" for key, one in rho.items()]
        facts["delay"] = f"largest correlations with armature and viscous: {'; '.join(parts)}"
    return facts


KINDS = (("Ia", "armature"), ("fv", "viscous"), ("fs", "Coulomb"), ("off", "offset"), ("bias", "bias"))
"""Names of parameters of joints, and what they are."""


def _show_parameters(output: Console, data: dict[str, Any], *, full: bool) -> None:
    """Print the standard deviations to expect: of each joint, or of each parameter."""
    rows = data["parameters"]
    present = any("present_std" in row for row in rows)
    both = "Standard deviations: of the present logs, "
    if full:
        _show_all(output, rows, f"{both}of these commands, of both together:" if present else "")
        return
    kinds = [(symbol, word) for symbol, word in KINDS if any(_is_of(row["name"], symbol) for row in rows)]
    table = plain_table(("joint",), tuple(f"{word}{_head(symbol)}" for symbol, word in kinds))
    for joint in dict.fromkeys(row["owner"] for row in rows if row["owner"]):
        own = {row["name"].rstrip("0123456789"): row for row in rows if row["owner"] == joint}
        table.add_row(joint, *(_cell(own.get(symbol), relative=is_relative(symbol)) for symbol, _ in kinds))
    output.print(f"{both}and together with these commands:" if present else "Standard deviations to expect:")
    output.print(table)
    delay = next((row for row in rows if row["name"] == "delay"), None)
    if delay is not None:
        before = f"{1e3 * delay['present_std']:.2g} -> " if present else ""
        output.print(f"Delay: {1e3 * delay['value']:.3g} ms, standard deviation {before}{1e3 * delay['std']:.2g} ms.")


def _cell(row: dict[str, Any] | None, *, relative: bool) -> str:
    """The standard deviation of a parameter, or that of present logs and that of all, in percent where asked for."""
    if row is None:
        return "-"
    unit = row["relative_std_percent"] / row["std"] if relative and row["std"] > 0.0 else 1.0
    shown = [
        "> 100" if relative and unit * row[key] > 100.0 else f"{unit * row[key]:.2g}"
        for key in ("present_std", "std")
        if key in row
    ]
    return " -> ".join(shown)


def _show_all(output: Console, rows: list[dict[str, Any]], title: str) -> None:
    """Print every parameter."""
    table = plain_table(
        ("name", "joint"), ("value", *(("present", "these", "both") if title else ("std",)), "std [%]"), ("unit",)
    )
    for row in rows:
        stds = [f"{row[key]:.2g}" for key in ("present_std", "alone_std", "std") if key in row]
        relative = row["relative_std_percent"]
        shown = "> 100" if relative > 100.0 else f"{relative:.2g}" if is_relative(row["name"]) else "-"
        table.add_row(row["name"], row["owner"], f"{row['value']:.4g}", *stds, shown, row["unit"])
    if title:
        output.print(title)
    output.print(table)


def is_relative(name: str) -> bool:
    """Whether the standard deviation of a parameter is shown in percent of its value."""
    return name == "delay" or any(_is_of(name, symbol) for symbol in ("Ia", "fv", "fs"))


def _is_of(name: str, symbol: str) -> bool:
    return (name.startswith(symbol) and name[len(symbol) :].isdigit()) or name == symbol


def _head(symbol: str) -> str:
    return " [%]" if is_relative(symbol) else ""
