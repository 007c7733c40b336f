"""A document has a limit of values, beyond which it is refused where they are."""

from __future__ import annotations

import pytest

from strands_cli.errors import InvalidInput
from strands_cli.workflow.yaml.document_reader import read_document

# Many made-up values take seconds.
pytestmark = pytest.mark.hostile


def test_a_document_with_too_many_values_is_refused_at_its_line() -> None:
    text = "items:\n" + "".join(f"  - [{', '.join('0' * 999)}]\n" for _ in range(201))
    with pytest.raises(InvalidInput) as refused:
        read_document("flow.yaml", text)
    (finding,) = refused.value.findings
    assert finding.where is not None
    assert (finding.code, finding.where.line) == ("document-too-large", 201)
