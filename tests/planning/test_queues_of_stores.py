"""An engine for queues is given the stores whose queues it has, and no address of another kind of store."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.cli.commands.stored.store_commands import init_store
from strands_cli.errors import NotEquipped, StrandsCliError, UsageError
from strands_cli.queues.engine_choice import engine_of, installed_engine
from strands_cli.store_place import StorePlace

ADDRESS = "memory://ann:secret-1@host/runs"
PLUGIN = """
class Store:
    open = check = migrate = print

    def init(self, place, address):
        return [f"made {place}"]

class Engine:
    open = check = station = print

    def init(self, place, address):
        raise AssertionError("the address of a store went to an engine that has no queues for it")

store, engine = Store(), Engine()
"""
POINTS = """
[strands_cli.stores]
memory = store_and_engine_of_test:store
other = store_and_engine_of_test:store
[strands_cli.engines]
other = store_and_engine_of_test:engine
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / "strands_store_memory-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: strands-store-memory\nVersion: 1.0\n", "utf-8")
    (record / "entry_points.txt").write_text(POINTS, "utf-8")
    (tmp_path / "store_and_engine_of_test.py").write_text(PLUGIN, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("plugin")
def test_an_engine_gets_no_address_of_a_store_that_it_has_no_queues_for(capsys: pytest.CaptureFixture[str]) -> None:
    init_store(store=ADDRESS)
    assert capsys.readouterr().out == "made memory://ann@host/runs\n"
    assert installed_engine("memory") is None
    with pytest.raises(NotEquipped) as refused:
        engine_of(StorePlace(address=ADDRESS))
    assert "--store postgresql://" in str(refused.value.fix)
    assert "secret-1" not in f"{refused.value} {refused.value.fix}"


@pytest.mark.parametrize(("scheme", "error"), [("nowhere", UsageError), ("memory", NotEquipped)])
@pytest.mark.usefixtures("plugin")
def test_no_fix_installs_an_engine_that_has_no_queues_for_the_store(
    tmp_path: Path, scheme: str, error: type[StrandsCliError]
) -> None:
    points = tmp_path / "strands_store_memory-1.0.dist-info" / "entry_points.txt"
    points.write_text(POINTS.partition("[strands_cli.engines]")[0], "utf-8")
    with pytest.raises(error) as refused:
        engine_of(StorePlace(address=f"{scheme}://host/runs"))
    assert "pip install" not in str(refused.value.fix)


@pytest.mark.usefixtures("plugin")
def test_an_engine_gets_the_address_of_a_store_that_it_has_queues_for() -> None:
    assert installed_engine("other") is not None
    assert engine_of(StorePlace(address="other://host/runs"))[1] == "other://host/runs"
