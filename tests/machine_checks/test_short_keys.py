"""The keys that are too short to be hidden, as `strands doctor` names them."""

from __future__ import annotations

from pathlib import Path

from strands_cli.machine_checks.setup_checks import check_short_keys


def test_doctor_names_the_variables_and_nothing_of_their_values(tmp_path: Path) -> None:
    environ = {"OPENAI_API_KEY": "tiny-k7", "WIKI_API_KEY": " abc ", "AWS_SECRET_ACCESS_KEY": "s", "PIN": "1"}
    environ |= {"ANTHROPIC_API_KEY": "a-long-enough-key", "GEMINI_API_KEY": ""}
    checks = list(check_short_keys(environ, tmp_path))
    assert [one.message.split()[2] for one in checks] == ["AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "WIKI_API_KEY"]
    assert {one.status for one in checks} == {"warning"}
    assert all(
        one.fix and not any(value in f"{one.message}{one.fix}" for value in ("tiny", "abc", " 7")) for one in checks
    )


FLOW = """version: 2
name: f
env:
  secrets:
    - {key: PIN}
    - {key: OPENAI_API_KEY}
    - {key: pin, name: DOOR, source: file, path: pin.txt}
    - {key: long, name: GATE, source: file, path: long.txt}
    - {key: x, name: MAIL, source: command, path: "touch ran"}
pattern: {type: chain, config: {steps: [{type: hitl, prompt: "Go on?"}]}}
"""


def test_doctor_names_the_secrets_of_the_workflows_here(tmp_path: Path) -> None:
    for name, text in {"flow.yaml": FLOW, "pin.txt": "q4x7\n", "long.txt": "q4x7" * 4, "notes.yaml": "a: 1"}.items():
        (tmp_path / name).write_text(text)
    checks = list(check_short_keys({"PIN": "q5", "OPENAI_API_KEY": "tiny-k7"}, tmp_path))
    named = ["the variable OPENAI_API_KEY", "the secret 'PIN' of flow.yaml", "the secret 'DOOR' of flow.yaml"]
    assert [one.message.split(" has ")[0] for one in checks] == named
    assert not any(value in f"{one.message}{one.fix}" for one in checks for value in ("q4", "q5", "tiny"))
    assert not (tmp_path / "ran").exists()
