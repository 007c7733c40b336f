"""`strands plugin install`, `upgrade`, `uninstall`: shown first, exactly what was shown, and no files of others."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from strands_cli.default_parts import OWNERS
from strands_cli.parts.named_parts import KINDS
from tests.cli.clean import CLONE, SITE
from tests.distributions import tool
from tests.distributions.wheels import make_wheel, tool_wheel
from tests.installing_person import Person

pytestmark = pytest.mark.wheels


def test_a_wheel_is_installed_and_an_edited_one_of_the_same_version_takes_its_place(
    person: Person, tmp_path: Path
) -> None:
    first = person.strands("plugin", "install", tool_wheel(tmp_path, "shout"), "--yes")
    assert (first.code, first.out) == (0, "installed strands-tool-shout 1.0\n"), first.err
    assert re.search(r"^  tool shout: Does shout\.\n    \S.*; \S", first.err, re.MULTILINE)
    assert "shout" in person.strands("list-tools").out
    (other := tmp_path / "other").mkdir()
    again = person.strands("plugin", "install", tool_wheel(other, "shout", description="Shouts."), "--yes")
    assert again.code == 0, again.err
    assert re.search(r'\bdescription .*"Does shout\.".*"Shouts\."', again.err)
    assert "Shouts." in (person.site / "strands_tool_shout" / "strands_tools.json").read_text()


def test_by_name_it_comes_from_the_index_that_the_installer_is_set_to(person: Person, tmp_path: Path) -> None:
    (shelf := tmp_path / "shelf").mkdir()
    tool_wheel(shelf, "shout")
    index = {"PIP_FIND_LINKS": str(shelf), "UV_FIND_LINKS": str(shelf), "UV_NO_INDEX": "1"}
    done = person.strands("plugin", "install", "strands-tool-shout", "--yes", **index)
    assert done.code == 0, done.err
    listed = person.strands("plugin", "list", "--json").document["plugins"]
    assert {one["name"]: one["sources"] for one in listed}["strands-tool-shout"] == ["index"]
    for command in (("install", "strands-tool-shout"), ("upgrade", "strands-tool-shout")):
        done = person.strands("plugin", *command, **index)
        assert (done.code, "strands-tool-shout 1.0" in done.out) == (0, True), done.err
    tool_wheel(shelf, "shout", "1.1", annotations={"destructiveHint": True})
    done = person.strands("plugin", "upgrade", "strands-tool-shout", "--yes", **index)
    assert done.code == 0, done.err
    assert "destructiveHint" in done.err
    assert (person.site / "strands_tool_shout-1.1.dist-info").exists()
    assert person.strands("plugin", "uninstall", "strands_tool_shout", "-y").out == "uninstalled strands-tool-shout\n"
    assert not person.has("strands-tool-shout")


def source_of(folder: Path, wheel: Path, sprung: Path) -> Path:
    """Write a project whose build leaves a file and gives a wheel that is made already."""
    folder.mkdir()
    name, version = wheel.name.split("-")[:2]
    (folder / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (folder / "pyproject.toml").write_text(
        f'[project]\nname = "{name}"\nversion = "{version}"\n'
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "backend.py").write_text(
        f"import shutil\n\nopen({str(sprung)!r}, 'w').close()\n\n\n"
        "def build_wheel(folder, config_settings=None, metadata_directory=None):\n"
        f"    shutil.copy({str(wheel)!r}, folder)\n    return {wheel.name!r}\n"
    )
    return folder


def test_a_folder_is_built_only_with_consent_and_then_treated_like_its_wheel(anyone: Person, tmp_path: Path) -> None:
    source_of(anyone.work / "quiet", tool_wheel(tmp_path, "quiet"), tmp_path / "sprung")
    refused = anyone.strands("plugin", "install", "./quiet")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert not (tmp_path / "sprung").exists()
    done = anyone.strands("plugin", "install", "./quiet", "--yes")
    assert done.code == 0, done.err
    assert anyone.has("strands-tool-quiet")


def test_where_the_index_has_no_wheel_none_is_built_without_consent(person: Person, tmp_path: Path) -> None:
    (shelf := tmp_path / "shelf").mkdir()
    source = source_of(tmp_path / "strands_tool_quiet-1.0", tool_wheel(tmp_path, "quiet"), tmp_path / "sprung")
    with tarfile.open(shelf / "strands_tool_quiet-1.0.tar.gz", "w:gz") as archive:
        archive.add(source, source.name)
    index = {"PIP_FIND_LINKS": str(shelf), "UV_FIND_LINKS": str(shelf), "UV_NO_INDEX": "1"}
    assert person.strands("plugin", "install", "strands-tool-quiet", **index).code == 18
    assert not (tmp_path / "sprung").exists()
    done = person.strands("plugin", "install", "strands-tool-quiet", "--yes", **index)
    assert done.code == 0, done.err
    assert (tmp_path / "sprung").exists()
    assert person.has("strands-tool-quiet")


def test_without_a_person_nothing_happens_unless_yes_was_passed(anyone: Person, tmp_path: Path) -> None:
    asked = anyone.strands("plugin", "install", tool_wheel(tmp_path, "shout"))
    assert asked.code == 2
    assert "tool shout" in asked.err
    assert "--yes" in asked.err
    assert not anyone.has("strands-tool-shout")


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize(("answer", "there"), [("", False), ("no", False), ("y", True)])
def test_a_person_is_asked_after_everything_was_shown(anyone: Person, tmp_path: Path, answer: str, there: bool) -> None:
    from tests.cli.terminal import Terminal

    wheel = tool_wheel(tmp_path, "shout")
    command = [str(anyone.scripts / "strands"), "plugin", "install", str(wheel)]
    with Terminal(command, anyone.work, anyone.environ, 200) as terminal:
        terminal.wait_for(r"tool shout")
        terminal.wait_for(r"strands-tool-shout 1\.0 .*\buv\? \[y/N\]")
        terminal.type(f"{answer}\r")
        terminal.end()
    assert anyone.has("strands-tool-shout") == there


def test_what_is_shown_imports_nothing_and_runs_nothing(anyone: Person, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n"
    starts = ("sitecustomize.py", "usercustomize/__init__.py")
    files = dict.fromkeys(("strands_tool_trap/__init__.py", *starts), trap) | {"trap.pth": f"import os; {trap}"}
    shown = anyone.strands("plugin", "install", tool_wheel(tmp_path, "trap", files=files))
    assert shown.code == 3
    assert [f"  {name}: " in shown.err for name in ("trap.pth", "sitecustomize.py", "usercustomize")] == [True] * 3
    assert not (tmp_path / "sprung").exists()


def test_what_other_programs_would_load_or_start_is_shown(anyone: Person, tmp_path: Path) -> None:
    groups = "[pytest11]\ntrap = trap\n[distutils.commands]\nbuild = trap:B\n[console_scripts]\nsh = trap:main\n"
    points = f"[strands_cli.tools]\ntrap = strands_tool_trap\n{groups}"
    wheel = make_wheel(tmp_path, "strands-tool-trap", "1.0", points, {"strands_tool_trap/__init__.py": ""})
    shown = anyone.strands("plugin", "install", wheel)
    names = ["distutils.commands: build", "pytest11: trap"]
    assert [name for name in names if f"  entry point {name}: " in shown.err] == names
    assert "strands_cli.tools" not in shown.err
    assert re.search(r"program sh: hides /\S*/sh ", shown.err)
    known = json.loads(anyone.strands("plugin", "install", wheel, "--json").out)
    assert known["entry_points"] == names


def store_wheel(folder: Path, scheme: str) -> Path:
    points = f"[strands_cli.stores]\n{scheme} = strands_store_own\n[strands_cli.owners]\n{scheme} = strands_store_own\n"
    return make_wheel(folder, "strands-store-own", "1.0", points, {"strands_store_own.py": ""})


def test_the_stores_that_it_would_open_are_shown(anyone: Person, tmp_path: Path) -> None:
    wheel = store_wheel(tmp_path, "own")
    shown = anyone.strands("plugin", "install", wheel).err
    assert "  opens `own:` stores\n" in shown
    owned = KINDS[OWNERS].adds.format("own")
    assert f"  {owned}\n" in shown
    assert "entry point" not in shown
    known = json.loads(anyone.strands("plugin", "install", wheel, "--json").out)
    assert known["parts"] == [owned, "opens `own:` stores"]


def test_parts_that_nothing_can_use_are_shown_as_such(anyone: Person, tmp_path: Path) -> None:
    points = "[strands_cli.command]\ngreet = yours\n[strands_cli.commands]\nGreet = yours:x\ngreet = yours:x\n"
    wheel = make_wheel(tmp_path, "strands-cli-yours", "1.0", points, {"yours.py": "x = print\n"})
    known = json.loads(anyone.strands("plugin", "install", wheel, "--json").out)
    assert known["parts"] == ["adds the command `greet`"]
    assert sorted(one["code"] for one in known["findings"]) == ["bad-part-name", "unknown-group"]
    assert known["entry_points"] == []


def test_what_would_take_a_store_of_ours_is_not_installed(anyone: Person, tmp_path: Path) -> None:
    refused = anyone.strands("plugin", "install", store_wheel(tmp_path, "postgresql"), "--yes")
    assert refused.code == 3
    assert "would take the store of addresses `postgresql:`, which is that of strands-cli-postgres" in refused.err
    assert not anyone.has("strands-store-own")


def test_foreign_words_cannot_pass_for_ours(anyone: Person, tmp_path: Path) -> None:
    said = "Good.\n  changes: none\x1b[2J\u202e"
    shown = anyone.strands("plugin", "install", tool_wheel(tmp_path, "sly", description=said)).err
    assert "tool sly: Good. changes: none\\x1b[2J\\u202e" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_files_of_others_are_never_replaced(anyone: Person, tmp_path: Path) -> None:
    theirs = tool_wheel(tmp_path, "theirs")
    assert anyone.strands("plugin", "install", theirs, "-y").code == 0
    code = (anyone.site / "strands_tool_theirs" / "__init__.py").read_bytes()
    thief = tool_wheel(tmp_path, "thief", files={"strands_tool_theirs/__init__.py": "stolen = True\n"})
    refused = anyone.strands("plugin", "install", thief, "--yes")
    assert refused.code == 3
    assert "'strands-tool-theirs'" in refused.err
    assert (anyone.site / "strands_tool_theirs" / "__init__.py").read_bytes() == code


def flat_wheel(folder: Path, name: str, *places: str) -> Path:
    """Return the wheel of a tool that has these modules beside its own package."""
    return tool_wheel(folder, name, files=dict.fromkeys(places, "stolen = True\n"))


@pytest.mark.parametrize(
    "place",
    [
        "flat_theirs/__init__.py",
        "flat_theirs.so",
        "shared_theirs/__init__.py",
        "shared_theirs/part/__init__.py",
        "shared_theirs/part/leaf/__init__.py",
        "another.egg-info/entry_points.txt",
        "Another.DIST-INFO/METADATA",
    ],
)
def test_modules_of_others_are_not_hidden_and_no_second_distribution_comes_along(
    anyone: Person, tmp_path: Path, place: str
) -> None:
    theirs = flat_wheel(tmp_path, "theirs", "flat_theirs.py", "shared_theirs/part/leaf.py")
    assert anyone.strands("plugin", "install", theirs, "-y").code == 0
    refused = anyone.strands("plugin", "install", flat_wheel(tmp_path, "thief", place), "--yes")
    assert refused.code == 3, refused.err
    assert not anyone.has("strands_tool_thief")
    again = flat_wheel(tmp_path, "theirs", "flat_theirs/__init__.py", "shared_theirs/__init__.py")
    assert anyone.strands("plugin", "install", again, "-y").code == 0, "its own modules may become packages"


@pytest.mark.parametrize("scheme", ["", "strands_tool_starter-1.0.data/purelib/"])
@pytest.mark.parametrize("name", ["starter.pth", "sitecustomize.py", "usercustomize/__init__.py"])
def test_no_plugin_runs_code_at_every_start(anyone: Person, tmp_path: Path, scheme: str, name: str) -> None:
    refused = anyone.strands("plugin", "install", flat_wheel(tmp_path, "starter", f"{scheme}{name}"), "--yes")
    assert refused.code == 3, refused.err
    assert name.partition("/")[0] in refused.err
    assert not anyone.has("strands_tool_starter")


def test_a_file_that_an_installer_would_replace_by_another_of_the_wheel_is_refused(
    anyone: Person, tmp_path: Path
) -> None:
    inside = "strands_tool_double-1.0.data/purelib/strands_tool_double/__init__.py"
    refused = anyone.strands("plugin", "install", flat_wheel(tmp_path, "double", inside), "--yes")
    assert refused.code == 3, refused.err
    assert "strands_tool_double/__init__.py" in refused.err


def test_nothing_is_added_to_a_package_of_another_distribution(anyone: Person, tmp_path: Path) -> None:
    assert anyone.strands("plugin", "install", tool_wheel(tmp_path, "theirs"), "-y").code == 0
    for place in ("strands_tool_theirs/_more.py", "strands_tool_guest-1.0.data/platlib/strands_tool_theirs/_more.py"):
        guest = tool_wheel(tmp_path, "guest", files={place: "stolen = True\n"})
        refused = anyone.strands("plugin", "install", guest, "--yes")
        assert refused.code == 3, refused.err
        assert "'strands_tool_theirs' of another distribution" in refused.err
        shutil.rmtree(tmp_path / "tree-strands-tool-guest-1.0")


def test_strands_cli_itself_is_neither_hidden_nor_its_program_replaced(anyone: Person, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    hiding = tool_wheel(tmp_path / "a", "hiding", files={"strands_cli/__init__.py": "# empty\n"})
    refused = anyone.strands("plugin", "install", hiding, "--yes")
    assert refused.code == 3
    assert "'strands_cli'" in refused.err
    program = (
        "[strands_cli.tools]\ngreedy = strands_tool_greedy\n[console_scripts]\nstrands = strands_tool_greedy:run\n"
    )
    greedy = make_wheel(tmp_path, "strands-tool-greedy", "1.0", program, {"strands_tool_greedy/__init__.py": ""})
    refused = anyone.strands("plugin", "install", greedy, "--yes")
    assert refused.code == 3
    assert str(anyone.scripts / "strands") in refused.err


def test_a_program_whose_name_is_a_path_is_refused(anyone: Person, tmp_path: Path) -> None:
    points = "[strands_cli.tools]\nsly = strands_tool_sly\n[console_scripts]\n../sly/strands = strands_tool_sly:run\n"
    wheel = make_wheel(tmp_path, "strands-tool-sly", "1.0", points, {"strands_tool_sly/__init__.py": ""})
    refused = anyone.strands("plugin", "install", wheel, "--yes")
    assert refused.code == 3, refused.err
    assert "'../sly/strands'" in refused.err


LIBRARY = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


@pytest.mark.parametrize(
    "place",
    [
        f"data/{LIBRARY}/zz_evil.pth",
        f"data/{LIBRARY}/strands_cli/_evil.py",
        "data/bin/ls2",
        f"data/{LIBRARY}/../sitecustomize.py".replace("site-packages/../", ""),
        "purelib/strands_cli/_evil.py",
        "data/pyvenv.cfg",
        "data/pip.conf",
        "unknown/file.txt",
    ],
)
def test_data_does_not_land_where_code_or_programs_are(anyone: Person, tmp_path: Path, place: str) -> None:
    inside = f"strands_tool_sly-1.0.data/{place}"
    wheel = tool_wheel(tmp_path, "sly", files={inside: "import os; open('evil', 'w')\n"})
    refused = anyone.strands("plugin", "install", wheel, "--yes")
    assert refused.code == 3, refused.err
    assert Path(place).name in refused.err or "package" in refused.err
    assert not anyone.has("strands_tool_sly")


def test_data_and_nested_scripts_are_shown(anyone: Person, tmp_path: Path) -> None:
    files = {"share/man/man1/sly.1": "data", "sly.h": "headers", "sly": "scripts"}
    inside = {f"strands_tool_sly-1.0.data/{scheme}/{name}": "x" for name, scheme in files.items()}
    installed = anyone.strands("plugin", "install", tool_wheel(tmp_path, "sly", files=inside), "--yes")
    assert installed.code == 0, installed.err
    assert re.search(r"^  file .*share/man/man1/sly\.1: outside", installed.err, re.MULTILINE)
    assert re.search(r"^  file .*sly\.h: outside", installed.err, re.MULTILINE)
    assert re.search(r"^  program sly$", installed.err, re.MULTILINE)
    landed = re.findall(r"^  file (.*): outside", installed.err, re.MULTILINE)
    assert len(landed) == 2
    assert all(Path(path).read_text() == "x" for path in landed), "it is where the preview said"


def test_a_wheel_that_leaves_its_folder_is_refused(anyone: Person, tmp_path: Path) -> None:
    wheel = tool_wheel(tmp_path, "climber")
    with zipfile.ZipFile(wheel, "a") as opened:
        opened.writestr("../../climbed.py", "")
    refused = anyone.strands("plugin", "install", wheel, "--yes")
    assert refused.code == 3
    assert "../../climbed.py" in refused.err
    wheel.write_bytes(b"no wheel at all")
    refused = anyone.strands("plugin", "install", wheel, "--yes")
    assert (refused.code, wheel.name in refused.err) == (3, True)


def test_what_policy_denies_is_not_even_downloaded(anyone: Person, tmp_path: Path) -> None:
    (anyone.work / "strands-policy.yaml").write_text(
        'version: 1\nrules:\n  - {deny: "*", distribution: "strands-tool-sh*", reason: ask Ada}\n'
        '  - {deny: "*", capability: network}\n'
    )
    refused = anyone.strands("plugin", "install", "strands-tool-shout", "--yes")
    assert (refused.code, "ask Ada" in refused.err) == (21, True), "no index is there: a download would have failed"
    wheel = tool_wheel(tmp_path, "caller", strands_cli={"capabilities": {"network": ["*"]}})
    refused = anyone.strands("plugin", "install", wheel, "--yes")
    assert refused.code == 21
    assert "strands-policy.yaml:4" in refused.err
    (anyone.work / "strands-policy.yaml").write_text("rules: 7\n")
    assert anyone.strands("plugin", "install", tool_wheel(tmp_path, "other"), "--yes").code == 21


def test_what_the_installer_says_is_shown_when_it_fails(person: Person) -> None:
    failed = person.strands("plugin", "install", "strands-tool-nowhere", "--yes")
    assert failed.code == 18
    assert "strands-tool-nowhere" in failed.err


def test_a_dependency_that_cannot_be_had_leaves_everything_as_it_was(person: Person, tmp_path: Path) -> None:
    record = "strands_tool_needy-1.0.dist-info/METADATA"
    metadata = "Metadata-Version: 2.1\nName: strands-tool-needy\nVersion: 1.0\nRequires-Dist: nowhere-to-be-had>=3\n"
    wheel = tool_wheel(tmp_path, "needy", files={record: metadata})
    failed = person.strands("plugin", "install", wheel, "--yes")
    assert failed.code == 18
    assert re.search(r"^  \S.* nowhere-to-be-had>=3$", failed.err, re.MULTILINE)
    assert not person.has("strands-tool-needy")


def test_the_current_directory_chooses_neither_pip_nor_index(person: Person, tmp_path: Path) -> None:
    (person.work / "pip.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w').close()\n")
    (shelf := tmp_path / "shelf").mkdir()
    tool_wheel(shelf, "shout")
    (person.work / "uv.toml").write_text(f"no-index = true\nfind-links = [{json.dumps(str(shelf))}]\n")
    assert person.strands("plugin", "install", "strands-tool-shout", "--yes").code == 18
    assert not (tmp_path / "sprung").exists()
    assert not person.has("strands-tool-shout")


SWAP = """
import pathlib, sys
from strands_cli.api import NotEquipped, PluginInstaller
from strands_cli_index.installing.download import fetch, install_fetched

wheel, other, folder = map(pathlib.Path, sys.argv[1:])
installer = PluginInstaller(str(wheel))
shown = fetch(installer, folder, lambda reason: False)
wheel.write_bytes(other.read_bytes())
try:
    install_fetched(shown, installer, folder, lacks=False)
except NotEquipped as error:
    print(error.message)
"""


def test_a_wheel_that_was_swapped_after_it_was_shown_is_not_installed(person: Person, tmp_path: Path) -> None:
    for name in ("other", "folder"):
        (tmp_path / name).mkdir()
    wheel, other = tool_wheel(tmp_path, "shout"), tool_wheel(tmp_path / "other", "shout", description="Steals.")
    command = [str(person.scripts / "python"), "-c", SWAP, str(wheel), str(other), str(tmp_path / "folder")]
    ran = subprocess.run(command, cwd=person.work, env=person.environ, capture_output=True, text=True, check=False)
    assert "hash" in ran.stdout.lower(), ran.stdout + ran.stderr
    assert not person.has("strands-tool-shout")


def test_what_it_depends_on_is_installed_with_it(person: Person, tmp_path: Path) -> None:
    (shelf := tmp_path / "shelf").mkdir()
    make_wheel(shelf, "needed-library", files={"needed_library.py": ""})
    record = "strands_tool_needy-1.0.dist-info/METADATA"
    metadata = "Metadata-Version: 2.1\nName: strands-tool-needy\nVersion: 1.0\nRequires-Dist: needed-library>=1\n"
    tool_wheel(shelf, "needy", files={record: metadata})
    index = {"PIP_FIND_LINKS": str(shelf), "UV_FIND_LINKS": str(shelf), "UV_NO_INDEX": "1"}
    done = person.strands("plugin", "install", "strands-tool-needy", "--yes", **index)
    assert done.code == 0, done.err
    assert re.search(r"^  \S.* needed-library>=1$", done.err, re.MULTILINE)
    assert person.has("needed-library")
    assert person.has("strands-tool-needy")


def test_a_distribution_without_tools_is_installed_only_by_force(anyone: Person, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path, "just-a-library", files={"just_a_library.py": ""})
    refused = anyone.strands("plugin", "install", wheel, "--yes")
    assert (refused.code, "plugin-empty" in refused.err) == (3, True)
    assert anyone.strands("plugin", "install", wheel, "--yes", "--force").code == 0
    refused = anyone.strands("plugin", "uninstall", "just-a-library", "--yes")
    assert (refused.code, "pip" in refused.err, "just-a-library" in refused.err) == (2, True, True)


def test_tools_of_plain_python_are_named_with_the_way_to_use_them(anyone: Person, tmp_path: Path) -> None:
    tool = 'from strands import tool\n\n@tool\ndef search(text: str) -> str:\n    """Search."""\n    return text\n'
    wheel = make_wheel(tmp_path, "plain-tools", files={"plain_tools.py": tool})
    refused = anyone.strands("plugin", "install", wheel, "--yes")
    assert refused.code == 3
    assert "strands plugin adopt plain-tools" in refused.err
    adopted = anyone.strands("plugin", "adopt", wheel, "--install", "--yes", "--project")
    assert adopted.code == 0, adopted.err
    called = anyone.strands("tools", "run", "search", "--input", '{"text": "found"}')
    assert (called.code, "found" in called.out) == (0, True)
    assert anyone.strands("plugin", "unadopt", "plain-tools", "--project").code == 0


def test_a_hook_plugin_is_announced_and_stays_off(anyone: Person, tmp_path: Path) -> None:
    points = "[strands_cli.hooks]\naudit = strands_hooks_audit\n"
    wheel = make_wheel(tmp_path, "strands-hooks-audit", "1.0", points, {"strands_hooks_audit/__init__.py": ""})
    done = anyone.strands("plugin", "install", wheel, "--yes")
    assert done.code == 0, done.err
    assert re.search(r"\baudit: .*\bpolicy", done.err)
    plugins = {one["name"]: one for one in anyone.strands("plugin", "list", "--json").document["plugins"]}
    listed = plugins["strands-hooks-audit"]
    assert (listed["hooks"], listed["hooks_on"]) == (["audit"], None)


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
@pytest.mark.parametrize("person", ["pip"], indirect=True)
def test_the_provider_of_local_models_is_shown_and_installed_by_one_answer(person: Person, tmp_path: Path) -> None:
    from tests.cli.terminal import Terminal

    source = CLONE / "packages" / "strands-cli-local"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "built")]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = (tmp_path / "built").glob("*.whl")
    # Its runtime in name only: what is tested is how it gets here.
    runtime = make_wheel(tmp_path, "xllamacpp", "2026.10", files={"xllamacpp.py": ""})
    flow = {
        "version": 2,
        "name": "small",
        "runtime": {"provider": "local", "model_id": "small.gguf"},
        "agents": {"writer": {"prompt": "Answer."}},
        "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "Hello"}]}},
    }
    (person.work / "flow.yaml").write_text(json.dumps(flow))
    assert person.strands("plan", "flow.yaml").code == 3
    environ = {**person.environ, "PIP_FIND_LINKS": str(runtime.parent)}
    command = [str(person.scripts / "strands"), "plugin", "install", str(wheel)]
    with Terminal(command, person.work, environ, 200) as terminal:
        terminal.wait_for(r"adds the provider `local`")
        terminal.wait_for(r"also installs xllamacpp")
        terminal.wait_for(r"strands-cli-local .*\bpip\? \[y/N\]")
        terminal.type("y\r")
        terminal.end()
    planned = person.strands("plan", "flow.yaml")
    assert planned.code == 0, planned.err
    assert "local/small.gguf" in planned.out
    ran = person.strands("run", "flow.yaml")
    assert (ran.code, "small.gguf" in ran.err) == (3, True)


def test_two_distributions_with_one_tool_are_reported_before(anyone: Person, tmp_path: Path) -> None:
    assert anyone.strands("plugin", "install", tool_wheel(tmp_path, "shout"), "-y").code == 0
    files = {"loud/__init__.py": ""}
    manifest = {"manifest_version": 1, "distribution": "loud", "tools": [tool("shout", "loud")]}
    twin = make_wheel(tmp_path, "loud", "1.0", {"shout": "loud"}, files, manifest)
    assert re.search(r"'loud' \w+ 'strands-tool-shout'", anyone.strands("plugin", "install", twin).err)


@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="the tests themselves run outside an environment")
def test_outside_a_virtual_environment_nothing_is_installed(tmp_path: Path) -> None:
    wheel = tool_wheel(tmp_path, "shout")
    python = Path(sys.base_prefix) / ("python.exe" if os.name == "nt" else f"bin/python3.{sys.version_info[1]}")
    sources = (CLONE / "src", CLONE / "packages" / "strands-cli-index" / "src", SITE)
    path = os.pathsep.join(map(str, sources))
    environ = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    command = [str(python), "-m", "strands_cli", "plugin", "install", str(wheel), "--yes"]
    ran = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 18, ran.stderr
    assert "python3 -m venv" in ran.stderr
    assert "break-system-packages" not in ran.stderr
