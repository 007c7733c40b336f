"""A name that is not installed: the fix is the command of an index that has it, and no server is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.resolution import lookup
from strands_cli.errors import Finding
from strands_cli.indexes.index_copies import read_part
from strands_cli.indexes.index_places import Place
from strands_cli.indexes.known_names import KnownNames, with_indexes
from strands_cli.indexes.site_files import SEARCHED
from tests.cli.strands import Folder
from tests.plugin_index.made_indexes import a_tool, of_folder, serving, write_searched

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

COMMAND = "strands plugin install strands-tool-zeppelin"


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return write_searched(tmp_path / "site", {"name": "strands-tool-zeppelin", "tools": [a_tool("zeppelin")]})


def configured(folder: Path, place: str) -> Path:
    config = folder / "config.yaml"
    config.write_text(f"version: 1\nindexes: ['{place}']\n", encoding="utf-8")
    return config


def fix_of(ref: str, config: Path | None) -> str | None:
    found = lookup(with_indexes(discover_catalog(), config), ref)
    assert isinstance(found, Finding)
    return found.fix


def test_an_index_in_a_folder_is_read(tmp_path: Path, index: Path) -> None:
    config = configured(tmp_path, str(index))
    assert fix_of("native:zeppelin", config) == COMMAND
    assert fix_of("native:strands-tool-zeppelin/zeppelin", config) == COMMAND
    for other in ("native:zeppelinx", "native:strands-tool-other/zeppelin"):
        assert "plugin install" not in (fix_of(other, config) or "")
    assert "plugin install" not in (fix_of("native:zeppelin", None) or "")


def test_of_a_server_only_the_copy_is_read(tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serving(of_folder(index)) as server:
        config = configured(tmp_path, server.url)
        assert "plugin install" not in (fix_of("native:zeppelin", config) or "")
        assert server.asked == []
        read_part(Place(url=server.url), SEARCHED)
        assert len(server.asked) == 1
        assert fix_of("native:zeppelin", config) == COMMAND
        assert len(server.asked) == 1


@pytest.mark.parametrize("text", ["", "{}", "not json", '{"kind":"strands-plugin-index","format":9}\n'])
def test_a_faulty_index_hides_no_finding(text: str, tmp_path: Path) -> None:
    (tmp_path / SEARCHED).write_text(text)
    assert KnownNames(configured(tmp_path, str(tmp_path))).distribution_with("zeppelin") is None
    broken = tmp_path / "broken.yaml"
    broken.write_text("indexes: [")
    assert KnownNames(broken).distribution_with("zeppelin") is None


def test_plan_and_validate_name_the_command(tmp_path: Path, index: Path) -> None:
    folder = Folder(tmp_path / "person")
    folder.work.mkdir(parents=True)
    home = folder.root / "home" / ".config" / "strands-cli"
    home.mkdir(parents=True)
    configured(home, str(index))
    flow = folder.workflow(
        [{"agent": "writer", "input": "x"}], agents={"writer": {"prompt": "x", "tools": ["zeppelin"]}}
    )
    for command in ("validate", "plan"):
        assert f"fix: {COMMAND}\n" in folder.strands(command, flow).err
