"""What a workflow starts, reads, opens and sends is shown before it is run, by each command in the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.strands import Folder

STEP = [{"agent": "writer", "input": "Go."}]
TURNS = {"steps.0": [{"text": "done"}]}
PROGRAM = "sh -c 'touch was-run; echo any-secret-value'"


def strangers(folder: Folder, **sections: Any) -> Path:
    """Write a workflow that names a program, a file, a variable, folders, addresses and networks."""
    headers = {"X-Key": "${secrets.PROG} ${secrets.PASSWD}"}
    (folder.work / "data").mkdir()
    return folder.workflow(
        STEP,
        TURNS,
        env={
            "secrets": [
                {"key": "PROG", "source": "command", "path": PROGRAM},
                {"key": "PASSWD", "source": "file", "path": "/etc/passwd"},
                {"key": "HOME_OF", "source": "file", "path": "never.txt"},
                {"key": "HOME"},
            ],
            "mounts": {"all": "/", "own": "data"},
        },
        tools={
            "mcp": [{"id": "shelf", "command": "python3", "args": ["shelf.py"], "env": {"LD_PRELOAD": "./x.so"}}],
            "http_executors": [
                {"id": "api", "base_url": "https://api.example.com/v1", "headers": headers},
                {"id": "near", "base_url": "http://10.0.0.7:8080"},
            ],
            "python": [{"tool": "native:http_request", "config": {"allow_private": ["127.0.0.1:80"]}}],
        },
        **sections,
    )


# What each kind of use says, and whether it is asked about.
USES = [
    ("program", PROGRAM, True),
    ("file", "/etc/passwd", True),
    ("file", "never.txt", False),
    ("variable", "HOME", False),
    ("folder", "/", True),
    ("folder", "data", False),
    ("program", "python3 shelf.py (with the variables LD_PRELOAD)", True),
    ("network", "10.0.0.7:8080", True),
    ("network", "127.0.0.1:80", True),
]


def rows(uses: list[dict[str, Any]]) -> list[tuple[str, str, bool]]:
    return [(use["kind"], use["what"], use["asks"]) for use in uses]


def test_every_use_is_in_the_json_of_the_plan_and_the_explanation(folder: Folder) -> None:
    strangers(folder)
    planned = folder.strands("plan", "flow.yaml", "--format", "json").document["authority"]
    assert sorted(rows(planned["uses"])) == sorted([*USES, ("address", "api.example.com", False)])
    assert folder.strands("explain", "flow.yaml", "--json").document["authority"] == planned
    assert {"10.0.0.7:8080", "api.example.com"} <= {host for way in planned["outgoing"] for host in way["hosts"] or ()}
    assert not (folder.work / "was-run").exists()


def test_every_use_is_in_the_text_of_each_command(folder: Folder) -> None:
    strangers(folder)
    for command in ("plan", "explain", "validate"):
        out = folder.strands(command, "flow.yaml").out
        assert [what for _, what, _ in USES if what not in out] == [], command
        assert "api.example.com" in out


def test_who_gets_each_secret_is_shown_and_what_no_one_gets_is_not_read(folder: Folder) -> None:
    strangers(folder)
    uses = folder.strands("plan", "flow.yaml", "--format", "json").document["authority"]["uses"]
    to = {use["what"]: use["to"] for use in uses if use["by"].startswith("the secret")}
    assert to == {PROGRAM: ["the tool api"], "/etc/passwd": ["the tool api"], "never.txt": [], "HOME": []}


def test_validate_shows_what_the_plan_has(folder: Folder) -> None:
    strangers(folder)
    assert uses_by(folder, "validate") == uses_by(folder, "plan")
    assert not (folder.work / "was-run").exists()


def uses_by(folder: Folder, command: str, **env: str) -> list[dict[str, Any]]:
    document = folder.strands(command, "flow.yaml", "--format", "json", **env).document
    found: dict[str, Any] = document["files"][0] if command == "validate" else document["authority"]
    return list(found["uses"])


def test_validate_shows_what_a_workflow_among_the_tools_names(folder: Folder) -> None:
    (folder.root / "home" / "docs").mkdir(parents=True)
    (folder.work / "link").symlink_to(folder.root)
    secrets = [{"key": "X", "source": "command", "path": PROGRAM}]
    far = {"id": "far", "base_url": "https://a.example", "headers": {"X": "${secrets.X}"}}
    executors = [{"id": "near", "base_url": "http://10.0.0.7:8080"}, far]
    env = {"mounts": {"docs": "~/docs", "link": "link"}, "secrets": secrets}
    folder.workflow(STEP, TURNS, env=env, tools={"http_executors": executors})
    (folder.work / "flow.yaml").rename(folder.work / "inner.yaml")
    folder.workflow(STEP, TURNS, agents={"writer": {"prompt": "x", "tools": ["workflow:./inner.yaml"]}})
    uses = uses_by(folder, "validate")
    assert uses == uses_by(folder, "plan")
    assert [(use["kind"], use["asks"]) for use in uses] == [
        ("program", True),
        ("folder", True),
        ("folder", True),
        ("network", True),
        ("address", False),
    ]
    assert [use["place"] for use in uses if use["kind"] == "folder"] == [
        str(folder.root / "home" / "docs"),
        str(folder.root),
    ]
    assert folder.strands("plan", "flow.yaml").code == 0


def test_a_policy_file_with_a_mistake_does_not_hide_what_a_workflow_uses(folder: Folder) -> None:
    strangers(folder)
    folder.write("strands-policy.yaml", "rules: 7")
    assert len(uses_by(folder, "validate")) > 1


def test_the_private_network_that_a_workflow_opens_is_a_warning(folder: Folder) -> None:
    strangers(folder)
    ran = folder.strands("plan", "flow.yaml")
    assert "private-network" in ran.codes
    assert [place for place in ran.places if place.endswith("(/tools/python/0/config)")] != []


def test_a_link_in_the_folder_leads_out_of_it(folder: Folder) -> None:
    (folder.work / "inside").symlink_to(folder.root)
    folder.workflow(STEP, TURNS, env={"mounts": {"link": "inside"}})
    [use] = folder.strands("plan", "flow.yaml", "--format", "json").document["authority"]["uses"]
    assert use["asks"] is True


def test_a_mount_inside_the_working_directory_opens_nothing_more(folder: Folder) -> None:
    (folder.work / "data").mkdir()
    folder.workflow(STEP, TURNS, env={"mounts": {"data": "../data"}})
    (folder.work / "flows").mkdir()
    for name in ("flow.yaml", "flow.recording.yaml"):
        (folder.work / name).rename(folder.work / "flows" / name)
    for cwd, asks in ((folder.work, False), (folder.work / "flows", True)):
        file = folder.work / "flows" / "flow.yaml"
        [use] = folder.strands("plan", file, "--format", "json", cwd=cwd).document["authority"]["uses"]
        assert use["asks"] is asks


def test_the_key_that_leaves_is_named_and_its_value_is_not(folder: Folder) -> None:
    folder.workflow(STEP, runtime={"provider": "openai", "model_id": "m", "host": "https://models.example.com/v1"})
    ran = folder.strands("plan", "flow.yaml", "--format", "json", OPENAI_API_KEY="sk-0123456789")
    [way] = ran.document["authority"]["outgoing"]
    assert (way["kind"], way["hosts"], way["keys"]) == ("model", ["models.example.com"], ["OPENAI_API_KEY"])
    assert "sk-0123456789" not in ran.out + ran.err
    assert "models.example.com" in folder.strands("validate", "flow.yaml").out


@pytest.mark.parametrize(("hidden", "shown"), [("a\x1b[2Kb", "a\\x1b[2Kb"), ("a\u202eb", "a\\u202eb")])
def test_what_a_file_names_cannot_control_the_terminal(folder: Folder, hidden: str, shown: str) -> None:
    folder.workflow(STEP, TURNS, env={"secrets": [{"key": "X", "source": "file", "path": hidden}]})
    for command in ("plan", "explain", "validate"):
        ran = folder.strands(command, "flow.yaml")
        assert hidden not in ran.out + ran.err
        assert shown in ran.out


def test_the_digest_is_of_what_the_file_says(folder: Folder) -> None:
    def digest(**env: Any) -> str:
        folder.workflow(STEP, TURNS, env=env)
        return str(folder.strands("plan", "flow.yaml", "--format", "json").document["authority"]["digest"])

    one = digest(secrets=[{"key": "X", "source": "command", "path": "a b"}])
    assert digest(secrets=[{"key": "X", "source": "command", "path": "a b"}]) == one
    assert digest(secrets=[{"key": "X", "source": "command", "path": "a c"}]) != one


def test_what_is_wrong_with_a_file_elsewhere_is_not_shown(folder: Folder) -> None:
    seen = set()
    for name, text in (("none", None), ("broken", "a: ["), ("other", "root:x:0:0"), ("empty", "")):
        if text is not None:
            (folder.root / name).write_text(text)
        folder.workflow(STEP, runtime={"provider": "replay", "recording": str(folder.root / name)})
        ran = folder.strands("validate", "flow.yaml")
        seen.add((ran.code, ran.err.replace(name, "NAME")))
        assert ran.codes == ["bad-recording"], ran.err
    assert len({code for code, _ in seen}) == 1
