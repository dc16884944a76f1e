"""What `dynid excite` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.text import Text

from dynid.cli.tables import plain_console, plain_table, show_findings
from dynid.findings import Finding


def show_excitation(data: dict[str, Any], source: str, out: Path | None) -> None:
    """Show a designed trajectory; `data` is that of `Excitation.to_dict`."""
    output = plain_console()
    if "warning" in data:
        output.print(Text(f"WARNING: {data['warning']}\n", style="bold white on red"))
    condition = "infinite" if data["condition_number"] is None else f"{data['condition_number']:.4g}"
    motions = "" if len(data["segments"]) == 1 else f" in {len(data['segments'])} trajectories"
    output.print(
        Text(f"{data['robot']}: condition number ")
        + Text(condition, style="bold")
        + Text(
            f" for {data['duration']:.4g} s{motions}, designed in {data['seconds']:.1f} s ({data['starts']} starts)."
        )
    )
    limits = plain_table(("limit",), ("allowed", "reached"), ("unit", "kept"))
    for check in data["limits"]:
        numbers = [
            " to ".join("-" if end is None else f"{end:.4g}" for end in (value if isinstance(value, list) else [value]))
            for value in (check["limit"], check["reached"])
        ]
        limits.add_row(check["name"], *numbers, check["unit"], "yes" if check["kept"] else Text("no", style="red"))
    output.print(limits)
    table = plain_table(("parameter",), ("file's value", "expected std", "%"), ("unit",))
    for row in data["parameters"]:
        value = "-" if row["value"] is None else f"{row['value']:.6g}"
        std = "not excited" if row["std"] is None else f"{row['std']:.2g}"
        table.add_row(row["expression"], value, std, _percent(row["relative_std_percent"]), row["unit"])
    output.print(table)
    show_findings(output, map(Finding.from_dict, data["findings"]))
    if data["files"]:
        output.print(f"Wrote {', '.join(Path(name).name for name in data['files'])} to {out}.")
    following = (
        f"write it: dynid excite {source} --out trajectory"
        if out is None
        else f"look at {out / 'limits.html'}: it violates limits; do not run it on a real robot"
        if "warning" in data
        else f"look at {out / 'limits.html'}, then run it slowly first"
    )
    output.print(f"\nNext: {following}")


def _percent(value: float | None) -> str:
    return "-" if value is None else "> 100" if value > 100.0 else f"{value:.1f}"
