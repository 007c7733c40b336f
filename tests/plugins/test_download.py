"""Where the files of a wheel land that are neither importable nor programs."""

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from strands_cli.plugins.collisions import is_reserved


def test_data_behind_a_link_lands_where_the_link_leads(tmp_path: Path) -> None:
    # A virtual environment on Linux has the link lib64 to lib.
    (tmp_path / "lib64").symlink_to(sysconfig.get_path("purelib"))
    (tmp_path / "share").mkdir()
    assert is_reserved(str(tmp_path / "lib64" / "evil.pth"))
    assert not is_reserved(str(tmp_path / "share" / "evil.pth"))


def test_data_does_not_become_an_entry_of_the_import_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zipped = str(tmp_path / "python311.zip")
    monkeypatch.setattr(sys, "path", [*sys.path, zipped])
    assert is_reserved(zipped)
    assert not is_reserved(zipped + os.extsep + "txt")
