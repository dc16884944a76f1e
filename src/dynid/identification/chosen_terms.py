"""Terms that a task leaves open, or that its logs do not determine: chosen, or left out, with the reason."""

from collections.abc import Callable, Sequence

from dynid.estimation import TermChoice, choose_terms, determined_terms
from dynid.findings import Finding
from dynid.identification.log_reading import PreparedLogs
from dynid.identification.records import TermChoiceRecord, TriedTerms
from dynid.identification.task import Task
from dynid.logs import transmission_of
from dynid.model import specification


def with_chosen_terms(
    task: Task, read: PreparedLogs, progress: Callable[[str], None]
) -> tuple[Task, TermChoiceRecord | None, tuple[Finding, ...]]:
    """A task with terms that its logs show, what was tried, and the choice in words; itself where it states them."""
    if not task.chooses_terms:
        return task, None, ()
    robot = task.model.robot
    if task.torque == "magnitude":
        terms = [specification(term) for term in task.model.terms]
        return task.with_terms(terms), None, (Finding.of("terms-default-unsigned", "terms", terms=terms),)
    matrix = transmission_of(read.drive, robot).matrix
    choice = choose_terms(robot, read.sample, task.known, matrix, task.estimation.form, progress)
    return task.with_terms(choice.terms), choice_record(choice), choice.findings


def choice_record(choice: TermChoice) -> TermChoiceRecord:
    """The record of a choice."""
    tried = [
        TriedTerms(
            terms=trial.terms,
            parameters=trial.parameters,
            relative_error=trial.relative_error,
            margin=margin,
            standard_error=error,
            impossible=trial.negative,
            seconds=trial.seconds,
            chosen=trial is choice.chosen,
        )
        for trial, (margin, error) in zip(choice.tried, choice.margins, strict=True)
    ]
    return TermChoiceRecord(
        terms=choice.terms,
        reason=choice.reason,
        blocks=choice.blocks,
        samples=choice.samples,
        seconds=choice.seconds,
        tried=tuple(tried),
    )


def without_undetermined(
    task: Task, read: PreparedLogs, names: Sequence[str]
) -> tuple[Task, tuple[Finding, ...]] | None:
    """A task without the terms that keep its logs from determining some parameters; None where terms do not."""
    found = determined_terms(task.model, read.logs or read.sample, names)
    if found is None:
        return None
    terms, findings = found
    return task.with_terms([specification(term) for term in terms]), findings


def alternatives(choice: TermChoiceRecord, *, at_any_price: bool) -> list[tuple[str, ...]]:
    """Terms that were tried and have offsets, motor inertia or both beside the chosen ones, the least error first.

    Args:
        choice: What was tried.
        at_any_price: Whether those count, too, that predict held-out blocks significantly worse.
    """
    own = set(choice.terms)
    bound = next((trial.margin + trial.standard_error for trial in choice.tried if trial.chosen), 0.0)
    found = [
        trial
        for trial in choice.tried
        if own < set(trial.terms)
        and (at_any_price or trial.margin - trial.standard_error <= bound)
        and {term.split(":")[0] for term in set(trial.terms) - own} <= {"offset", "armature"}
    ]
    return [trial.terms for trial in sorted(found, key=lambda trial: trial.margin)]


def chosen_instead(choice: TermChoiceRecord, terms: tuple[str, ...]) -> TermChoiceRecord:
    """The record of a choice that physically consistent links decided."""
    tried = tuple(trial.model_copy(update={"chosen": trial.terms == terms}) for trial in choice.tried)
    return choice.model_copy(update={"terms": terms, "reason": "links", "tried": tried})
