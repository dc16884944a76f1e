"""Results and trajectories as HTML: a verdict, findings, figures and tables in one file that works offline."""

from dynid.report.html import ReportFile, write_report

__all__ = ["ReportFile", "write_report"]
