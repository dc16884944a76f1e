"""What `dynid excite` prints of static postures and of friction runs."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from dynid.cli.console import plain_table


def facts_of_postures(data: dict[str, Any]) -> dict[str, str]:
    """What postures take and give, in lines by their heads; none where `data` of an excitation has no postures."""
    if "postures" not in data:
        return {}
    own, whole = data["postures"], data["parameters"]
    sides = f", {own['seconds_of_both_sides']:.3g} s of that for both sides" if own["both_sides"] else ""
    around = f"; {own['ways_around']} ways lead around what is between" if own["ways_around"] else ""
    taken = f"{own['seconds_resting']:.4g} s at rest, {own['seconds_travelling']:.4g} s between them{sides}{around}"
    gravity = f"{len(own['parameters'])} parameters, condition number {_number(own['condition_number'])}"
    mean, worst = own["variance_relative_to_random"], own["worst_relative_to_random"]
    if mean is not None and worst is not None:
        random = f"{own['count']} random postures"
        gravity += f"; variances are {mean:.2g} times those of {random}, that of the worst combination {worst:.2g}"
    still = [row["name"] for row in own["parameters"] if row["std"] is None]
    gravity += f"; NOT EXCITED: {', '.join(still)}" if still else ""
    excited = sum(row["std"] is not None for row in whole)
    motions = f"{excited} of {len(whole)} parameters, condition number {_number(data['condition_number'])}"
    return {
        "postures": f"{data['duration']:.4g} s for {own['count']} of {own['hold']:g} s each: {taken}",
        "gravity": gravity,
        "with the motions": motions,
    }


def facts_of_friction_runs(data: dict[str, Any]) -> dict[str, str]:
    """What friction runs take, in lines by their heads; none where `data` of an excitation has none."""
    if "friction_runs" not in data:
        return {}
    runs = [run for run in data["friction_runs"]["runs"] if not run["dropped"]]
    joints = len({run["joint"] for run in runs})
    seconds = 2 * sum(run["seconds"] for run in runs)
    text = f"{len(runs)} speeds of {joints} joints, both ways"
    return {"runs": f"{text}: {seconds:.4g} of {data['duration']:.4g} s are at constant speed"}


def show_gains(output: Console, data: dict[str, Any]) -> None:
    """Print what friction runs gain; `data` is that of `FrictionStudy.to_dict`."""
    runs = f"{data['seconds']:.3g} s"
    output.print(
        f"Expected standard deviations of friction from an optimised motion, once and for {runs}, from the runs, and "
        "from the motion once and the runs:"
    )
    heads = {
        "motion": f"motion {data['compared_with_seconds']:.3g} s",
        "motion_as_long": f"motion {runs}",
        "runs": f"runs {runs}",
        "both": "both",
    }
    table = plain_table(("name", "of"), tuple(heads.values()), ("unit",))
    for row in data["parameters"]:
        stds = ["-" if row[key] is None else f"{row[key]:.2g}" for key in heads]
        table.add_row(row["name"], row["owner"], *stds, row["unit"])
    output.print(table)


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.3g}"
