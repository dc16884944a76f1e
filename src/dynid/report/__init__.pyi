# What the room offers to the others; names are imported when they are first asked for.
from .estimator_page import estimator_page, write_estimator_page
from .html import ReportFile, write_report
from .trajectory_page import PAGE, trajectory_page

__all__ = [
    "PAGE",
    "ReportFile",
    "estimator_page",
    "trajectory_page",
    "write_estimator_page",
    "write_report",
]
