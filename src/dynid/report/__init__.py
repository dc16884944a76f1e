"""What a result says, for people: a verdict in words, figures, tables, in one file that opens without a network."""

from dynid.report.html import ReportFile, write_report

__all__ = ["ReportFile", "write_report"]
