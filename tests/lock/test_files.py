"""Which files a lock covers: what is on disk, whatever RECORD says, and nothing that differs between two machines."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES, PathFinder
from pathlib import Path

import pytest

from strands_cli.catalog.installed_files import UNREADABLE, digest_of_file, modules_of
from strands_cli.errors import NotEquipped
from strands_cli.lock.package_documents import require_readable
from tests.distributions import make_distribution, manifest_of, module_source, sound, tool
from tests.lock.kit import install, lock_site, write_record

NAME = "strands-tool-shout"
SUFFIX = EXTENSION_SUFFIXES[0]


def files(site: Path, *elsewhere: Path) -> dict[str, str]:
    return dict(lock_site(site, *elsewhere).distributions[NAME].files)


def test_the_files_of_package_and_record_are_covered(tmp_path: Path) -> None:
    install(tmp_path, "shout")
    assert sorted(files(tmp_path)) == [
        "dist-info/METADATA",
        "dist-info/entry_points.txt",
        "strands_tool_shout/__init__.py",
        "strands_tool_shout/shout.py",
        "strands_tool_shout/strands_tools.json",
    ]


def test_what_an_installer_writes_and_what_python_caches_is_not(tmp_path: Path) -> None:
    package = install(tmp_path, "shout")
    before = files(tmp_path)
    dist_info = tmp_path / "strands_tool_shout-1.0.dist-info"
    for name in ("INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"):
        (dist_info / name).write_text("another", encoding="utf-8")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "shout.cpython-311.pyc").write_bytes(b"cached")
    script = tmp_path.parent / "a-script"
    script.write_text("#!/of/this/machine", encoding="utf-8")
    write_record(dist_info, package, more=f"../a-script,,\n{script},,\n")
    assert files(tmp_path) == before


def test_a_changed_byte_shows_though_the_record_is_old(tmp_path: Path) -> None:
    package = install(tmp_path, "shout")
    before = files(tmp_path)
    (package / "shout.py").write_text(module_source("shout") + "\n", encoding="utf-8")
    now = files(tmp_path)
    assert {name for name in before if before[name] != now[name]} == {"strands_tool_shout/shout.py"}


@pytest.mark.parametrize("name", ["added.py", "sub/added.py", "added.so", "added.pyc", "data.bin"])
def test_a_file_that_the_record_does_not_know_shows(tmp_path: Path, name: str) -> None:
    package = install(tmp_path, "shout")
    before = files(tmp_path)
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_bytes(b"import os\n")
    assert files(tmp_path).keys() - before.keys() == {f"strands_tool_shout/{name}"}


def test_a_record_that_lists_nothing_hides_nothing(tmp_path: Path) -> None:
    install(tmp_path, "shout")
    (tmp_path / "strands_tool_shout-1.0.dist-info" / "RECORD").write_text("", encoding="utf-8")
    assert {name for name in files(tmp_path) if name.endswith(".py")} == {
        "strands_tool_shout/__init__.py",
        "strands_tool_shout/shout.py",
    }


def test_another_package_of_the_distribution_is_covered_too(tmp_path: Path) -> None:
    package = install(tmp_path, "shout")
    other = tmp_path / "shout_core"
    other.mkdir()
    (other / "__init__.py").write_text("", encoding="utf-8")
    write_record(tmp_path / "strands_tool_shout-1.0.dist-info", package, other)
    (other / "late.py").write_text("", encoding="utf-8")
    assert {"shout_core/__init__.py", "shout_core/late.py"} <= files(tmp_path).keys()


def test_a_quoted_path_with_a_comma_is_covered(tmp_path: Path) -> None:
    package = install(tmp_path, "shout")
    (tmp_path / "a,b.py").write_text("", encoding="utf-8")
    write_record(tmp_path / "strands_tool_shout-1.0.dist-info", package, more='"a,b.py",,\n')
    assert "a,b.py" in files(tmp_path)


def share_namespace(site: Path) -> None:
    """Install a tool in the namespace package `shared`, in which another distribution has a part too."""
    modules = {"shared/shout/__init__.py": module_source("shout"), "shared/shout/strands_tools.json": "{}"}
    write_record(make_distribution(site, NAME, "1.0", {"shout": "shared.shout"}, modules), site / "shared" / "shout")
    other = make_distribution(site, "shared-other", "1.0", {}, {"shared/other.py": "", "shared/part/b.py": ""})
    lines = ["shared/other.py,,", "shared/part/b.py,,"]
    (other / "RECORD").write_text("\n".join(lines), encoding="utf-8")


def test_of_a_namespace_package_the_part_of_another_distribution_is_not_covered(tmp_path: Path) -> None:
    share_namespace(tmp_path)
    (tmp_path / "shared" / "shout" / "added.py").write_text("", encoding="utf-8")
    covered = {name for name in files(tmp_path) if name.startswith("shared/")}
    assert covered == {"shared/shout/__init__.py", "shared/shout/strands_tools.json", "shared/shout/added.py"}


@pytest.mark.parametrize("name", ["plus.py", "part/plus.py", f"plus{SUFFIX}", "plus/__init__.py", "more/deep/plus.pyc"])
@pytest.mark.parametrize("portion", ["site", "other"])
def test_what_locked_code_could_import_from_its_namespace_package_is_covered(
    tmp_path: Path, name: str, portion: str
) -> None:
    share_namespace(tmp_path / "site")
    before = files(tmp_path / "site", tmp_path / "other")
    added = tmp_path / portion / "shared" / name
    added.parent.mkdir(parents=True, exist_ok=True)
    added.write_bytes(b"")
    assert files(tmp_path / "site", tmp_path / "other").keys() - before.keys() == {f"shared/{name}"}


def test_an_editable_installation_is_covered_where_its_source_lies(tmp_path: Path) -> None:
    site, source = tmp_path / "site", tmp_path / "source"
    make_distribution(site, NAME, "1.0", {"shout": "strands_tool_shout"})
    (source / "strands_tool_shout").mkdir(parents=True)
    module = source / "strands_tool_shout" / "__init__.py"
    module.write_text(module_source("shout"), encoding="utf-8")
    locked = lock_site(site, source).distributions[NAME]
    assert locked.editable
    assert list(locked.files) == ["strands_tool_shout/__init__.py"]
    module.write_text(module_source("shout") + "#\n", encoding="utf-8")
    assert files(site, source) != locked.files


def test_a_zip_archive_is_covered_by_its_members(tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    sound(unpacked, "shout")
    archive = tmp_path / "tools.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for path in sorted(unpacked.rglob("*")):
            opened.write(path, path.relative_to(unpacked))
    expected = {name: d for name, d in files(unpacked).items() if name.startswith("strands_tool_shout/")}
    assert files(archive) == expected


def test_a_single_module_is_covered_with_its_record(tmp_path: Path) -> None:
    dist_info = make_distribution(tmp_path, NAME, "1.0", {"shout": "shouting"}, {"shouting.py": module_source("shout")})
    (dist_info / "RECORD").unlink(missing_ok=True)
    assert list(files(tmp_path)) == ["shouting.py"]


def test_a_loop_of_links_has_an_end(tmp_path: Path) -> None:
    package = install(tmp_path, "shout")
    (package / "again").symlink_to(package, target_is_directory=True)
    assert "strands_tool_shout/shout.py" in files(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert digest_of_file(str(tmp_path / "pipe.py")) == UNREADABLE


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    package = install(tmp_path, "shout")
    (package / os.fsdecode(b"\xff.py")).write_text("", encoding="utf-8")
    with pytest.raises(NotEquipped, match="udcff"):
        require_readable(NAME, files(tmp_path))


def test_a_tool_known_only_after_loading_is_reported_as_such(tmp_path: Path) -> None:
    make_distribution(
        tmp_path,
        NAME,
        "1.0",
        {"shout": "strands_tool_shout:provide"},
        {"strands_tool_shout/__init__.py": "def provide():\n    return made()\n"},
    )
    (locked,) = lock_site(tmp_path).distributions[NAME].tools.values()
    assert locked.after_load


def test_every_member_of_a_suite_has_a_definition(tmp_path: Path) -> None:
    entry = "strands_tool_shout:Suite"
    members = [tool(name, entry, kind="class") for name in ("loud", "soft")]
    make_distribution(
        tmp_path, NAME, "1.0", {"shout": entry}, {"strands_tool_shout/__init__.py": ""}, manifest_of(NAME, *members)
    )
    assert sorted(lock_site(tmp_path).distributions[NAME].tools) == ["shout.loud", "shout.soft"]


def test_two_installations_of_one_wheel_have_one_lock(tmp_path: Path) -> None:
    wheel = tmp_path / "strands_tool_shout-1.0-py3-none-any.whl"
    unpacked = tmp_path / "unpacked"
    package = install(unpacked, "shout")
    dist_info = unpacked / "strands_tool_shout-1.0.dist-info"
    (dist_info / "INSTALLER").unlink()
    points = (dist_info / "entry_points.txt").read_text(encoding="utf-8")
    script = f"{points}\n[console_scripts]\nshout = strands_tool_shout.shout:shout\n"
    (dist_info / "entry_points.txt").write_text(script, encoding="utf-8")
    (dist_info / "WHEEL").write_text("Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n", encoding="utf-8")
    write_record(dist_info, package, installer=False)
    with zipfile.ZipFile(wheel, "w") as opened:
        for path in sorted(path for path in unpacked.rglob("*") if path.is_file()):
            opened.write(path, path.relative_to(unpacked))
    first, second = tmp_path / "first", tmp_path / "second"
    by_uv(wheel, first)
    by_uv(wheel, second, "--compile-bytecode", "--link-mode", "copy")
    assert list(second.rglob("*.pyc"))
    assert files(first) == files(second)
    assert "dist-info/WHEEL" in files(first)
    assert lock_site(first) == lock_site(second)


def by_uv(wheel: Path, site: Path, *options: str) -> None:
    """Install a wheel as a person does, without an index."""
    command = [sys.executable, "-m", "uv", "pip", "install", "--no-index", "--no-deps", "--quiet", "--no-cache"]
    subprocess.run([*command, *options, "--target", str(site), str(wheel)], check=True, timeout=300)


def in_namespace(site: Path) -> Path:
    """Install a tool whose module, with a helper, is in a namespace package; return its folder."""
    code = {"nsroot/part/shout.py": module_source("shout"), "nsroot/part/helper.py": ""}
    dist_info = make_distribution(site, NAME, "1.0", {"shout": "nsroot.part.shout"}, code)
    write_record(dist_info, site / "nsroot")
    return site / "nsroot" / "part"


@pytest.mark.parametrize(
    "added", ["shout/__init__.py", "__init__.py", "../__init__.py", f"shout{SUFFIX}", f"helper{SUFFIX}"]
)
def test_what_python_would_load_instead_of_a_module_of_a_namespace_package_shows(tmp_path: Path, added: str) -> None:
    part = in_namespace(tmp_path)
    before = files(tmp_path)
    PathFinder.invalidate_caches()
    path = part / added
    path.parent.mkdir(exist_ok=True)
    path.write_text("EVIL = 1\n", encoding="utf-8")
    name = path.resolve().relative_to(tmp_path).as_posix()
    assert {name for name, _ in files(tmp_path).items() - before.items()} == {name}


@pytest.mark.parametrize("name", ["shout.py", "helper.py"])
def test_an_earlier_portion_of_a_namespace_package_shows(tmp_path: Path, name: str) -> None:
    site, earlier = tmp_path / "site", tmp_path / "earlier"
    in_namespace(site)
    before = dict(lock_site(earlier, site).distributions[NAME].files)
    (earlier / "nsroot" / "part").mkdir(parents=True)
    (earlier / "nsroot" / "part" / name).write_text("EVIL = 1\n", encoding="utf-8")
    PathFinder.invalidate_caches()
    now = lock_site(earlier, site).distributions[NAME].files
    assert {name for name, _ in now.items() - before.items()} == {f"nsroot/part/{name}"}


def test_what_a_later_portion_of_a_namespace_package_repeats_does_not(tmp_path: Path) -> None:
    site, later = tmp_path / "site", tmp_path / "later"
    in_namespace(site)
    before = lock_site(site).distributions[NAME].files
    (in_namespace(later) / "helper.py").write_text("ANOTHER = 1\n", encoding="utf-8")
    assert lock_site(site, later).distributions[NAME].files == before


def test_an_extension_module_beside_a_single_module_shows(tmp_path: Path) -> None:
    dist_info = make_distribution(tmp_path, NAME, "1.0", {"shout": "onemod"}, {"onemod.py": module_source("shout")})
    write_record(dist_info, more="onemod.py,,\n")
    before = files(tmp_path)
    assert "onemod.py" in before
    PathFinder.invalidate_caches()
    (tmp_path / f"onemod{SUFFIX}").write_bytes(b"\x7fELF")
    assert files(tmp_path).keys() - before.keys() == {f"onemod{SUFFIX}"}


def test_a_package_that_hides_another_earlier_on_the_path_shows(tmp_path: Path) -> None:
    site, earlier = tmp_path / "site", tmp_path / "earlier"
    install(site, "shout")
    before = dict(lock_site(earlier, site).distributions[NAME].files)
    (earlier / "strands_tool_shout").mkdir(parents=True)
    (earlier / "strands_tool_shout" / "__init__.py").write_text("EVIL = 1\n", encoding="utf-8")
    PathFinder.invalidate_caches()
    assert lock_site(earlier, site).distributions[NAME].files != before


@pytest.mark.parametrize(
    ("paths", "modules"),
    [
        (["a/__init__.py", "a/b.py", "a/b/__init__.py", "a/c/d.py"], {"a"}),
        (["a/b/c.py", "a/b/d/__init__.py", "a/b/d/e.py", "a/data.txt"], {"a.b.c", "a.b.d"}),
        (["one.py", f"two{SUFFIX}", "a-b/c.py", "data/x.json"], {"one", "two"}),
    ],
)
def test_what_decides_on_imports(paths: list[str], modules: set[str]) -> None:
    assert modules_of(set(paths)) == modules
