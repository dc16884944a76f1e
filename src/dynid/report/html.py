"""Reports as files: sections through templates into one page that needs nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.files import write_bytes
from dynid.identification import Result, Tracking, load_result
from dynid.logs import Log
from dynid.report.heading import heading_of
from dynid.report.parameter_sections import whole_robot
from dynid.report.rendering import rendered
from dynid.report.sections import sections_of
from dynid.report.subject import Subject, subject_of

SCHEMA = "dynid-report-1"
"""Schema of the JSON output of `dynid report`."""


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
    subjects: tuple[Subject, ...] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """What was written, and the verdicts, as plain data for JSON."""
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
                    **({} if subject.tracking is None else {"tracking": subject.tracking.to_dict()}),
                }
                for subject in self.subjects
            ],
        }


def write_report(
    result: Result | str | Path,
    path: str | Path,
    *,
    compare: Result | str | Path | None = None,
    validate: Log | str | Path | Sequence[Log | str | Path] = (),
    control: Tracking | bool = False,
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> ReportFile:
    """Write a report on a result, or a comparison of two: one HTML file that needs no network.

    Args:
        result: The result, or the folder that it was saved as.
        path: The HTML file to write.
        compare: Another result of the same robot (or its folder) to compare with.
        validate: Held-out logs to validate on: logs in memory, log files laid out as the result's, or experiment files.
        control: Whether controllers are simulated with the identified model and with the robot file's, on held-out logs
            where there are; or what `dynid.track` gave.
        overwrite: Whether the file may be replaced.
        progress: Callback; receives a short description of each step.

    Raises:
        OutputExistsError: If the file exists and may not be replaced.
        InvalidRequestError: If the results are of robots with different joints.
    """
    path = Path(path)
    if path.exists() and not overwrite:
        raise OutputExistsError(path)
    held_out = [validate] if isinstance(validate, Log | str | Path) else list(validate)
    results = [_loaded(one, progress) for one in (result, compare) if one is not None]
    _require_same_joints(results)
    if isinstance(control, Tracking) and len(results) > 1:
        raise InvalidRequestError("tracking errors are of one result, and two are compared; use control=True")
    subjects = _named(tuple(subject_of(one, held_out, progress, control=control) for one in results))
    progress("Writing the report")
    content = page(subjects).encode(errors="replace")  # names of folders need not be UTF-8
    write_bytes(path, content, overwrite=overwrite)
    return ReportFile(path, len(content), subjects)


def _loaded(result: Result | str | Path, progress: Callable[[str], None]) -> Result:
    if isinstance(result, Result):
        return result
    progress(f"Loading {result}")
    return load_result(result)


def _named(subjects: tuple[Subject, ...]) -> tuple[Subject, ...]:
    """Subjects with different names: a letter, and more of the path where folders have the same name."""
    if len(subjects) == 1:
        return subjects
    names = [subject.name for subject in subjects]
    folders = [subject.result.folder for subject in subjects]
    if len(set(names)) == 1:
        names = [
            name if folder is None else f"{folder.resolve().parent.name}/{name}"
            for name, folder in zip(names, folders, strict=True)
        ]
    return tuple(
        replace(subject, name=f"{letter}: {name}") for subject, letter, name in zip(subjects, "AB", names, strict=True)
    )


def _require_same_joints(results: Sequence[Result]) -> None:
    if any(result.model.row_names != results[0].model.row_names for result in results):
        robots = " and ".join(f"'{result.robot.name}'" for result in results)
        raise InvalidRequestError(
            f"{robots} have different joints, so their results cannot be compared; name two of one robot"
        )


def page(subjects: Sequence[Subject]) -> str:
    """The whole page."""
    robot = subjects[0].result.robot.name
    names = " and ".join(subject.name for subject in subjects)
    return rendered(
        "report.html",
        title=f"{robot}: {names}",
        robot=robot,
        headings=[heading_of(subject) for subject in subjects],
        picture=whole_robot(subjects[0]),
        sections=sections_of(subjects),
    )
