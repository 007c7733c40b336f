"""`strands plugin list` and `plugin verify`: what is installed, and whether it is still what was installed."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.cli.strands import Folder
from tests.distributions import booby_trapped, make_distribution, module_source, sound
from tests.distributions.wheels import make_wheel, tool_wheel

AUDIT = """\
from strands_cli.hooks import hookimpl


@hookimpl
def strands_register_tools(context):
    return []
"""


def unpack(folder: Folder, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(folder.site)


def switch_on(folder: Folder, name: str) -> dict[str, str]:
    """Write the person's own policy file and return the environment in which it is found."""
    file = folder.root / "config" / "strands-cli" / "policy.yaml"
    file.parent.mkdir(parents=True, mode=0o755)
    file.write_text(f"version: 1\nhooks: [{name}]\n")
    return {"XDG_CONFIG_HOME": str(folder.root / "config"), "APPDATA": str(folder.root / "config")}


@pytest.fixture
def mine(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Return a folder whose home is its own."""
    (folder.root / "home").mkdir()
    return folder


def test_the_list_says_version_source_tools_hooks_and_what_cannot_be_used(mine: Folder, tmp_path: Path) -> None:
    sound(mine.site, "shout", "1.4")
    sound(mine.site, "needy", requires={"env": ["NEEDY_KEY"]})
    booby_trapped(mine.site, "trap", tmp_path / "sprung")
    points = "[strands_cli.hooks]\naudit = strands_hooks_audit\n"
    points += "[strands_cli.providers]\nhomemade = strands_hooks_audit:ROW\n"
    points += "[strands_cli.commands]\naudit = strands_hooks_audit:show\nrun = strands_hooks_audit:show\n"
    unpack(mine, make_wheel(tmp_path, "strands-hooks-audit", "2.0", points, {"strands_hooks_audit.py": AUDIT}))
    off = mine.strands("plugin", "list").out
    lines = {line.split()[0]: line for line in reversed(off.splitlines())}
    assert "1.4" in lines["strands-tool-shout"]
    assert "PYTHONPATH" in lines["strands-tool-shout"]
    assert lines["strands-tool-needy"].endswith("1 unmet")
    assert " off " in lines["strands-hooks-audit"]
    assert "strands-hooks-audit adds the command `audit`, adds the provider `homemade`" in off
    assert not (tmp_path / "sprung").exists()
    on = mine.strands("plugin", "list", "--json", **switch_on(mine, "strands-hooks-audit")).document
    audit = next(one for one in on["plugins"] if one["name"] == "strands-hooks-audit")
    assert audit["parts"] == [
        {"group": "strands_cli.commands", "name": "audit"},
        {"group": "strands_cli.providers", "name": "homemade"},
    ]
    assert "policy.yaml:2" in audit["hooks_on"]
    assert [finding["code"] for finding in on["findings"] if finding["code"] == "part-taken"] == ["part-taken"]


def test_a_broken_policy_file_is_reported_and_hides_no_plugin(mine: Folder) -> None:
    sound(mine.site, "shout")
    mine.write("strands-policy.yaml", "rules: 7\n")
    listed = mine.strands("plugin", "list")
    assert listed.code == 0
    assert "strands-tool-shout" in listed.out
    assert "bad-policy" in listed.err


def test_what_was_installed_verifies_and_bytecode_is_not_a_change(mine: Folder, tmp_path: Path) -> None:
    unpack(mine, tool_wheel(tmp_path, "shout"))
    (cache := mine.site / "strands_tool_shout" / "__pycache__").mkdir()
    (cache / "__init__.cpython-311.pyc").write_bytes(b"code")
    done = mine.strands("plugin", "verify", "strands_tool_shout", "--json")
    assert done.code == 0
    (one,) = done.document["distributions"]
    assert (one["name"], one["ok"], one["findings"], one["files"]) == ("strands-tool-shout", True, [], 5)


@pytest.mark.parametrize(
    ("spoil", "code", "path"),
    [
        (lambda package: (package / "__init__.py").write_text("changed = True\n"), "file-changed", "__init__.py"),
        (lambda package: (package / "strands_tools.json").unlink(), "file-missing", "strands_tools.json"),
        (lambda package: (package / "more.py").write_text(""), "file-added", "more.py"),
    ],
    ids=["changed", "missing", "added"],
)
def test_what_is_not_as_it_was_installed_is_named(mine: Folder, tmp_path: Path, spoil, code: str, path: str) -> None:
    unpack(mine, tool_wheel(tmp_path, "shout"))
    spoil(mine.site / "strands_tool_shout")
    done = mine.strands("plugin", "verify", "--json", "strands-tool-shout")
    assert done.code == 3
    (finding,) = done.document["distributions"][0]["findings"]
    assert (finding["code"], Path(finding["file"]).name) == (code, path)
    done = mine.strands("plugin", "verify", "strands-tool-shout")
    assert (done.code, "strands-tool-shout" in done.out) == (3, True)


def test_a_byte_that_keeps_the_size_is_noticed_and_so_is_a_weak_hash(mine: Folder, tmp_path: Path) -> None:
    unpack(mine, tool_wheel(tmp_path, "shout"))
    code = mine.site / "strands_tool_shout" / "__init__.py"
    code.write_bytes(code.read_bytes().replace(b"Does", b"Doze"))
    assert mine.strands("plugin", "verify", "strands-tool-shout").code == 3
    unpack(mine, tool_wheel(tmp_path, "shout"))
    assert mine.strands("plugin", "verify", "strands-tool-shout").code == 0
    record = mine.site / "strands_tool_shout-1.0.dist-info" / "RECORD"
    record.write_text(record.read_text().replace("sha256=", "md5="))
    assert mine.strands("plugin", "verify", "strands-tool-shout").code == 3


def test_without_names_what_a_plugin_requires_is_verified_too(mine: Folder, tmp_path: Path) -> None:
    kit = {"shout_kit/__init__.py": "LOUD = True\n"}
    inner = {"shout_inner/__init__.py": "DEEP = 1\n"}
    unpack(mine, make_wheel(tmp_path, "shout-inner", files=inner))
    unpack(mine, make_wheel(tmp_path, "shout-kit", files=kit, requires=["shout-inner"]))
    unpack(mine, make_wheel(tmp_path, "bystander", files={"bystander/__init__.py": ""}))
    points = {"shout": "strands_tool_shout"}
    files = {"strands_tool_shout/__init__.py": module_source("shout")}
    needs = ["Shout_Kit>=1", "absent", "pydantic"]
    unpack(mine, make_wheel(tmp_path, "strands-tool-shout", "1.0", points, files, requires=needs))
    sound_one = mine.strands("plugin", "verify", "--json")
    assert sound_one.code == 0
    names = [one["name"] for one in sound_one.document["distributions"]]
    assert {"strands-tool-shout", "shout-kit", "shout-inner"} <= set(names)
    # What strands-cli requires itself changes with it; what no plugin requires is not theirs.
    assert not {"pydantic", "bystander", "absent", "strands-cli"} & set(names)
    code = mine.site / "shout_inner" / "__init__.py"
    code.write_text("DEEP = 2\n")
    changed = mine.strands("plugin", "verify", "--json")
    assert changed.code == 3
    spoiled = [one for one in changed.document["distributions"] if not one["ok"]]
    assert [(one["name"], [found["code"] for found in one["findings"]]) for one in spoiled] == [
        ("shout-inner", ["file-changed"])
    ]
    lines = mine.strands("plugin", "verify").out.splitlines()
    assert [line.split()[0] for line in lines if "shout" in line] == ["strands-tool-shout", "shout-inner", "shout-kit"]
    assert mine.strands("plugin", "verify", "strands-tool-shout").code == 0


def test_code_without_tools_that_is_installed_in_place_is_not_verified(mine: Folder, tmp_path: Path) -> None:
    unpack(mine, make_wheel(tmp_path, "shout-kit", files={"shout_kit.pth": str(tmp_path)}))
    origin = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    (mine.site / "shout_kit-1.0.dist-info" / "direct_url.json").write_text(json.dumps(origin))
    done = mine.strands("plugin", "verify", "shout-kit", "--json")
    (finding,) = done.document["distributions"][0]["findings"]
    assert (done.code, finding["code"], finding["severity"]) == (0, "not-recorded", "warning")


def test_files_in_the_package_of_another_are_named_and_not_all_files_of_that(mine: Folder, tmp_path: Path) -> None:
    unpack(mine, tool_wheel(tmp_path, "theirs", files={f"strands_tool_theirs/part{n}.py": "" for n in range(30)}))
    unpack(mine, tool_wheel(tmp_path, "guest", files={"strands_tool_theirs/_more.py": "stolen = True\n"}))
    for name in ("guest", "theirs"):
        done = mine.strands("plugin", "verify", f"strands-tool-{name}")
        assert done.code == 3
        (finding,) = done.reported
        assert "strands_tool_theirs/_more.py" in finding
    assert "a package of 'strands-tool-theirs'" in mine.strands("plugin", "verify", "strands-tool-guest").err


def test_without_a_record_it_says_so(mine: Folder) -> None:
    make_distribution(mine.site, "strands-tool-bare", "1.0", {"bare": "bare"}, {"bare.py": ""})
    done = mine.strands("plugin", "verify", "strands-tool-bare")
    assert done.code == 0
    assert "warning[not-recorded]" in done.err
    assert "nothing to compare" in done.out


def test_a_name_that_is_not_installed_is_refused_with_the_nearest(mine: Folder) -> None:
    sound(mine.site, "shout")
    refused = mine.strands("plugin", "verify", "strands-tool-shuot")
    assert refused.code == 3
    assert "'strands-tool-shout'" in refused.err
