"""What lies beside a wheel as proof of its publisher, in an index that is built from it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from index_kit import built, document_of
from publisher_artifacts import ARTIFACTS, WHEEL

from tests.wordings import Wording

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels


def test_a_proof_that_cannot_be_verified_here_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    (tmp_path / "wheels").mkdir()
    for name in (WHEEL, f"{WHEEL}.provenance"):
        shutil.copy(ARTIFACTS / name, tmp_path / "wheels" / name)
    assert built(tmp_path / "wheels", tmp_path / "with").findings == ()
    monkeypatch.setitem(sys.modules, "pypi_attestations", None)
    (finding,) = built(tmp_path / "wheels", tmp_path / "without").findings
    assert (finding.code, finding.severity) == ("proof-unread", "warning")
    assert "strands-cli[attestations]" in (finding.fix or "")
    wording(finding.message)
    (file,) = document_of(tmp_path / "without")["libraries"][0]["files"]
    assert file["provenance"] == f"{WHEEL}.provenance"
