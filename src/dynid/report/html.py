"""Reports as files: sections through templates into one page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

from dynid import __version__
from dynid.errors import InvalidRequestError, OutputExistsError
from dynid.files import write_text
from dynid.report.figure import Figure, unit
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


def rendered(template: str, **data: Any) -> str:
    """A page of a template, with our scripts and styles inside: it needs nothing else."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("dynid.report"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"embedded": embedded, "number": number, "short": short, "percent": percent, "unit": unit}
    scripts = [_plotly(), _own("report.js")]
    return environment.get_template(template).render(
        scripts=[_trusted(script) for script in scripts],
        hashes=" ".join(_hash(script) for script in scripts),
        style=_trusted(_own("report.css")),
        version=__version__,
        **data,
    )


def embedded(figure: Figure) -> Any:
    """A figure as JSON that can stand in a page: nothing in it can end its element."""
    text = json.dumps(figure.to_dict(), allow_nan=False, separators=(",", ":"))
    return _trusted(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def number(value: float | None, digits: int = 4) -> str:
    """A number for tables; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}g}".replace("-", "−")


def short(value: float | None) -> str:
    """A positive number with two digits, and all digits before the point; a dash where there is none."""
    return "–" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def percent(value: float | None) -> str:
    """A share in percent with three digits."""
    return "–" if value is None else f"{100 * value:.3g} %"


def _trusted(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # our own files, or JSON without any of HTML's letters


def _own(name: str) -> str:
    return resources.files("dynid.report").joinpath("templates", name).read_text(encoding="utf-8")


def _plotly() -> str:
    script = resources.files("plotly").joinpath("package_data", "plotly.min.js").read_text(encoding="utf-8")
    return script.replace("</script", "<\\/script")


def _hash(script: str) -> str:
    """What a page says about a script that it allows to run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
