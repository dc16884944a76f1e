"""Tables of the verdict sweep."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from tests.mistakes.catalogue import GOOD, KINDS
from tests.mistakes.records import Record

OUTCOMES = ("right", "hint", "other cause", "harmless", "trusted but wrong", "blind")
"""What becomes of a mistake."""

CLAIM = 1.5
"""Factor within which a claimed share should be of what mending removes."""

Records = Sequence[Record]


def _rows(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else "-"


def _mistakes(found: Records) -> list[Record]:
    return [one for one in found if one.case.kind != GOOD and not one.case.nuisance]


def _good(found: Records) -> list[Record]:
    return [one for one in found if one.case.kind == GOOD and not one.case.nuisance]


def _difficult(found: Records) -> list[Record]:
    return [one for one in found if one.case.nuisance]


def _count(found: Iterable[Record], *outcomes: str) -> int:
    return sum(one.outcome in outcomes for one in found)


def _trusted(found: Records) -> str:
    wrong = [one for one in found if one.is_wrong]
    return _share(_count(wrong, "trusted but wrong"), len(wrong))


def _right(found: Records) -> str:
    wrong = [one for one in found if one.is_wrong and one.outcome != "blind"]
    return _share(_count(wrong, "right"), len(wrong))


def _claims(found: Records) -> list[tuple[Record, float, float]]:
    """Records with a share that was claimed and one that mending removed."""
    return [
        (one, float(cause.values["share"]), cause.removed)
        for one in found
        for cause in one.judgement.named
        if cause.removed is not None
    ]


def _kept(found: Records) -> str:
    ratios = [(claimed, removed) for _, claimed, removed in _claims(found)]
    fair = [a for a, b in ratios if b > 0 and 1 / CLAIM <= a / b <= CLAIM]
    return _share(len(fair), len(ratios))


FIGURES: tuple[tuple[str, Callable[[Records], str]], ...] = (
    ("mistakes: trusted although over 20 % of the parameters are wrong", lambda x: _trusted(_mistakes(x))),
    ("mistakes: the first cause named is right, of those with over 20 % wrong", lambda x: _right(_mistakes(x))),
    ("mistakes: right, of all", lambda x: _share(_count(_mistakes(x), "right"), len(_mistakes(x)))),
    ("absurd causes", lambda x: _share(sum(bool(one.absurd) for one in x), len(x))),
    ("good logs called good", lambda x: _share(_count(_good(x), "good"), len(_good(x)))),
    (
        "difficult logs: false 'no'",
        lambda x: _share(*_of_good(x, lambda one: one.judgement.answer in ("no", "refused", "crashed"))),
    ),
    ("difficult logs: false causes", lambda x: _share(*_of_good(x, lambda one: bool(one.false_causes)))),
    ("difficult logs with a mistake: trusted although wrong", lambda x: _trusted(_crossed(x))),
    ("difficult logs with a mistake: right cause", lambda x: _right(_crossed(x))),
    ("claimed shares within a factor of 1.5 of what mending removes", _kept),
    ("crashed", lambda x: _share(sum(one.judgement.answer == "crashed" for one in x), len(x))),
    ("median time of a case [s]", lambda x: f"{np.median([one.judgement.seconds for one in x] or [0.0]):.2f}"),
)


def _of_good(found: Records, is_so: Callable[[Record], bool]) -> tuple[int, int]:
    good = [one for one in _difficult(found) if one.case.kind == GOOD]
    return sum(map(is_so, good)), len(good)


def _crossed(found: Records) -> list[Record]:
    return [one for one in _difficult(found) if one.case.kind != GOOD]


def summary(found: Records, before: Records | None = None) -> str:
    """The figures that count, of all robots."""
    head = ["figure", *(["before"] if before else []), "now" if before else "all"]
    rows = [[name, *([figure(before)] if before else []), figure(found)] for name, figure in FIGURES]
    if not before:
        robots = sorted({one.case.robot for one in found})
        head += robots
        parts = [[one for one in found if one.case.robot == robot] for robot in robots]
        rows = [[name, figure(found), *(figure(part) for part in parts)] for name, figure in FIGURES]
    counts = Counter(one.case.robot for one in found)
    said = ", ".join(f"{count} of {robot}" for robot, count in sorted(counts.items()))
    return f"{len(found)} cases: {said}.\n\n{_rows(head, rows)}"


def by_kind(found: Records, before: Records | None = None) -> str:
    """What becomes of each kind of mistake."""
    head = ["mistake", *OUTCOMES, "absurd", "outside", "also called"]
    rows = []
    for name in [GOOD, *KINDS]:
        mine = [one for one in found if one.case.kind == name and not one.case.nuisance]
        if mine:
            rows.append([name, *_counts(mine, before, name), *_called(mine)])
    return _rows(head, rows)


def _counts(mine: Records, before: Records | None, name: str) -> list[str]:
    """Counts of outcomes, with those of an earlier run before an arrow."""
    earlier = [one for one in before or () if one.case.kind == name and not one.case.nuisance]
    cells = []
    for outcome in (*OUTCOMES, "absurd"):
        new, old = (_outcomes(part)[outcome] for part in (mine, earlier))
        cells.append(f"{old or '.'} -> {new or '.'}" if before and new != old else str(new or ""))
    return cells


def _outcomes(found: Records) -> Counter[str]:
    counts = Counter(one.outcome for one in found)
    counts["right"] += counts.pop("good", 0)
    counts["other cause"] += counts.pop("care", 0) + counts.pop("no", 0)
    counts["absurd"] = sum(bool(one.absurd) for one in found)
    return counts


def _called(found: Records) -> tuple[str, str]:
    outside = np.median([one.judgement.outside for one in found])
    others = Counter(
        one.judgement.causes[0].code for one in found if one.outcome not in ("right", "good") and one.judgement.causes
    )
    return f"{outside:.0%}", ", ".join(f"{code} {count}" for code, count in others.most_common(3))


def by_nuisance(found: Records, before: Records | None = None) -> str:
    """What is said of difficult logs without a mistake."""
    rows = []
    for names in dict.fromkeys(one.case.nuisance for one in _difficult(found)):
        mine = [one for one in found if one.case.nuisance == names and one.case.kind == GOOD]
        earlier = [one for one in before or () if one.case.nuisance == names and one.case.kind == GOOD]
        cells = []
        for is_so in (
            lambda one: one.outcome == "good",
            lambda one: one.judgement.answer in ("no", "refused"),
            lambda one: bool(one.false_causes),
        ):
            new, old = sum(map(is_so, mine)), sum(map(is_so, earlier))
            cells.append(f"{old} -> {new}" if before and new != old else str(new))
        codes = Counter(cause.code for one in mine for cause in one.judgement.causes)
        said = ", ".join(f"{code} {count}" for code, count in codes.most_common(5))
        outside = np.median([one.judgement.outside for one in mine] or [0.0])
        rows.append([" + ".join(names), len(mine), *cells, f"{outside:.0%}", said])
    return _rows(["nuisance", "logs", "good", "'no'", "with false causes", "outside", "said"], rows)


def mending(found: Records) -> str:
    """Shares that were claimed, beside what goes when the cause is mended as its finding says."""
    codes = sorted({cause.code for one in found for cause in one.judgement.named if cause.removed is not None})
    rows = []
    for code in codes:
        pairs = [
            (float(cause.values["share"]), cause.removed)
            for one in found
            for cause in one.judgement.named
            if cause.code == code and cause.removed is not None
        ]
        claimed, removed = np.array(pairs).T
        fair = int(np.sum((removed > 0) & (claimed <= CLAIM * removed) & (removed <= CLAIM * claimed)))
        rows.append([code, len(pairs), f"{np.median(claimed):.0%}", f"{np.median(removed):.0%}", fair])
    return _rows(["cause", "cases", "claimed (median)", "removed (median)", "within a factor of 1.5"], rows)


def trusted(found: Records) -> str:
    """Every wrong model that was trusted, with what data show of it."""
    rows = [
        [
            one.case.kind + "".join(f" + {name}" for name in one.case.nuisance),
            f"{one.case.robot}, motion {one.case.motion}",
            ", ".join(one.joints),
            f"{one.judgement.outside:.0%}",
            "" if one.excess is None else f"{one.excess:.1%}",
            one.untellable or ("the residual does not grow" if one.outcome == "blind" else ""),
        ]
        for one in sorted(found, key=lambda one: (one.case.kind, one.case.robot, one.case.motion))
        if one.outcome in ("trusted but wrong", "blind")
    ]
    return _rows(
        ["mistake", "log", "joint", "outside", "growth of the squared residual", "why no data can show it"], rows
    )


def details(found: Records) -> str:
    """Every case that is not right, with what was said."""
    lines = []
    for one in found:
        if one.outcome in ("right", "good") and not one.absurd:
            continue
        said = "; ".join(
            f"{cause.severity[0].upper()} {cause.code} {cause.subject} "
            + " ".join(f"{key}={_short(value)}" for key, value in cause.values.items() if key != "rivals")
            for cause in one.judgement.causes[:3]
        )
        excess = "" if one.excess is None else f"{one.excess:.1%}"
        lines.append(
            f"{one.outcome:18s} {one.case.robot:9s}{one.case.motion:4d} {one.case.kind} {'+'.join(one.case.nuisance)} "
            f"[{', '.join(one.joints)}] answer={one.judgement.answer} outside={one.judgement.outside:.0%} "
            f"excess={excess} error={one.judgement.relative_error:.2%} | {said} {one.judgement.message[:200]}"
        )
    return "\n".join(lines)


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)[:60]
