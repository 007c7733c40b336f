"""The keys that are too short to be hidden, as `strands doctor` names them."""

from __future__ import annotations

from strands_cli.doctor.setup import check_short_keys


def test_doctor_names_the_variables_and_nothing_of_their_values() -> None:
    environ = {"OPENAI_API_KEY": "tiny-k7", "WIKI_API_KEY": " abc ", "AWS_SECRET_ACCESS_KEY": "s", "PIN": "1"}
    environ |= {"ANTHROPIC_API_KEY": "a-long-enough-key", "GEMINI_API_KEY": ""}
    checks = list(check_short_keys(environ))
    assert [one.message.split()[2] for one in checks] == ["AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "WIKI_API_KEY"]
    assert {one.status for one in checks} == {"warning"}
    assert all(
        one.fix and not any(value in f"{one.message}{one.fix}" for value in ("tiny", "abc", " 7")) for one in checks
    )
