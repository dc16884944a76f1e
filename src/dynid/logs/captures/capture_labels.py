"""Labels of markers without what programs put before them: the subject, as in `Anna:LKNE`."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dynid.errors import UnknownNameError
from dynid.findings import Finding
from dynid.logs.readers.source import RecordingError

MARKS = (":", "|", ".")
"""What separates the subject from the label."""


def plain_labels(
    labels: Sequence[str], path: Path, subject: str | None = None
) -> tuple[tuple[str, ...], list[int], list[Finding]]:
    """Labels without the subject's name, which of the markers have them, and what was noticed.

    Args:
        labels: Labels as the file has them.
        path: The file.
        subject: The subject whose markers are wanted; needed where the file has several.

    Raises:
        RecordingError: If there are several subjects, and none is stated.
        UnknownNameError: If there is no such subject.
    """
    split = [_split(label) for label in labels]
    subjects = Counter(name for name, _ in split if name)
    if subject is not None and subject not in subjects:
        raise UnknownNameError("subject", subject, subjects)
    if subject is None and subjects_in(labels):
        several = ", ".join(f"'{name}'" for name in subjects)
        raise RecordingError(path, f'it has markers of several subjects ({several}); state one: subject = "NAME"')
    kept = [k for k, (name, _) in enumerate(split) if subject is None or name == subject]
    found, findings = list[str](), list[Finding]()
    twice = dict[str, int]()
    for k in kept:
        label = split[k][1]
        twice[label] = twice.get(label, 0) + 1
        found.append(label if twice[label] == 1 else f"{label}_{twice[label]}")
    if several_times := [label for label, count in twice.items() if count > 1]:
        findings.append(Finding.of("markers-named-twice", path.name, markers=several_times))
    return tuple(found), kept, findings


def subjects_in(labels: Sequence[str]) -> tuple[str, ...]:
    """The subjects of labels where the same marker is on several of them; none otherwise.

    >>> subjects_in(["Anna:LKNE", "Ben:LKNE"]), subjects_in(["Anna:LKNE", "Anna:RKNE"])
    (('Anna', 'Ben'), ())
    """
    split = [_split(label) for label in labels]
    subjects = tuple(dict.fromkeys(name for name, _ in split if name))
    return subjects if len(subjects) > 1 and max(Counter(label for _, label in split).values()) > 1 else ()


def _split(label: str) -> tuple[str, str]:
    """The subject and the label of a marker.

    >>> _split("Anna:LKNE"), _split("LKNE")
    (('Anna', 'LKNE'), ('', 'LKNE'))
    """
    for mark in MARKS:
        name, found, rest = label.rpartition(mark)
        if found and name and rest:
            return name, rest
    return "", label
