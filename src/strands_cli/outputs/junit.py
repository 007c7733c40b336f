"""How tests of agents ended, and the JUnit XML that CI systems read of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Status = Literal["passed", "failed", "error", "skipped"]
# What XML 1.0 cannot hold, not even as a reference.
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test ended: `failed` is an answer that is not the expected one, `error` that there was none to judge."""

    file: str
    agent: str
    test: str
    status: Status
    problems: tuple[str, ...] = ()
    seconds: float = 0.0
    response: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape of it."""
        return {
            "file": self.file,
            "agent": self.agent,
            "test": self.test,
            "status": self.status,
            "problems": list(self.problems),
            "seconds": round(self.seconds, 3),
            "response": self.response,
        }


def junit_text(outcomes: Sequence[Outcome], *, at: float, host: str) -> str:
    """Return the JUnit XML of tests, a suite for each file, in the elements and the order of the common schema.

    Args:
        outcomes: How they ended, in the order of the run.
        at: When they were begun, in seconds since the epoch.
        host: Name of the machine.
    """
    from xml.etree import ElementTree  # only `--junit` needs it

    root = ElementTree.Element("testsuites")
    for number, file in enumerate(dict.fromkeys(outcome.file for outcome in outcomes)):
        _add_suite(root, number, file, [one for one in outcomes if one.file == file], at, host)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_suite(root: Element, number: int, file: str, outcomes: list[Outcome], at: float, host: str) -> None:
    import time
    from xml.etree.ElementTree import SubElement

    counts = {name: sum(one.status == status for one in outcomes)
              for name, status in (("failures", "failed"), ("errors", "error"), ("skipped", "skipped"))}  # fmt: skip
    suite = SubElement(root, "testsuite", {
        "name": _xml(outcomes[0].agent), "package": _xml(file), "id": str(number), "hostname": _xml(host),
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)), "tests": str(len(outcomes)),
        **{name: str(count) for name, count in counts.items()},
        "time": f"{sum(one.seconds for one in outcomes):.3f}",
    })  # fmt: skip
    SubElement(suite, "properties")
    for outcome in outcomes:
        named = {"name": _xml(outcome.test), "classname": _xml(outcome.agent), "time": f"{outcome.seconds:.3f}"}
        _add_ending(SubElement(suite, "testcase", named), outcome)
    SubElement(suite, "system-out")
    SubElement(suite, "system-err")


def _add_ending(case: Element, outcome: Outcome) -> None:
    from xml.etree.ElementTree import SubElement

    if outcome.status == "skipped":
        SubElement(case, "skipped")
    elif outcome.status != "passed":
        kind = "failure" if outcome.status == "failed" else "error"
        said = {"message": _xml("; ".join(outcome.problems)), "type": outcome.status}
        answered = [] if outcome.response is None else [f"answer: {outcome.response}"]
        SubElement(case, kind, said).text = _xml("\n".join([*outcome.problems, *answered]))


def _xml(text: str) -> str:
    r"""Return text that XML can hold: what it cannot is escaped as Python writes it (`\x1b`)."""
    return _NOT_XML.sub(lambda found: found[0].encode("unicode_escape", "backslashreplace").decode("ascii"), text)
