"""What is wrong with logs of a floating base."""

from collections.abc import Iterator

from dynid.findings import Finding
from dynid.logs.floating_body import FloatingBody
from dynid.logs.log import Log
from dynid.logs.processing.automatic import PreparedLog


def findings_on_floating(log: Log, body: FloatingBody, ready: PreparedLog) -> Iterator[Finding]:
    """Findings on a log of a floating base."""
    yield from ()
