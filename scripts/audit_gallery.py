"""What `dynid inspect` finds in public robot files: `python scripts/audit_gallery.py FOLDER` rewrites docs/gallery.md.

FOLDER holds wheels, as `pip download --no-deps --dest FOLDER example-robot-data robosuite ...` puts them there. Every
URDF and MJCF file in them that has at least two joints is audited; copies (by content) count once.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tempfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from dynid.errors import DynidError
from dynid.findings import Finding
from dynid.robot import audit, load_robot

PAGE = Path(__file__).parents[1] / "docs" / "gallery.md"
MARKS = re.compile(r"(<!-- written by scripts/audit_gallery.py -->).*?(<!-- end -->)", re.DOTALL)
FEWEST_JOINTS = 2
LEFT_OUT = ("random_urdfs", "/objects/", "/test")
"""Parts of paths of what is no robot."""
LONGEST = 130
"""Characters of a finding that are shown."""


@dataclass
class Package:
    """What was found in one wheel."""

    name: str
    version: str
    robots: int = 0
    clean: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    found: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    severities: dict[str, str] = field(default_factory=dict)
    errors: dict[str, list[Finding]] = field(default_factory=dict)


def looked_through(wheel: Path) -> Package:
    """Audit the robot files of a wheel."""
    name, version = wheel.name.split("-")[:2]
    package, seen = Package(name.replace("_", "-"), version), set()
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        for path in _robot_files(Path(folder)):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            if digest not in seen:
                seen.add(digest)
                _look(path, path.relative_to(folder).as_posix(), package)
    return package


def _robot_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        kind = path.suffix == ".urdf" or (path.suffix == ".xml" and b"<mujoco" in path.read_bytes()[:5000])
        if kind and not any(part in path.as_posix() for part in LEFT_OUT):
            yield path


def _look(path: Path, shown: str, package: Package) -> None:
    try:
        robot = load_robot(path)
    except DynidError as error:
        if "no joint that moves" not in str(error):
            package.refused[shown] = str(error).replace(str(path), path.name)
        return
    if len(robot.joints) < FEWEST_JOINTS:
        return
    findings = [finding for finding in audit(robot) if finding.severity.value != "note"]
    package.robots += 1
    package.clean += not findings
    if errors := [finding for finding in findings if finding.severity.value == "error"]:
        package.errors[shown] = errors
    for finding in findings:
        package.found[finding.code][shown] += 1
        package.severities[finding.code] = finding.severity.value


def tables(packages: list[Package]) -> str:
    """The tables of the page."""
    lines = ["| package | version | robot files | without findings | not loaded |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {p.name} | {p.version} | {p.robots} | {p.clean} | {len(p.refused)} |" for p in packages]
    lines += ["", "| finding | severity | files | for example |", "| --- | --- | --- | --- |"]
    severities = {code: severity for p in packages for code, severity in p.severities.items()}
    files = {code: [(p, path) for p in packages for path in p.found.get(code, ())] for code in severities}
    for code in sorted(files, key=lambda code: (severities[code] != "error", -len(files[code]), code)):
        package, path = files[code][0]
        example = f"`{PurePosixPath(path).name}` of {package.name}"
        lines.append(f"| [`{code}`](findings.md#{code}) | {severities[code]} | {len(files[code])} | {example} |")
    lines += ["", "| files | package | errors | the first of them |", "| --- | --- | --- | --- |"]
    for package in packages:
        alike: dict[tuple[int, str], list[str]] = defaultdict(list)
        for path, errors in package.errors.items():
            alike[len(errors), _words(errors[0])].append(PurePosixPath(path).name)
        for (count, text), names in alike.items():
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            lines.append(f"| `{names[0]}`{more} | {package.name} | {count} | {text} |")
    return "\n".join(lines)


def _words(finding: Finding) -> str:
    text = " ".join(f"{finding.subject}: {finding.text}".split()).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= LONGEST else text[: text.rindex(" ", 0, LONGEST)] + " ..."


def main() -> None:
    """Rewrite the tables of the page; print what cannot be read."""
    packages = [looked_through(wheel) for wheel in sorted(Path(sys.argv[1]).glob("*.whl"))]
    packages = [package for package in packages if package.robots]
    text = PAGE.read_text(encoding="utf-8")
    filled = MARKS.sub(lambda match: f"{match[1]}\n\n{tables(packages)}\n\n{match[2]}", text)
    PAGE.write_text(filled, encoding="utf-8")
    for package in packages:
        for path, problem in package.refused.items():
            sys.stderr.write(f"{package.name}: {path}: {problem}\n")


if __name__ == "__main__":
    main()
