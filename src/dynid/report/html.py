"""Reports as files: sections through templates into one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.files import write_text
from dynid.report.rendering import rendered
from dynid.report.sections import sections_of
from dynid.report.subject import Subject, subject_of

SCHEMA = "dynid-report-1"
"""What the data of a report say of themselves."""


@dataclass(frozen=True, eq=False)
class ReportFile:
    """A report that was written.

    Attributes:
        path: The file.
        size: Its size [bytes].
        subjects: What it is about: one result, or two that are compared.
    """

    path: Path
    size: int
    subjects: tuple[Subject, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give what was written, and the verdicts, as plain data for JSON."""
        return {
            "schema": SCHEMA,
            "report": str(self.path),
            "bytes": self.size,
            "results": [
                {
                    "name": subject.name,
                    "verdict": subject.verdict.to_dict(),
                    "findings": [finding.to_dict() for finding in subject.findings],
                    "missing": subject.missing,
                }
                for subject in self.subjects
            ],
        }


def write_report(
    results: Sequence[Path],
    path: Path,
    *,
    validate: Sequence[Path] = (),
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> ReportFile:
    """Write a report on one result, or a comparison of two.

    Args:
        results: Folders of one or two results.
        path: The HTML file to write.
        validate: Logs that were not used, or experiment files that stand for theirs.
        overwrite: Whether the file may be replaced.
        progress: Is told each step in a few words.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
    """
    if path.exists() and not overwrite:
        raise OutputExistsError(path)
    subjects = _told_apart(tuple(subject_of(folder, validate, progress) for folder in results), results)
    _require_same_joints(subjects)
    progress("Writing the report")
    text = page(subjects)
    write_text(path, text, overwrite=overwrite)
    return ReportFile(path, len(text.encode()), subjects)


def _told_apart(subjects: tuple[Subject, ...], folders: Sequence[Path]) -> tuple[Subject, ...]:
    """Subjects with names that tell them apart: letters, and more of the path where folders have one name."""
    if len(subjects) == 1:
        return subjects
    paths = [folder.resolve() for folder in folders]
    alike = len({path.name for path in paths}) < len(paths)
    names = [f"{path.parent.name}/{path.name}" if alike else path.name for path in paths]
    return tuple(
        replace(subject, name=f"{letter}: {name}") for subject, letter, name in zip(subjects, "AB", names, strict=True)
    )


def _require_same_joints(subjects: Sequence[Subject]) -> None:
    rows = [subject.result.base.model.row_names for subject in subjects]
    if any(of_one != rows[0] for of_one in rows):
        robots = " and ".join(f"'{subject.result.data['robot']}'" for subject in subjects)
        raise InvalidRequestError(
            f"{robots} have different joints, so their results cannot be compared; name two of one robot"
        )


def page(subjects: Sequence[Subject]) -> str:
    """The whole page."""
    names = " and ".join(subject.name for subject in subjects)
    return rendered(
        "report.html",
        title=f"{subjects[0].result.data['robot']}: {names}",
        robot=subjects[0].result.data["robot"],
        subjects=subjects,
        sections=sections_of(subjects),
    )
