"""JUnit XML is what the common schema says, whatever a model answered."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from strands_cli_migrate.junit import Outcome, junit_text

ENDED = [
    Outcome("a.yaml", "a", "one", "passed", (), 0.5),
    Outcome("b.yaml", "b", "two", "failed", ("not so", "nor so"), 0.25, "an answer"),
    Outcome("b.yaml", "b", "three", "error", ("no model",), 1.0),
    Outcome("b.yaml", "b", "four", "skipped", ("it has no recording",)),
]


def test_each_file_is_a_suite_that_counts_its_tests() -> None:
    root = ElementTree.fromstring(junit_text(ENDED, at=0, host="here"))
    assert root.tag == "testsuites"
    suites = [suite.attrib for suite in root]
    assert suites == [
        {
            "name": "a",
            "package": "a.yaml",
            "id": "0",
            "hostname": "here",
            "timestamp": "1970-01-01T00:00:00",
            "tests": "1",
            "failures": "0",
            "errors": "0",
            "skipped": "0",
            "time": "0.500",
        },
        {
            "name": "b",
            "package": "b.yaml",
            "id": "1",
            "hostname": "here",
            "timestamp": "1970-01-01T00:00:00",
            "tests": "3",
            "failures": "1",
            "errors": "1",
            "skipped": "1",
            "time": "1.250",
        },
    ]


def test_a_suite_has_the_elements_of_the_schema_in_their_order() -> None:
    suite = ElementTree.fromstring(junit_text(ENDED, at=0, host="here"))[1]
    assert [part.tag for part in suite] == ["properties", *["testcase"] * 3, "system-out", "system-err"]
    assert [[(end.tag, end.get("type")) for end in case] for case in suite.iter("testcase")] == [
        [("failure", "failed")],
        [("error", "error")],
        [("skipped", None)],
    ]
    assert suite.findtext("testcase/failure") == "not so\nnor so\nanswer: an answer"


@given(st.text(st.characters()), st.text())
def test_any_text_becomes_xml(said: str, name: str) -> None:
    text = junit_text([Outcome("f", "a", name, "failed", (said,), 0.1, said)], at=0, host=name)
    root = ElementTree.fromstring(text.encode("utf-8"))
    message = root[0][1][0].get("message") or ""
    assert message == said or "\\" in message or any(mark in said for mark in "\t\n")
