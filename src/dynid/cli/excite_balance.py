"""What `dynid excite --stands-on` does and prints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.text import Text

from dynid.cli.app import assignments, words
from dynid.cli.console import plain_console, plain_table, show_facts, show_findings, show_next

_REFUSED = (
    *(
        "segments",
        "block_triangular",
        "formats",
        "move",
        "noise",
        "harmonics",
        "waypoints",
        "degree",
        "period",
        "family",
    ),
    *(
        "family",
        "criterion",
        "terms",
        "known",
        "starts",
        "start",
        "both_sides",
        "friction_runs",
        "payload",
        "payload_mass",
    ),
    *("commands", "kp", "kd", "wall"),
)
"""Options of other designs, which mean nothing where a robot keeps its balance."""

_OWN = ("identify", "balance", "margin", "half_size", "bolted")
"""Options that have a meaning there only."""


def asks_to_stand(given: dict[str, Any]) -> bool:
    """Whether options, or the experiment that they name, say what the robot stands on.

    Raises:
        InvalidRequestError: If they ask for something else at once.
    """
    from dynid.errors import InvalidRequestError
    from dynid.experiment import is_experiment, read_experiment

    source = given["source"]
    stated = is_experiment(source) and read_experiment(source, needs_logs=False).excitation.balance is not None
    if not (given["stands_on"] or stated):
        alone = next((key for key in _OWN if given[key]), None)
        if alone is not None:
            raise InvalidRequestError(f"{_option(alone)} is of designs in balance; add --stands-on, or leave it out")
        return False
    other = next((key for key in _REFUSED if given[key] not in (None, "", [], False, 1)), None)
    if other is not None:
        raise InvalidRequestError(f"{_option(other)} is not for designs in balance; leave it or --stands-on out")
    return True


def designed_balance(given: dict[str, Any], settings: dict[str, Any], step: Callable[[str], None]) -> dict[str, Any]:
    """Design postures and motions as options state, and write them where they say; plain data for JSON.

    Args:
        given: The options, by name.
        settings: Keys of `[excitation]` that they state.
        step: Callback; receives a short description of each step.
    """
    from dynid.excitation.trajectory_formats import require_free
    from dynid.identification.standing_requests import excite_standing

    out = given["out"]
    if out is not None:
        require_free(out, overwrite=given["force"])  # before the design, which takes long
    of_balance = {
        "stands_on": tuple(words(*given["stands_on"])) or None,
        "identify": tuple(words(*given["identify"])) or None,
        "balance": tuple(words(*given["balance"])) or None,
        "margin": given["margin"],
        "half_size": _half_size(given["half_size"]),
        "bolted": given["bolted"] or None,
    }
    found = excite_standing(
        given["source"],
        lock=assignments("--lock", *given["lock"]),
        exact_frames=given["exact_frames"],
        progress=step,
        time_limit=given["time_limit"],
        seed=given["seed"],
        **{key: value for key, value in {**settings, **of_balance}.items() if value is not None},
    )
    if out is None:
        return found.to_dict()
    return found.save(out, overwrite=given["force"], allow_broken_limits=given["allow_broken_limits"])


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _half_size(text: str) -> tuple[float, ...] | None:
    """Two lengths [m]; None where none are given."""
    from dynid.errors import InvalidRequestError

    if not text:
        return None
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if len(found) != 2:
        raise InvalidRequestError(f"--half-size: '{text}' is not two lengths; write 0.1,0.06 [m]")
    return found


def show_balance(data: dict[str, Any], out: Path | None, *, full: bool = False) -> None:
    """Print a design in balance; `data` is that of `BalancedExcitation.to_dict`."""
    from dynid.cli.excite import _limits, _show_limits
    from dynid.findings import Finding

    output, own = plain_console(), data["balance"]
    if "warning" in data:
        output.print(Text(f"WARNING: {data['warning']}\n", style="bold white on red"))
    output.print(
        f"{data['robot']} on {', '.join(own['stands_on'])}: {own['postures']} postures of {own['hold']:g} s and "
        f"{own['moves']} moves, {data['duration']:.4g} s in all, designed in {data['seconds']:.0f} s."
    )
    _show_expected(own["expected"])
    if full:
        _show_limits(output, data["limits"])
    facts = {"stands": f"in the posture {own['standing_posture']}; {own['tried']} random postures in balance tried"}
    facts["says more than the file"] = (
        f"in {own['expected']['determined_directions']} of {own['expected']['base_parameters']} directions"
    )
    show_facts(output, facts if full else {**facts, "limits": _limits(data["limits"])})
    show_findings(output, map(Finding.from_dict, data["findings"]))
    more = "" if full else "Every limit: --full"
    if out is None:
        show_next(output, "write it: repeat the command with --out trajectory", more)
        return
    output.print(f"Wrote {', '.join(Path(name).name for name in data['files'])} to {out}.")
    violated = "it violates limits; do not run it on a real robot"
    advice = f"run {out / 'trajectory.csv'} slowly first, beside a support, and log joints and the ground's wrench"
    show_next(output, violated if "warning" in data else advice, more)


def _show_expected(expected: dict[str, Any]) -> None:
    """Print what is uncertain before and after, as standard deviations."""
    titles = {"before": "file", "random": "random postures", "postures": "these postures", "motion": "all"}
    rows = (
        ("centre of mass", "centre_of_mass_std", 1e3, "mm"),
        ("mass", "mass_std", 1e3, "g"),
        ("force in motion", "force_std", 1.0, "N"),
        ("moment in motion", "moment_std", 1.0, "N m"),
    )
    table = plain_table(("standard deviation",), tuple(titles.values()), ("unit",))
    for title, key, factor, unit in rows:
        table.add_row(title, *(f"{factor * expected[stage][key]:.2g}" for stage in titles), unit)
    plain_console().print(table)
