"""What people put in the place of a key is found before anything is sent, and is not repeated."""

from __future__ import annotations

import pytest

from strands_cli.machine_checks.setup_checks import check_providers
from strands_cli.planning.provider_checks import MISSING_API_KEY, check_provider
from strands_cli.providers import ModelSettings, fault_of_key
from strands_cli.secrets.secret_sources import MIN_LENGTH, SHORT_SECRET

KEY = "sk-proj-Ab12_cd-34"
NOT_KEYS = [
    *("...", "sk-...", "sk-", "sk-\u2026", "YOUR_KEY", "your-api-key-here", "your_openai_api_key", "<key>", "changeme"),
    *("xxx", "sk-xxxx", "***", "TODO", "${KEY}", "{{ key }}", "[key]", "INSERT_KEY_HERE", "OPENAI_API_KEY"),
    *(f'"{KEY}"', f"'{KEY}'", f"{KEY}\n", f" {KEY}", f"{KEY} # mine", "sk-\u0441yrillic0", "\u201cquoted\u201d"),
]


@pytest.mark.parametrize("value", NOT_KEYS)
def test_what_is_not_a_key_is_found_by_plan_and_doctor(value: str) -> None:
    environ = {"OPENAI_API_KEY": value}
    (finding,) = check_provider(ModelSettings("openai", "m"), environ)
    assert (finding.code, finding.severity) == (MISSING_API_KEY, "error")
    assert "OPENAI_API_KEY" in finding.message
    assert KEY not in f"{finding.message}{finding.fix}"
    (check,) = (one for one in check_providers(environ) if one.name == "provider openai")
    assert (check.status, check.message) == ("warning", finding.message)


@pytest.mark.parametrize("value", [KEY, "AIzaSyD-abc", "gsk_abc", "a" * 40, "secret-key-1", "not-a-key", "any"])
def test_what_may_be_a_key_is_one(value: str) -> None:
    assert fault_of_key(value) is None
    found = check_provider(ModelSettings("openai", "m"), {"OPENAI_API_KEY": value})
    assert [one.code for one in found] == [SHORT_SECRET] * (len(value) < MIN_LENGTH)


def test_a_server_on_this_machine_takes_any_key() -> None:
    settings = ModelSettings("openai", "m", host="http://127.0.0.1:8000/v1")
    assert check_provider(settings, {"OPENAI_API_KEY": "..."}) == []


@pytest.mark.parametrize("provider", ["anthropic", "openai_responses"])
def test_each_provider_has_its_own_variable(provider: str) -> None:
    environ = {"OPENAI_API_KEY": "...", "ANTHROPIC_API_KEY": "<key>"}
    (finding,) = check_provider(ModelSettings(provider, "m", max_tokens=9), environ)
    assert ("ANTHROPIC" in finding.message) == (provider == "anthropic")
