"""The results of tests of agents, and their JUnit XML for CI systems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Status = Literal["passed", "failed", "error", "skipped"]
# Characters that XML 1.0 cannot contain, not even as references.
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one test: `failed` if the answer is not the expected one, `error` if there is no answer."""

    file: str
    agent: str
    test: str
    status: Status
    problems: tuple[str, ...] = ()
    seconds: float = 0.0
    response: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return asdict(self) | {"problems": list(self.problems), "seconds": round(self.seconds, 3)}


def junit_text(outcomes: Sequence[Outcome], *, at: float, host: str) -> str:
    """Return the JUnit XML of tests, with a suite for each file, in the order of the common schema.

    Args:
        outcomes: The results, in the order of the run.
        at: The start of the tests, in seconds since the epoch.
    """
    from xml.etree import ElementTree  # only `--junit` needs it

    root = ElementTree.Element("testsuites")
    for number, file in enumerate(dict.fromkeys(outcome.file for outcome in outcomes)):
        _add_suite(root, number, file, [outcome for outcome in outcomes if outcome.file == file], at, host)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_suite(root: Element, number: int, file: str, outcomes: list[Outcome], at: float, host: str) -> None:
    import time
    from xml.etree.ElementTree import SubElement

    statuses = [outcome.status for outcome in outcomes]
    attributes = {
        "name": _xml(outcomes[0].agent),
        "package": _xml(file),
        "id": str(number),
        "hostname": _xml(host),
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)),
        "tests": str(len(outcomes)),
        "failures": str(statuses.count("failed")),
        "errors": str(statuses.count("error")),
        "skipped": str(statuses.count("skipped")),
        "time": f"{sum(outcome.seconds for outcome in outcomes):.3f}",
    }
    suite = SubElement(root, "testsuite", attributes)
    SubElement(suite, "properties")
    for outcome in outcomes:
        case = {"name": _xml(outcome.test), "classname": _xml(outcome.agent), "time": f"{outcome.seconds:.3f}"}
        _add_result(SubElement(suite, "testcase", case), outcome)
    SubElement(suite, "system-out")
    SubElement(suite, "system-err")


def _add_result(case: Element, outcome: Outcome) -> None:
    from xml.etree.ElementTree import SubElement

    if outcome.status == "skipped":
        SubElement(case, "skipped")
    elif outcome.status != "passed":
        kind = "failure" if outcome.status == "failed" else "error"
        attributes = {"message": _xml("; ".join(outcome.problems)), "type": outcome.status}
        answer = [] if outcome.response is None else [f"answer: {outcome.response}"]
        SubElement(case, kind, attributes).text = _xml("\n".join([*outcome.problems, *answer]))


def _xml(text: str) -> str:
    r"""Return text that XML can contain; other characters are escaped as in Python (`\x1b`)."""
    return _NOT_XML.sub(lambda match: match[0].encode("unicode_escape", "backslashreplace").decode("ascii"), text)
