"""What `dynid simulate` shows."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dynid.terminal.parts import show_findings


def show_simulation(data: dict[str, Any]) -> None:
    """Show what a simulated robot did; `data` is that of `simulate.output.simulation_data`."""
    output = Console()
    output.print(
        f"{data['robot']}: {data['duration']:.4g} s, {data['samples']} samples; tracking error "
        f"{data['rmse_tracking']:.3g} rad or m.",
        highlight=False,
        markup=False,
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("joint", overflow="fold")
    for name in ("tracking error", "largest torque", "stuck"):
        table.add_column(name, justify="right")
    for joint in data["joints"]:
        numbers = (f"{joint['rmse_tracking']:.3g}", f"{joint['largest_torque']:.4g}", f"{joint['rests']:.1%}")
        table.add_row(Text(joint["name"]), *numbers)
    output.print(table)
    files = f"Wrote {data['log']}, {data['experiment']}, and the truth apart: {data['truth']}."
    output.print(files, highlight=False, markup=False)
    show_findings(output, data["findings"])
    output.print(f"\nNext: dynid identify {data['experiment']}", highlight=False, markup=False)
