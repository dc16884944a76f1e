"""The anthropometric tables of `docs/human.md`, from the files that the human body is made of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dynid.robot.human.anthropometry import LIMBS, SEXES, TABLES, anthropometry, data
from dynid.robot.human.skeleton import chains, marker_rows

HEADS = {
    "isb": "segment | length [mm] | mass [%] | X | Y | Z | XX | YY | ZZ | XY | XZ | YZ",
    "longitudinal": "segment | length [mm] | mass [%] | centre of mass | sagittal | transverse | longitudinal",
}


def human_tables_markdown() -> str:
    """Both tables, women and men, as they are printed."""
    return "\n\n".join(part for table in TABLES for part in _table(table))


def _table(table: str) -> Iterator[str]:
    written = data(TABLES[table])
    for sex in SEXES:
        found = anthropometry(table, sex)
        people = "women" if sex == "female" else "men"
        sums = f"mean height {found.height:.3f} m; printed masses sum to {100 * found.printed_sum:.2f} %"
        yield f"**{written['name']}, {people}** ({sums})"
        head = HEADS[written["axes"]]
        rows = [f"| {head} |", "|" + " --- |" * (head.count("|") + 1)]
        for name, row in written[sex]["segment"].items():
            rows.append("| " + " | ".join([name.replace("_", " "), *_cells(row)]) + " |")
        yield "\n".join(rows)
    rows = ["| segment | length |", "| --- | --- |"]
    rows += [f"| {name.replace('_', ' ')} | {ends} |" for name, ends in written["ends"].items()]
    yield f"Lengths of {written['name']}:\n\n" + "\n".join(rows)


def _cells(row: dict[str, Any]) -> list[str]:
    com = row["com"] if isinstance(row["com"], list) else [row["com"]]
    plain = [row["length"], row["mass"], *com, *row["radii"]]
    return [f"{value:g}" for value in plain] + [_radius(value) for value in row.get("products", ())]


def _radius(value: float) -> str:
    """A radius as the table prints it: imaginary where the product of inertia is negative."""
    return f"{-value:g}i" if value < 0 else f"{value:g}"


def human_joints_markdown() -> str:
    """The joints of the body: what they move, and their ranges."""
    rows = ["| joint | moves | range [degrees] | velocity [degrees/s] |", "| --- | --- | --- | --- |"]
    for body, _, joints in chains():
        if not body.endswith("_right"):
            for joint in joints:
                name, moved = (text.replace("_left", "_SIDE") for text in (joint["name"], body))
                limits = f"{joint['lower']} to {joint['upper']} | {joint['velocity']}"
                rows.append(f"| `{name}` | `{moved}` | {limits} |")
    return "\n".join(rows)


def human_markers_markdown() -> str:
    """The markers by the segments that they are on."""
    on: dict[str, list[str]] = {}
    for name, body, row in marker_rows():
        on.setdefault(row["segment"], []).append(name)
        assert body.startswith(row["segment"])
    sides = {name: " (each side)" if name in LIMBS else "" for name in on}
    rows = [
        f"| {name.replace('_', ' ')}{sides[name]} | {', '.join(f'`{m}`' for m in names)} |"
        for name, names in on.items()
    ]
    return "\n".join(["| segment | markers |", "| --- | --- |", *rows])
