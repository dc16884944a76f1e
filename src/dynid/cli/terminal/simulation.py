"""What `dynid simulate` shows."""

from __future__ import annotations

from typing import Any

from dynid.cli.tables import plain_console, plain_table, show_findings
from dynid.findings import Finding


def show_simulation(data: dict[str, Any]) -> None:
    """Show what a simulated robot did; `data` is that of `experiment.simulated.simulation_data`."""
    output = plain_console()
    output.print(
        f"{data['robot']}: {data['duration']:.4g} s, {data['samples']} samples; tracking error "
        f"{data['rmse_tracking']:.3g} rad or m."
    )
    table = plain_table(("joint",), ("tracking error", "largest torque", "stuck"))
    for joint in data["joints"]:
        numbers = (f"{joint['rmse_tracking']:.3g}", f"{joint['largest_torque']:.4g}", f"{joint['rests']:.1%}")
        table.add_row(joint["name"], *numbers)
    output.print(table)
    files = f"Wrote {data['log']}, {data['experiment']}, and the truth apart: {data['truth']}."
    output.print(files)
    show_findings(output, map(Finding.from_dict, data["findings"]))
    output.print(f"\nNext: dynid identify {data['experiment']}")
