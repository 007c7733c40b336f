"""Where runs are stored: options before variables, these before the config file, and no two of one kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.config import Settings, read_settings
from strands_cli.engine.stored_runs.opened_store import open_store, opener_of
from strands_cli.errors import InvalidInput, NotEquipped, UsageError
from strands_cli.planning.run_request import chosen_place, store_place_of
from strands_cli.store_place import StorePlace, is_address, without_password
from strands_cli.user_files.user_config import BAD_CONFIG

HIDDEN = "hidden-password-1"
ADDRESS = "postgresql://ann@db.example.org/runs"


def settings_in(folder: Path, config: str = "", **environ: str) -> Settings:
    (folder / "strands-cli").mkdir(exist_ok=True)
    if config:
        (folder / "strands-cli" / "config.yaml").write_text(config, encoding="utf-8")
    return read_settings({"XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder), **environ})


def test_an_option_is_before_a_variable_and_a_variable_before_the_config_file(tmp_path: Path) -> None:
    config = f"version: 1\nstore: {ADDRESS}\n"
    assert str(store_place_of(settings_in(tmp_path))) == str(tmp_path / "strands-cli" / "runs")
    assert str(store_place_of(settings_in(tmp_path, config))) == ADDRESS
    assert store_place_of(settings_in(tmp_path, STRANDS_RUNS_DIR="/runs")) == StorePlace(Path("/runs"))
    both = {"STRANDS_RUNS_DIR": "/runs", "STRANDS_STORE": ADDRESS}
    assert read_settings(both, runs_dir=Path("/here")).store == ""
    assert read_settings(both, store="postgresql://other").store == "postgresql://other"


@pytest.mark.parametrize(
    ("environ", "options"),
    [
        ({"STRANDS_RUNS_DIR": "/runs", "STRANDS_STORE": ADDRESS}, {}),
        ({}, {"runs_dir": Path("/runs"), "store": ADDRESS}),
        ({"STRANDS_STORE": "/runs"}, {}),
        ({}, {"store": "postgres.example.org"}),
        ({}, {"store": ""}),  # "$STORE" that is not set: not the default directory
        ({}, {"runs_dir": Path("/runs"), "store": ""}),
        ({}, {"store": "postgresql://ann:{evn}@db/runs"}),
        ({"STRANDS_STORE": "postgresql://ann:{env:PG@db/runs"}, {}),
        ({"STRANDS_STORE": "postgresql://ann:{env:}@db/runs"}, {}),
    ],
)
def test_two_places_and_what_is_not_an_address_are_refused(environ: dict[str, str], options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        read_settings(environ, **options)  # type: ignore[arg-type]


def test_a_source_of_secrets_that_is_not_installed_is_refused_without_its_word() -> None:
    with pytest.raises(UsageError) as refused:
        chosen_place(store=f"postgresql://ann:{{{HIDDEN}:x}}@db/runs")
    assert HIDDEN not in f"{refused.value} {refused.value.fix}"


def test_the_password_of_the_config_file_is_a_reference_in_the_address(tmp_path: Path) -> None:
    password = "{source: file, path: /run/secrets/pg}"
    place = store_place_of(
        settings_in(tmp_path, f"version: 1\nstore: {{address: '{ADDRESS}', password: {password}}}\n")
    )
    assert place.address == "postgresql://ann:{file:/run/secrets/pg}@db.example.org/runs"


@pytest.mark.parametrize(
    "store",
    [
        "/runs",
        "[]",
        "{adress: 'postgresql://a@b/c'}",
        "{address: 'postgresql://b/c', password: {source: env, key: P}}",
        f"{{address: 'postgresql://a@b/c', password: {HIDDEN}}}",
        "{address: 'postgresql://a@b/c', password: {source: env}}",
        f"'postgresql://a:{{{HIDDEN}:x}}@b/c'",
    ],
)
def test_a_store_in_the_config_file_that_is_not_valid_is_a_finding_with_its_line(store: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        store_place_of(settings_in(tmp_path, f"version: 1\nstore: {store}\n"))
    assert {finding.code for finding in raised.value.findings} == {BAD_CONFIG}
    assert all(finding.where is not None and finding.where.line == 2 for finding in raised.value.findings)
    assert HIDDEN not in str(raised.value.findings)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (ADDRESS, ADDRESS),
        (f"postgresql://ann:{HIDDEN}@db/runs", "postgresql://ann@db/runs"),
        (f"postgresql://ann:{HIDDEN}/@@db/runs", None),
        ("postgresql://ann:{env:PG}@db/runs", "postgresql://ann:{env:PG}@db/runs"),
        (f"postgresql://db/runs?user=ann&password={HIDDEN}&x=1", "postgresql://db/runs?user=ann&password=...&x=1"),
        (f"postgresql:///runs?PassWord={HIDDEN}", "postgresql:///runs?PassWord=..."),
        (f"postgresql://ann:{{{HIDDEN}:x}}@db/runs", "postgresql://ann@db/runs"),
    ],
)
def test_a_place_is_shown_without_its_password(address: str, shown: str | None) -> None:
    place = StorePlace(address=address)
    if shown is not None:
        assert (str(place), place.words) == (shown, ("--store", shown))
    assert HIDDEN not in repr(place)
    assert HIDDEN not in place.record("run")
    assert without_password(address) == str(place)


def test_an_address_is_not_a_path() -> None:
    assert [is_address(text) for text in (ADDRESS, "x:y", "C:\\runs", "./runs", "://a", "")] == [True, *[False] * 5]


def test_a_scheme_without_a_plugin_says_what_to_install_or_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strands_cli.catalog.distributions.scan.scan_installed", Scan)
    with pytest.raises(NotEquipped) as missing:
        open_store(StorePlace(address=f"postgresql://ann:{HIDDEN}@db/runs"))
    assert "pip install strands-cli-postgres" in (missing.value.fix or "")
    with pytest.raises(UsageError) as unknown:
        open_store(StorePlace(address="postgre://db/runs"))
    assert "postgres" in (unknown.value.fix or "")
    assert HIDDEN not in f"{missing.value} {missing.value.fix}"


OPENER = """
class Opener:
    init = check = migrate = print

    def open(self, place, address):
        raise RuntimeError(address)
store = Opener()
"""


def test_references_to_secrets_are_read_when_the_store_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "strands_store_memory-1.0.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: strands-store-memory\nVersion: 1.0\n", "utf-8")
    (record / "entry_points.txt").write_text("[strands_cli.stores]\nmemory = store_of_test:store\n", "utf-8")
    (tmp_path / "store_of_test.py").write_text(OPENER, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PG", "a/b@c d")
    _, address = opener_of(StorePlace(address="memory://ann:{env:PG}@db/runs"))
    assert address == "memory://ann:a%2Fb%40c%20d@db/runs"
    (record / "entry_points.txt").write_text(
        "[strands_cli.stores]\nmemory = store_of_test:store\n[strands_cli.secrets]\nvault = vault_of_test:vault\n",
        "utf-8",
    )
    (tmp_path / "vault_of_test.py").write_text(
        "def vault(secret):\n    return f'{secret.path}/{secret.key}'\n", "utf-8"
    )
    for written, value in (("team/db#pw", "team%2Fdb%2Fpw"), ("team", "team%2Fpassword")):
        place = chosen_place(store=f"memory://ann:{{vault:{written}}}@db/runs")
        assert place.words == ("--store", f"memory://ann:{{vault:{written}}}@db/runs")
        assert opener_of(place)[1] == f"memory://ann:{value}@db/runs"
    configured = settings_in(
        tmp_path,
        "version: 1\nstore: {address: 'memory://ann@db/r', password: {source: vault, path: team, key: pw}}\n",
    )
    assert store_place_of(configured).address == "memory://ann:{vault:team#pw}@db/r"
    monkeypatch.delenv("PG")
    with pytest.raises(UsageError) as unset:
        opener_of(StorePlace(address="memory://ann:{env:PG}@db/runs"))
    assert "PG" in str(unset.value)
