"""The user's config file: what it may say, and where each mistake in it is reported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from strands_cli.api import InvalidInput
from strands_cli_notify.targets import Command, Webhook, read_targets
from tests.wordings import Wording

WEBHOOK = "webhook: {url: %s, secret: {source: env, key: HOOK_KEY}}"
# Each with the place and the last word of the fix, or None where the fix is a sentence.
MISTAKES = {
    "notfy: []": ("2:1", "/notfy", "'notify'?"),
    "notify: {comand: [x]}": ("2:10", "/notify/comand", "'command'?"),
    "notify: [{command: [x], on: [waitng]}]": ("2:30", "/notify/0/on/0", "'waiting'?"),
    "notify: [{command: [x], runs: every}]": ("2:31", "/notify/0/runs", None),
    "notify: [{command: [x], on: []}]": ("2:29", "/notify/0/on", None),
    "notify: [{}]": ("2:10", "/notify/0", None),
    "notify: yes": ("2:9", "/notify", None),
    "notify: [x]": ("2:10", "/notify/0", None),
    "notify: {command: 'tell \"a b\"'}": ("2:19", "/notify/command", None),
    "notify: {command: [x, 1]}": ("2:23", "/notify/command/1", None),
    "notify: {command: ['']}": ("2:20", "/notify/command/0", None),
    "notify: {webhook: https://x.example}": ("2:19", "/notify/webhook", None),
    "notify: {webhook: {url: 'https://x.example'}}": ("2:19", "/notify/webhook/secret", None),
    "notify: {webhook: {url: 'https://x.example', secret: whsec_abc}}": ("2:54", "/notify/webhook/secret", None),
    "notify: {webhook: {url: 'https://x.example', secret: {source: fil, path: k}}}": (
        "2:63",
        "/notify/webhook/secret/source",
        "'file'?",
    ),
    "notify: {webhook: {url: 'https://x.example', secret: {key: whsec_YWJj+}}}": (
        "2:60",
        "/notify/webhook/secret/key",
        None,
    ),
    "notify: {%s}" % (WEBHOOK % "http://hooks.example"): ("2:25", "/notify/webhook/url", None),
    "notify: {%s}" % (WEBHOOK % "ftp://127.0.0.1/"): ("2:25", "/notify/webhook/url", None),
    "notify: {%s}" % (WEBHOOK % "https://me:pass@hooks.example/"): ("2:25", "/notify/webhook/url", None),
    "notify: {%s}" % (WEBHOOK % "'https://hooks.example:99999/'"): ("2:25", "/notify/webhook/url", None),
    "notify: {%s}" % (WEBHOOK % "''"): ("2:25", "/notify/webhook/url", None),
}


def written(folder: Path, text: str) -> Path:
    path = folder / "config.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_there_is_no_target(tmp_path: Path) -> None:
    assert read_targets(tmp_path / "config.yaml") == ()


def test_one_entry_may_have_both_ways_and_a_list_several_entries(tmp_path: Path) -> None:
    both = "command: [tell, --now], " + WEBHOOK % "http://localhost:8080/x"
    targets = read_targets(written(tmp_path, f"version: 1\nnotify:\n- {{{both}, on: [failed], runs: all}}\n"))
    assert [type(one.way) for one in targets] == [Command, Webhook]
    assert [one.wants("failed", watched=True) for one in targets] == [True, True]
    assert [one.wants("waiting", watched=False) for one in targets] == [False, False]
    (alone,) = read_targets(written(tmp_path, "version: 1\nnotify: {command: [tell]}\n"))
    assert alone.wants("needs-decision", watched=False)
    assert not alone.wants("waiting", watched=True)
    assert not alone.wants("running", watched=False)


@pytest.mark.parametrize("text", MISTAKES, ids=[pointer for _, pointer, _ in MISTAKES.values()])
def test_a_mistake_is_reported_at_its_place_with_what_was_meant(text: str, tmp_path: Path, wording: Wording) -> None:
    path = written(tmp_path, f"version: 1\n{text}\n")
    with pytest.raises(InvalidInput) as raised:
        read_targets(path)
    (finding,) = raised.value.findings
    place, pointer, meant = MISTAKES[text]
    assert (str(finding.where), finding.code) == (f"{path}:{place}  ({pointer})", "bad-config")
    assert meant is None or str(finding.fix).endswith(f" {meant}")
    wording([finding.message, finding.fix])


@pytest.mark.parametrize("text", ["", "notify: []\n", "version: 2\nnotify: []\n", "version: 1\nnotify: [\n", "- x\n"])
def test_a_file_without_settings_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        read_targets(written(tmp_path, text))
    assert {finding.code for finding in raised.value.findings} == {"bad-config"}


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "large").write_bytes(b"#" * 1_000_001)
    for name in ("folder", "link", "large"):
        with pytest.raises(InvalidInput) as raised:
            read_targets(tmp_path / name)
        assert [finding.code for finding in raised.value.findings] == ["bad-config"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs modes of files")
@pytest.mark.parametrize("place", ["config.yaml", "."])
def test_a_file_that_others_can_change_names_no_program(place: str, tmp_path: Path) -> None:
    path = written(tmp_path, "version: 1\nnotify: {command: [tell]}\n")
    (tmp_path / place).chmod(0o777)
    with pytest.raises(InvalidInput) as raised:
        read_targets(path)
    (finding,) = raised.value.findings
    assert (finding.code, finding.severity) == ("unsafe-config-file", "error")
    assert f"chmod o-w {os.path.normpath(tmp_path / place)}" in str(finding.fix)
