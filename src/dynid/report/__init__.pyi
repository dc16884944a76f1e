# What the room offers to the others; names are imported when they are first asked for.
from .html import ReportFile, write_report
from .trajectory_page import PAGE, trajectory_page

__all__ = [
    "PAGE",
    "ReportFile",
    "trajectory_page",
    "write_report",
]
