"""What a person names of plugins has one owner, and policy and the lock are asked before it is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.default_parts import OWNERS, STORES, owner_by_name
from strands_cli.engine.stored_runs.opened_store import open_store, opener_of
from strands_cli.engine.stored_runs.run_owners import run_owner
from strands_cli.errors import Denied, NotEquipped
from strands_cli.lock.lock_reader import Lock
from strands_cli.lock.lock_writer import render_lock
from strands_cli.parts.named_parts import part_named, parts_in_use, parts_of
from strands_cli.parts.plugin_lock import lock_plugins
from strands_cli.store_place import StorePlace

ADDRESS = "memory://ann:{env:PGPW}@host/runs"
MODULE = """
import os
from pathlib import Path

with Path(os.environ["IMPORTED"]).open("a") as file:
    file.write("{name}\\n")
class opener:
    open = init = check = migrate = leave = prepare = wait_again = print
"""
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return what installs a distribution with entry points; its module writes its name into a file when imported."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setenv("IMPORTED", str(tmp_path / "imported"))
    monkeypatch.setenv("PGPW", "hidden-password-1")
    monkeypatch.chdir(tmp_path)

    def installed(name: str, group: str = STORES, part: str = "memory", version: str = "1.0") -> None:
        module = f"part_of_{name.replace('-', '_')}"
        monkeypatch.delitem(sys.modules, module, raising=False)
        record = site / f"{name.replace('-', '_')}-{version}.dist-info"
        record.mkdir()
        (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
        (record / "entry_points.txt").write_text(f"[{group}]\n{part} = {module}:opener\n", "utf-8")
        (record / "RECORD").write_text(f"{module}.py,,\n", "utf-8")
        (site / f"{module}.py").write_text(MODULE.format(name=name), "utf-8")

    return installed


def imported(folder: Path) -> list[str]:
    file = folder / "imported"
    return file.read_text("utf-8").split() if file.exists() else []


def test_a_part_of_one_owner_is_imported(install: Install, tmp_path: Path) -> None:
    install("strands-store-memory")
    assert opener_of(StorePlace(address=ADDRESS))[1] == "memory://ann:hidden-password-1@host/runs"
    assert imported(tmp_path) == ["strands-store-memory"]


@pytest.mark.parametrize("group", [STORES, OWNERS])
def test_two_owners_of_one_name_are_refused_with_both_names(install: Install, tmp_path: Path, group: str) -> None:
    install("strands-store-memory", group)
    install("zzz-other", group)
    open_it = (lambda: open_store(StorePlace(address=ADDRESS))) if group == STORES else lambda: run_owner("memory")
    with pytest.raises(Denied) as refused:
        open_it()
    assert "strands-store-memory and zzz-other claim" in str(refused.value)
    assert refused.value.findings[0].code == "part-taken"
    assert refused.value.fix is not None
    assert refused.value.fix.endswith(("strands plugin uninstall zzz-other", "uninstall strands-store-memory"))
    assert imported(tmp_path) == []


@pytest.mark.parametrize(("group", "name"), [(STORES, "postgresql"), (STORES, "postgres"), (OWNERS, "workers")])
def test_a_name_of_ours_is_of_no_other(install: Install, tmp_path: Path, group: str, name: str) -> None:
    install("strands-tool-zzz", group, name)
    owner = owner_by_name(group, name)
    if owner in {part.distribution for part in parts_of(group)}:  # it has the name, also where others claim it
        assert part_named(group, name) in parts_of(group)
        assert part_named(group, name).distribution == owner  # type: ignore[union-attr]
        return
    with pytest.raises(Denied) as refused:
        part_named(group, name)
    assert "strands-tool-zzz" in str(refused.value)
    assert "hidden-password-1" not in str(refused.value)
    assert f"pip install {owner}" in str(refused.value.fix) or "strands-cli[" in str(refused.value.fix)
    assert imported(tmp_path) == []


DENYING = {
    "a name": "- {deny: '*', distribution: strands-store-memory, reason: not ours}",
    "a glob": "- {deny: '*', distribution: 'strands-store-*'}",
    "another spelling": "- {deny: '*', distribution: Strands_Store.Memory}",
}


@pytest.mark.parametrize("rule", DENYING.values(), ids=DENYING)
def test_a_denied_distribution_is_not_imported(install: Install, tmp_path: Path, rule: str) -> None:
    install("strands-store-memory")
    (tmp_path / "strands-policy.yaml").write_text(f"version: 1\nrules:\n  {rule}\n", "utf-8")
    with pytest.raises(Denied) as refused:
        open_store(StorePlace(address=ADDRESS))
    assert refused.value.findings[0].code == "part-denied"
    assert "the store of addresses `memory:` is of strands-store-memory, which is denied" in str(refused.value)
    assert imported(tmp_path) == []


@pytest.mark.parametrize("rule", ["- {deny: '*'}", "- {deny: '*', distribution: other}", "- {ask: '*'}"])
def test_rules_about_tools_do_not_close_a_store(install: Install, tmp_path: Path, rule: str) -> None:
    install("strands-store-memory")
    (tmp_path / "strands-policy.yaml").write_text(f"version: 1\nrules:\n  {rule}\n", "utf-8")
    opener_of(StorePlace(address=ADDRESS))
    assert imported(tmp_path) == ["strands-store-memory"]


def test_what_is_in_use_is_the_store_and_the_owners_of_runs(install: Install, tmp_path: Path) -> None:
    install("strands-store-memory")
    install("zzz-owner", OWNERS, "yours")
    install("other-store", STORES, "other")
    used = {part.distribution for part in parts_in_use(StorePlace(address=ADDRESS))}
    assert used - {"strands-cli-workers"} == {"strands-store-memory", "zzz-owner"}
    assert parts_in_use(StorePlace(tmp_path)) == []
    assert imported(tmp_path) == []


def test_a_store_without_the_library_of_its_client_names_the_distribution_to_install(
    install: Install, tmp_path: Path
) -> None:
    install("strands-store-memory")
    module = tmp_path / "site" / "part_of_strands_store_memory.py"
    methods = "init = check = migrate = print\n    def open(place, address):\n        import no_such_client\n"
    module.write_text(f"class opener:\n    {methods}", "utf-8")
    with pytest.raises(NotEquipped) as refused:
        open_store(StorePlace(address=ADDRESS))
    assert "no_such_client" in str(refused.value)
    assert str(refused.value.fix).startswith("pip install --upgrade strands-store-memory")


def lock(distribution: str) -> None:
    """Write a lock of this folder that has a plugin as it is installed now."""
    plugins = lock_plugins([distribution], scan_installed())
    Path("strands.lock").write_text(render_lock(Lock(distributions=plugins)), "utf-8")


def test_a_store_that_is_as_it_was_locked_is_imported(install: Install, tmp_path: Path) -> None:
    install("strands-store-memory")
    lock("strands-store-memory")
    opener_of(StorePlace(address=ADDRESS))
    assert imported(tmp_path) == ["strands-store-memory"]


def test_a_store_that_changed_since_it_was_locked_is_not_imported(install: Install, tmp_path: Path) -> None:
    install("strands-store-memory")
    lock("strands-store-memory")
    with (tmp_path / "site" / "part_of_strands_store_memory.py").open("a") as file:
        file.write("# changed\n")
    with pytest.raises(Denied) as refused:
        opener_of(StorePlace(address=ADDRESS))
    assert refused.value.findings[0].code == "lock-changed"
    assert "strands-store-memory" in str(refused.value)
    assert imported(tmp_path) == []


def test_a_store_that_the_required_lock_does_not_have_is_not_imported(install: Install, tmp_path: Path) -> None:
    install("strands-store-memory")
    install("zzz-owner", OWNERS)
    lock("zzz-owner")
    (tmp_path / "strands-policy.yaml").write_text("version: 1\nlocked: true\n", "utf-8")
    with pytest.raises(Denied) as refused:
        opener_of(StorePlace(address=ADDRESS))
    assert refused.value.findings[0].code == "lock-unlisted"
    assert imported(tmp_path) == []
