"""The table of providers agrees with the SDK's source, and every setting without effect is found before a run."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from strands_cli.addresses.written_places import is_local
from strands_cli.errors import ExitCode, Finding, Where, has_errors
from strands_cli.machine_checks.setup_checks import check_providers
from strands_cli.planning.provider_checks import UNKNOWN_OPTION, check_provider
from strands_cli.provider_table import PROVIDERS, Provider
from strands_cli.providers import SETTING_FIELDS, ModelSettings, merge_settings, place_of
from strands_cli.versions import satisfies
from tests.wordings import Wording

CLONE = Path(__file__).parent.parent.parent
LIVE = [provider for provider in PROVIDERS.values() if provider.make]
# Constructor keywords that take an object made in Python, which a file cannot hold.
OBJECTS_ONLY = {"client", "boto_session"}
COMMON_KEYS = {"context_window_limit"}
KEYED = {"OPENAI_API_KEY": "key-of-tests"}


def settings(provider: str, model_id: str | None = "m", **more: Any) -> ModelSettings:
    return ModelSettings(provider, model_id, **more)


def checked(
    given: ModelSettings, environ: dict[str, str] | None = None, *, installed: bool = True
) -> list[tuple[str, str]]:
    """Return (severity, code) of the findings, without those about packages unless these are asked for."""
    found = check_provider(given, KEYED if environ is None else environ)
    return [(f.severity, f.code) for f in found if not (installed and f.code == "missing-extra")]


def only(found: list[Finding], code: str) -> Finding:
    [match] = [finding for finding in found if finding.code == code]
    return match


# -- the table against the SDK's source


def sdk_class(model_class: str) -> ast.ClassDef:
    module, _, name = model_class.partition(":")
    package = find_spec("strands")
    assert package is not None
    assert package.submodule_search_locations is not None
    source = Path(package.submodule_search_locations[0]).joinpath(*module.split(".")[1:]).with_suffix(".py")
    tree = ast.parse(source.read_text(encoding="utf-8"))
    return next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == name)


def typed_dicts(node: ast.ClassDef) -> dict[str, set[str]]:
    return {
        inner.name: {item.target.id for item in inner.body if isinstance(item, ast.AnnAssign)}  # type: ignore[union-attr]
        for inner in node.body
        if isinstance(inner, ast.ClassDef)
    }


def constructor_keywords(node: ast.ClassDef) -> set[str]:
    init = next(item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__")
    return {argument.arg for argument in [*init.args.args, *init.args.kwonlyargs]} - {"self"}


@pytest.mark.parametrize("name", [p.name for p in LIVE if p.name != "sagemaker"])
def test_the_options_of_a_provider_are_those_of_the_sdk_class(name: str) -> None:
    provider = PROVIDERS[name]
    node = sdk_class(provider.make or "")
    [config] = typed_dicts(node).values()
    fields = {place[0] for place in provider.places.values() if len(place) == 1}
    assert provider.options | fields | OBJECTS_ONLY >= config | constructor_keywords(node) | COMMON_KEYS
    assert provider.options | fields <= config | constructor_keywords(node) | COMMON_KEYS
    assert not fields & provider.options


def test_the_options_of_sagemaker_are_those_of_the_sdk_class() -> None:
    node = sdk_class(PROVIDERS["sagemaker"].make or "")
    payload, endpoint = typed_dicts(node).values()
    assert PROVIDERS["sagemaker"].options | OBJECTS_ONLY >= constructor_keywords(node)
    assert PROVIDERS["sagemaker"].sections["payload_config"] == payload
    assert PROVIDERS["sagemaker"].sections["endpoint_config"] == endpoint | COMMON_KEYS


def test_llamacpp_params_are_those_that_the_sdk_class_sends() -> None:
    node = sdk_class(PROVIDERS["llamacpp"].make or "")
    format_request = next(i for i in node.body if isinstance(i, ast.FunctionDef) and i.name == "_format_request")
    sets = [ast.literal_eval(item) for item in ast.walk(format_request) if isinstance(item, ast.Set)]
    assert PROVIDERS["llamacpp"].sections["params"] == set().union(*sets) | {"grammar", "json_schema"}


def test_cache_options_are_the_fields_of_the_sdk_dataclass() -> None:
    cache = sdk_class("strands.models.model:CacheConfig")
    fields = {item.target.id for item in cache.body if isinstance(item, ast.AnnAssign)}  # type: ignore[union-attr]
    sections = [p.sections["cache_config"] for p in PROVIDERS.values() if "cache_config" in p.sections]
    assert sections
    assert all(section == fields for section in sections)


def test_every_setting_goes_to_a_keyword_that_the_class_has() -> None:
    for provider in LIVE:
        node = sdk_class(provider.make or "")
        known = set().union(*typed_dicts(node).values()) | constructor_keywords(node)
        assert {place[0] for place in provider.places.values()} <= known
        assert set(provider.places) <= set(SETTING_FIELDS)


def test_extras_are_those_of_the_distribution() -> None:
    import tomllib

    extras = tomllib.loads((CLONE / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {p.extra for p in LIVE if p.extra} == {extra for extra in extras if extra in PROVIDERS}


def test_checking_imports_no_sdk_and_no_client() -> None:
    script = (
        "import sys; from strands_cli.providers import *; from strands_cli.planning.provider_checks import *;"
        "[check_provider(ModelSettings(name, 'm'), {}) for name in PROVIDERS if name != 'openai_responses'];"
        "print([m for m in ('strands', 'openai', 'httpx', 'boto3', 'asyncio', 'pydantic', 'importlib.metadata',"
        " 'google') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=CLONE)
    assert done.stdout.strip() == "[]"


# -- findings


def test_sound_settings_have_no_findings() -> None:
    more: dict[str, Any] = {"temperature": 0.2, "top_p": 0.9, "max_tokens": 100}
    assert checked(settings("openai", options={"params": {"seed": 1}, "client_args": {"timeout": 5}}, **more)) == []
    assert checked(settings("anthropic", **more), {"ANTHROPIC_AUTH_TOKEN": "a-whole-token"}) == []
    assert checked(settings("bedrock", region="eu-west-1", **more), {"AWS_PROFILE": "p"}) == []
    assert checked(settings("llamacpp", None, host="http://localhost:8080", **more), {}) == []
    assert checked(settings("replay", None, **more), {}) == []


def test_an_unknown_provider_names_the_nearest_and_stops_there() -> None:
    place = Where("w.yaml", 3, 5, "/runtime/provider")
    [found] = check_provider(
        settings("opnai", temperature=0.1), {}, locate=lambda f: place if f == "provider" else None
    )
    assert (found.code, found.where) == ("unknown-provider", place)
    assert "'openai'" in str(found.fix)
    assert "'bedrock'" not in str(found.fix)
    [far] = check_provider(settings("zzz"), {})
    assert far.fix is not None
    assert "bedrock, openai" in far.fix


def test_a_provider_of_a_known_distribution_comes_with_the_command_that_brings_it() -> None:
    (absent,) = check_provider(settings("local", "m.gguf"), {})
    assert (absent.code, absent.fix) == ("unknown-provider", "pip install strands-cli-local")
    assert check_provider(settings("local", "m.gguf"), {}, provider=Provider("local", "known by its name")) == []


def test_a_missing_client_names_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for name in ("openai", "google", "google.genai", "mistralai", "litellm"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "google").mkdir()  # a namespace that other packages share proves nothing
    for name in ("openai", "gemini", "mistral", "litellm"):
        found = only(check_provider(settings(name), {}), "missing-extra")
        assert found.fix == f"pip install 'strands-cli[{name}]'"
    (tmp_path / "google" / "genai").mkdir()
    sys.path_importer_cache.clear()
    assert "missing-extra" not in [f.code for f in check_provider(settings("gemini"), {})]


def test_a_client_too_old_for_the_class_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wording: Wording
) -> None:
    (tmp_path / "openai").mkdir()
    metadata = tmp_path / "openai-1.99.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: openai\nVersion: 1.99.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = only(check_provider(settings("openai_responses"), KEYED), "missing-extra")
    wording(found.message)
    assert checked(settings("openai"), installed=False) == []


def installed_as(version: str, name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put another version of an installed client in front of it."""
    metadata = folder / f"{name}-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nVersion: 0.99\n")
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.parametrize(
    ("version", "is_admitted"), [("0.20.9", False), ("0.21.0", True), ("0.99.1", True), ("1.2.0", False), ("x1", False)]
)
def test_a_client_outside_the_bounds_of_the_sdk_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, is_admitted: bool
) -> None:
    installed_as(version, "anthropic", tmp_path, monkeypatch)
    found = [one for one in check_provider(settings("anthropic"), {}) if one.code == "missing-extra"]
    assert (found == []) is is_admitted
    if found:
        assert version in found[0].message
        assert found[0].fix == "pip install 'anthropic<1.0.0,>=0.21.0'"
        assert found[0].code.exit_code == 18
    checks = [check for check in check_providers({}) if check.name == "provider anthropic"]
    assert [check.status for check in checks] == ["ok" if is_admitted else "warning"], "doctor sees it without a key"


def test_the_metadata_of_clients_is_read_again_when_its_folder_has_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def codes() -> list[str]:
        return [one.code for one in check_provider(settings("anthropic"), {}) if one.code == "missing-extra"]

    monkeypatch.syspath_prepend(str(tmp_path))
    os.utime(tmp_path, (0, 0))
    assert codes() == []
    with monkeypatch.context() as patch:
        patch.delattr(os, "listdir")
        assert codes() == [], "what has not changed is not searched again"
    installed_as("1.2.0", "anthropic", tmp_path, monkeypatch)
    assert codes() == ["missing-extra"]


def test_each_extra_pins_what_the_sdk_admits() -> None:
    extras = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    of_sdk: dict[str, dict[str, str]] = {}
    for line in requires("strands-agents") or ():
        if found := re.fullmatch(r"([\w-]+)([^;\[]+); extra == '([\w-]+)'", line):
            of_sdk.setdefault(found[3], {})[found[1]] = found[2]
    named = {one.extra for one in PROVIDERS.values() if one.extra} - {"sagemaker"}
    assert named
    for extra in named:
        pins = dict(re.findall(r"^([\w-]+)([<>=][^;]*)$", "\n".join(extras[extra]), re.MULTILINE))
        assert pins, extra
        for name, bounds in pins.items():
            admitted = of_sdk[extra][name]
            edges = [bound.lstrip("<>=") for bound in bounds.split(",")]
            lower, upper = edges[0], edges[1]
            assert satisfies(lower, admitted), (extra, name)
            assert not satisfies(upper, admitted), (extra, name)


@pytest.mark.parametrize(
    ("name", "variable"),
    [("openai", "OPENAI_API_KEY"), ("gemini", "GOOGLE_API_KEY"), ("mistral", "MISTRAL_API_KEY")],
)
def test_a_missing_key_names_its_variable_and_any_alternative_serves(name: str, variable: str) -> None:
    found = only(check_provider(settings(name), {variable: " "}), "missing-api-key")
    assert variable in found.message
    assert found.fix == f"export {variable}=..., or store it: strands keys set {name}"
    for key in PROVIDERS[name].keys:
        assert checked(settings(name), {key: "a-whole-key"}) == []


def test_a_local_server_needs_no_key() -> None:
    for host in ("http://127.0.0.1:8000/v1", "http://vllm:8000/v1"):
        assert checked(settings("openai", host=host), {}) == []
    assert checked(settings("openai"), {"OPENAI_BASE_URL": "http://localhost:1/v1"}) == []
    assert checked(settings("openai", host="https://api.example.com/v1"), {}) == [("error", "missing-api-key")]


def test_other_credentials_replace_the_key() -> None:
    mantle = {"bedrock_mantle_config": {"region": "us-east-1"}}
    assert checked(settings("openai", options=mantle), {}) == []
    assert checked(settings("gemini", options={"client_args": {"vertexai": True}}), {}) == []
    assert checked(settings("gemini"), {"GOOGLE_GENAI_USE_VERTEXAI": "1"}) == []


def test_the_key_that_litellm_needs_follows_from_the_model() -> None:
    assert checked(settings("litellm", "groq/llama"), {}) == [("warning", "missing-api-key")]
    assert checked(settings("litellm", "groq/llama"), {"GROQ_API_KEY": "key-of-tests"}) == []
    assert checked(settings("litellm", "some-proxy/model"), {}) == []


def test_aws_credentials_are_only_hinted_at(tmp_path: Path) -> None:
    given = settings("bedrock", region="us-east-1")
    assert checked(given, {"HOME": str(tmp_path)}) == [("warning", "missing-api-key")]
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text("[default]\n")
    assert checked(given, {"HOME": str(tmp_path)}) == []
    assert checked(given, {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://x"}) == []


def test_what_the_sdk_would_choose_for_bedrock_is_reported() -> None:
    environ = {"AWS_PROFILE": "p", "HOME": ""}
    assert checked(settings("bedrock", None), environ) == [("warning", "provider-needs"), ("warning", "provider-needs")]
    assert checked(settings("bedrock", None, region="us-east-1"), environ) == [("warning", "provider-needs")]
    assert checked(settings("bedrock"), environ | {"AWS_DEFAULT_REGION": "us-east-1"}) == []


def test_a_needed_setting_that_is_absent_is_an_error() -> None:
    for name in ("openai", "ollama", "gemini", "mistral", "litellm", "writer", "openai_responses"):
        assert ("error", "provider-needs") in checked(settings(name, None), {})
    assert checked(settings("anthropic"), {"ANTHROPIC_API_KEY": "key-of-tests"}) == [("error", "provider-needs")]
    aws = {"AWS_PROFILE": "p", "AWS_REGION": "r"}
    assert checked(settings("sagemaker", None), aws) == [("error", "provider-needs")]
    assert checked(settings("sagemaker", None, options={"endpoint_config": {"endpoint_name": "e"}}), aws) == []


def test_a_setting_without_effect_is_a_warning() -> None:
    for name, fields in (("openai", ["region"]), ("sagemaker", ["host"]), ("litellm", ["region"])):
        given = settings(name, region="us-east-1", host="http://localhost:1")
        found = [f for f in check_provider(given, {"AWS_PROFILE": "p"}) if f.code == "field-without-effect"]
        assert [(f.severity, f.message.split("'")[1]) for f in found] == [("warning", field) for field in fields]


def test_a_setting_given_twice_is_a_warning_and_the_field_wins(wording: Wording) -> None:
    options = {"params": {"temperature": 0.9}}
    given = settings("openai", temperature=0.1, options=options)
    found = only(check_provider(given, KEYED), "field-without-effect")
    wording(found.message)


def test_a_temperature_that_the_class_refuses_is_found() -> None:
    assert checked(settings("mistral", temperature=1.5), {"MISTRAL_API_KEY": "key-of-tests"}) == [
        ("error", "setting-out-of-range")
    ]
    assert checked(settings("openai", temperature=1.5)) == []


def test_unknown_options_are_found_with_the_nearest_name_and_their_place() -> None:
    options = {"param": {}, "model_id": "x", "client": {}, "cache_config": {"tll": "5m"}}
    found = check_provider(settings("openai", options=options), KEYED, locate=lambda f: Where("w.yaml", pointer=f))
    assert [(f.code, f.where and f.where.pointer) for f in found][:2] == [
        ("unknown-option", "options/param"),
        ("unknown-option", "options/model_id"),
    ]
    assert "'params'" in str(found[0].fix)
    assert "'provider'" in str(found[1].fix)
    assert [f.where and f.where.pointer for f in found][2:] == ["options/client", "options/cache_config/tll"]


def test_params_that_the_llamacpp_class_would_drop_are_found(wording: Wording) -> None:
    found = only(
        check_provider(settings("llamacpp", options={"params": {"topk": 1, "min_p": 0.1}}), {}), "unknown-option"
    )
    wording(found.fix)


def test_an_option_of_the_wrong_shape_is_found() -> None:
    for wrong in (None, "text", [1]):
        assert checked(settings("openai_responses", options={"params": wrong})) == [("error", "option-type")]


@pytest.mark.parametrize("host", ["localhost:8000", "ftp://example.com", "file:///etc"])
def test_a_host_without_http_is_found(host: str) -> None:
    assert ("error", "bad-host") in checked(settings("openai", host=host))


def test_ollama_takes_a_bare_host() -> None:
    assert checked(settings("ollama", host="localhost:11434"), {}) == []


def test_a_host_to_which_the_class_adds_v1_is_warned_about() -> None:
    found = only(check_provider(settings("llamacpp", host="http://localhost:8080/v1/"), {}), "bad-host")
    assert (found.severity, found.fix) == ("warning", "write 'http://localhost:8080'")


def test_a_reference_has_the_place_of_a_key_and_is_none() -> None:
    """One to a secret that is not declared has a finding of its own."""
    found = checked(settings("openai", options={"client_args": {"api_key": "${NOPE}"}}))
    assert "literal-key" not in [code for _, code in found]


def test_a_key_in_the_file_is_warned_about_and_never_shown() -> None:
    for name, options in (
        ("openai", {"client_args": {"api_key": "sk-secret"}}),
        ("anthropic", {"client_args": {"auth_token": "sk-secret"}}),
        ("mistral", {"api_key": "sk-secret"}),
        ("bedrock", {"api_key": "sk-secret"}),
    ):
        found = check_provider(settings(name, max_tokens=5, options=options), {})
        assert only(found, "literal-key").severity == "warning"
        assert "missing-api-key" not in [f.code for f in found]
        assert "sk-secret" not in "".join(map(str, found))


def test_a_key_that_would_go_to_another_host_is_warned_about() -> None:
    found = only(check_provider(settings("openai", host="https://collect.example/v1"), KEYED), "key-to-other-host")
    assert (found.severity, "OPENAI_API_KEY" in found.message) == ("warning", True)
    option = {"client_args": {"base_url": "https://name:pass@collect.example/v1"}}
    found = only(check_provider(settings("openai", options=option), KEYED), "key-to-other-host")
    assert "pass" not in str(found)
    for host in ("https://api.openai.com/v1", "http://localhost:8000/v1"):
        assert checked(settings("openai", host=host)) == []


def test_everything_is_found_at_once() -> None:
    given = ModelSettings("openai", region="us-east-1", host="nowhere", options={"nope": 1, "params": 2})
    codes = {code for _, code in checked(given, {})}
    assert codes == {"provider-needs", "field-without-effect", "bad-host", "unknown-option", "option-type"}


def test_what_this_machine_lacks_is_distinguished_from_what_the_file_has_wrong() -> None:
    found = check_provider(settings("openai"), {})
    assert has_errors(found)
    assert {f.code.exit_code for f in found} == {ExitCode.NOT_EQUIPPED}
    assert UNKNOWN_OPTION.exit_code == ExitCode.INVALID


# -- hosts, merging


@pytest.mark.parametrize(
    "host",
    [
        "http://localhost:1/v1",
        "127.0.0.1:9",
        "http://[::1]:9",
        "http://10.1.2.3",
        "http://192.168.0.9/v1",
        "vllm:80",
        "http://gpu.local",
        "http://host.docker.internal:1",
        "http://[fd00::1]/v1",
        "HTTP://LOCALHOST.",
        "http://a.localhost",
    ],
)
def test_hosts_of_ones_own(host: str) -> None:
    assert is_local(host)


@pytest.mark.parametrize(
    "host",
    [
        "https://api.openai.com",
        "http://8.8.8.8",
        "http://localhost.example.com",
        "http://127.0.0.1@example.com",
        "http://[2600::1]",
        "http://",
        "http://[bad",
    ],
)
def test_hosts_of_others(host: str) -> None:
    assert not is_local(host)


def test_the_cap_on_tokens_has_the_name_that_the_server_knows() -> None:
    openai = PROVIDERS["openai"]
    newer, older = ("params", "max_completion_tokens"), ("params", "max_tokens")
    local = {"OPENAI_BASE_URL": "http://localhost:1/v1"}
    assert place_of(openai, "max_tokens", settings("openai"), {}) == newer
    assert place_of(openai, "max_tokens", settings("openai", host="https://api.openai.com/v1/"), {}) == newer
    assert place_of(openai, "max_tokens", settings("openai", host="http://localhost:1/v1"), {}) == older
    assert place_of(openai, "max_tokens", settings("openai"), local) == older
    chosen = {"params": {"max_completion_tokens": 5}}
    assert place_of(openai, "max_tokens", settings("openai", options=chosen), local) == newer


RUNTIME = ModelSettings("openai", "gpt", None, "http://localhost:1/v1", 0.1, 0.9, 50, {"stream": False})


def test_an_agents_own_settings_win_and_the_rest_stays() -> None:
    merged = merge_settings(RUNTIME, model_id="other", temperature=0.0)
    assert merged == ModelSettings("openai", "other", None, "http://localhost:1/v1", 0.0, 0.9, 50, {"stream": False})
    assert merge_settings(RUNTIME) == RUNTIME
    assert merge_settings(RUNTIME, provider="openai") == RUNTIME


def test_what_belongs_to_one_provider_stays_behind_when_the_provider_changes() -> None:
    merged = merge_settings(RUNTIME, provider="anthropic", model_id="claude", max_tokens=9)
    assert merged == ModelSettings("anthropic", "claude", None, None, 0.1, 0.9, 9, {})
    assert merge_settings(RUNTIME, provider="anthropic").model_id is None


def test_a_workflow_keeps_its_live_settings_beside_its_recording() -> None:
    recorded = merge_settings(RUNTIME, provider="replay")
    assert merge_settings(recorded, provider="openai") == RUNTIME


# -- the reference page


def table_of_the_reference() -> str:
    lines = [
        "| provider | service | extra | key | default host | settings without effect |",
        "|---|---|---|---|---|---|",
    ]
    for provider in LIVE:
        keys = " or ".join(f"`{key}`" for key in provider.keys) or ("AWS credentials" if provider.aws else "none")
        keys = f"AWS credentials or {keys}" if provider.aws and provider.keys else keys
        keys = "of the service that the model's prefix names" if provider.name == "litellm" else keys
        without = ", ".join(f"`{name}`" for name in SETTING_FIELDS if name not in provider.places) or "none"
        extra = f"`{provider.extra}`" if provider.extra else "none needed"
        host = f"`{provider.default_host}`" if provider.default_host else "the service's own"
        lines.append(f"| `{provider.name}` | {provider.title} | {extra} | {keys} | {host} | {without} |")
    lines += ["", "| provider | keys of `options` |", "|---|---|"]
    lines += [f"| `{p.name}` | {', '.join(f'`{key}`' for key in sorted(p.options))} |" for p in LIVE]
    return "\n".join(lines)


def test_the_reference_page_has_the_table() -> None:
    page = (CLONE / "docs" / "reference" / "providers.md").read_text(encoding="utf-8")
    assert table_of_the_reference() in page, f"put this into the page:\n{table_of_the_reference()}"


def test_findings_are_json() -> None:
    assert json.dumps([f.as_dict() for f in check_provider(ModelSettings("openai"), {})])
