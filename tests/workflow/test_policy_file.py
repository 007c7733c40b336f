from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import Denied, ExitCode
from strands_cli.policy.decision import SwitchedOn
from strands_cli.policy.rule import Rule
from strands_cli.user_files.policy_file import check_ownership, read_policy
from strands_cli.user_files.user_config import MAX_BYTES
from tests.wordings import Wording

WHOLE = """\
version: 1
rules:
  - deny: "*"
    unless: [calculator, native:file_*]
    distribution: strands-tool-*
    version: "<1.2"
    source: [editable, PYTHONPATH]
    capability: network
    reason: ask the
      platform team
  - ask:
      - file_read
      - file_write(path=docs/**)
  - allow: mypackage.tools:search
hooks: [strands-hooks-audit]
locked: true
"""


def write(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def faults(path: Path, level: Any = "managed") -> list[tuple[str, int | None, int | None]]:
    with pytest.raises(Denied) as raised:
        read_policy(path, level)
    assert raised.value.exit_code == ExitCode.DENIED
    assert {finding.code for finding in raised.value.findings} == {"bad-policy"}
    for finding in raised.value.findings:
        assert finding.where is not None
        assert finding.where.file == str(path)
    return [
        (f"{f.message} | {f.fix}", f.where.line if f.where else 0, f.where.column if f.where else 0)
        for f in raised.value.findings
    ]


def test_every_part_of_a_policy_file_is_read_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE)
    policy = read_policy(path, "managed")
    assert policy.rules == (
        Rule(
            "deny",
            "*",
            "managed",
            f"{path}:3",
            ("calculator", "native:file_*"),
            (),
            ("strands-tool-*",),
            "<1.2",
            ("editable", "PYTHONPATH"),
            ("network",),
            "ask the platform team",
        ),
        Rule("ask", "file_read", "managed", f"{path}:12"),
        Rule("ask", "file_write", "managed", f"{path}:13", arguments=(("path", "docs/**"),)),
        Rule("allow", "mypackage.tools:search", "managed", f"{path}:14"),
    )
    assert policy.rules[0].words == f"{path}:3: ask the platform team"
    assert policy.hooks == (SwitchedOn("strands-hooks-audit", "managed", f"{path}:15"),)
    assert policy.locked == SwitchedOn("locked", "managed", f"{path}:16")
    assert policy.files == (("managed", str(path)),)


@pytest.mark.parametrize("text", ["version: 1", "version: 1\nrules: []", "\ufeffversion: 1\nlocked: false"])
def test_a_file_without_rules_is_fine(text: str, tmp_path: Path) -> None:
    policy = read_policy(write(tmp_path, text), "project")
    assert (policy.rules, policy.hooks, policy.locked) == ((), (), None)


@pytest.mark.parametrize(
    ("text", "line", "column", "named"),
    [
        ("", 1, 1, "document-empty"),
        ("# nothing", None, None, "document-empty"),
        ("[]", 1, 1, "`version: 1`"),
        ("just text", 1, 1, "`version: 1`"),
        ("rules: []", 1, 1, "`version`"),
        ("version: 2", 1, 10, "2"),
        ("version: '1'", 1, 10, "'1'"),
        ("version: true", 1, 10, "True"),
        ("version: 1\nrules:", 2, 7, "`rules`"),
        ("version: 1\nrules: null", 2, 8, "`rules`"),
        ("version: 1\nrules: {}", 2, 8, "`rules`"),
        ("version: 1\nruls: []", 2, 1, "'rules'"),
        ("version: 1\nlocked: yes", 2, 9, "`locked`"),
        ("version: 1\nhooks: x", 2, 8, "`hooks`"),
        ("version: 1\nhooks: [a b]", 2, 9, "'a b'"),
        ("version: 1\nversion: 1", 2, 1, "duplicate-key"),
        ("version: 1\nrules: [deny]", 2, 9, "`deny: file_write`"),
        ("version: 1\nrules: [{}]", 2, 9, None),
        ("version: 1\nrules: [{denny: x}]", 2, 10, "'deny'"),
        ("version: 1\nrules: [{deny: x, allow: y}]", 2, 9, None),
        ("version: 1\nrules: [{deny: x, deny: y}]", 2, 19, "duplicate-key"),
        ("version: 1\nrules: [{deny: }]", 2, 16, "`deny`"),
        ("version: 1\nrules: [{deny: []}]", 2, 16, "`deny`"),
        ("version: 1\nrules: [{deny: [[a]]}]", 2, 17, "`deny`"),
        ("version: 1\nrules: [{deny: 'f('}]", 2, 16, "'f('"),
        ("version: 1\nrules: [{deny: 'f(x)'}]", 2, 16, "'f(x)'"),
        ("version: 1\nrules: [{deny: 'native:f@>=1'}]", 2, 16, "'native:f@>=1'"),
        ("version: 1\nrules: [{deny: 'native:f@1'}]", 2, 16, "`version`"),
        ("version: 1\nrules: [{deny: x, unless: 'y(a=b)'}]", 2, 27, "'y(a=b)'"),
        ("version: 1\nrules: [{deny: x, unless: null}]", 2, 27, "`unless`"),
        ("version: 1\nrules: [{deny: x, version: 1.2}]", 2, 28, "'==1.2'"),
        ("version: 1\nrules: [{deny: x, version: new}]", 2, 28, "PEP 440"),
        ("version: 1\nrules: [{deny: x, source: editible}]", 2, 27, "'editable'"),
        ("version: 1\nrules: [{deny: x, source: [pythonpath]}]", 2, 28, "'PYTHONPATH'"),
        ("version: 1\nrules: [{deny: x, source: []}]", 2, 27, "`source`"),
        ("version: 1\nrules: [{deny: x, capability: net}]", 2, 31, "'network'"),
        ("version: 1\nrules: [{deny: x, distribution: 'a/b'}]", 2, 33, "'a/b'"),
        ("version: 1\nrules: [{deny: x, reason: 3}]", 2, 27, "`reason`"),
        ("version: 1\n\trules: []", 2, 1, "not-yaml"),
        ("version: [1", 2, 1, "not-yaml"),
        ("version: 1\n---\nversion: 1", 2, 1, "several-documents"),
        (b"version: 1\nrules: \xff", 2, 8, "not-utf8"),
        ("version: 1\nx: !!python/object:os.system y", 2, 4, "yaml-tag"),
        ("[" * 200, None, None, "document-too-deep"),
    ],
)
def test_what_is_wrong_is_reported_at_its_place(
    text: str | bytes, line: int | None, column: int | None, named: str | None, tmp_path: Path, wording: Wording
) -> None:
    found = faults(write(tmp_path, text))
    there = [message for message, *place in found if line is None or [line, column] == place]
    assert any(named is None or named in message for message in there), found
    wording(there)


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    text = "version: 3\nrules:\n  - {deny: 'f('}\n  - {alow: x}\n  - {ask: x, source: nowhere}\nhoks: []\n"
    assert sorted({line for _, line, _ in faults(write(tmp_path, text))}, key=str) == [1, 3, 4, 5, 6]


def test_a_project_file_switches_no_hook_on(tmp_path: Path, wording: Wording) -> None:
    path = write(tmp_path, "version: 1\nhooks: [strands-hooks-audit]")
    ((message, line, column),) = faults(path, "project")
    wording(message)
    assert (line, column) == (2, 1)
    assert read_policy(path, "user").hooks[0].word == "strands-hooks-audit"


def test_a_file_that_grows_beyond_use_is_refused(tmp_path: Path, wording: Wording) -> None:
    bomb = "version: 1\na: &a [x,x,x,x,x,x,x,x,x]\n"
    for old, new in zip("abcdef", "bcdefg", strict=True):
        bomb += f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n"
    assert "alias-bomb" in faults(write(tmp_path, bomb))[0][0]
    wording(faults(write(tmp_path, "#" * (MAX_BYTES + 1)))[0][0])


def test_what_is_not_a_file_is_refused_without_waiting_for_it(tmp_path: Path, wording: Wording) -> None:
    wording(faults(tmp_path)[0][0])
    wording(faults(tmp_path / "none.yaml")[0][0])
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    wording(faults(tmp_path / "link")[0][0])
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        wording(faults(tmp_path / "pipe")[0][0])


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_file_that_others_can_change_is_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path, "version: 1")
    tmp_path.chmod(0o755)
    path.chmod(0o644)
    assert check_ownership(path, "user") == []
    path.chmod(0o666)
    (finding,) = check_ownership(path, "user")
    assert (finding.code, finding.severity) == ("unsafe-policy-file", "warning")
    assert finding.where is not None
    assert finding.where.file == str(path)
    path.chmod(0o644)
    tmp_path.chmod(0o777)
    (finding,) = check_ownership(path, "user")
    assert str(tmp_path) in str(finding.fix)
    tmp_path.chmod(0o1777)
    assert check_ownership(path, "user") == []
    tmp_path.chmod(0o755)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_somebody_else_is_a_warning(tmp_path: Path) -> None:
    path = write(tmp_path, "version: 1")
    os.chown(path, 12345, -1)
    for level in ("managed", "user"):
        (finding,) = check_ownership(path, level)
        assert "12345" in finding.message
