"""What a provider of a distribution gets and promises, as docs/how-to/providers.md has it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from strands.types.exceptions import ContextWindowOverflowException

from strands_cli.agents.model.model_errors import explain_error
from strands_cli.catalog.distributions.scan import import_named
from strands_cli.default_parts import DEFAULTS
from strands_cli.default_parts import PROVIDERS as GROUP
from strands_cli.parts.named_providers import fault_of_row
from strands_cli.planning.plan_values import PlannedAgent
from strands_cli.planning.provider_checks import check_provider
from strands_cli.provider_table import PROVIDERS, Provider
from strands_cli.providers import ModelSettings
from tests.cli.strands import CLONE, Folder
from tests.distributions import make_distribution
from tests.fakes.model_server import ModelServer, Turn

NAME = "strands-cli-yours"
POINTS = """\
[strands_cli.providers]
recorder = strands_cli_yours.rows:RECORDER
direct = strands_cli_yours.rows:DIRECT
acme = strands_cli_yours.rows:ACME
number = strands_cli_yours.rows:NUMBER
misnamed = strands_cli_yours.rows:RECORDER
gone = strands_cli_yours.nowhere:ROW
exits = strands_cli_yours.exits:ROW
unequipped = strands_cli_yours.rows:UNEQUIPPED
elsewhere = strands_cli_yours.rows:ELSEWHERE
openai = strands_cli_yours.rows:RECORDER
"""
ROWS = """
import os
from pathlib import Path

from strands_cli.api import Provider

Path(os.environ["IMPORTED"]).touch()
SETTINGS = ("model_id", "region", "host", "temperature", "top_p", "max_tokens")


def late(**settings):
    from strands_cli_yours.models import make

    return make(**settings)


RECORDER = Provider(
    "recorder",
    "Records what it gets",
    make="strands_cli_yours.models:make",
    places={**{name: (name,) for name in SETTINGS}, "top_p": ("deep", "top_p")},
    needs=frozenset(),
    options=frozenset({"top_k", "deep", "level"}),
    sections={"deep": frozenset({"top_p", "list"})},
    option_schemas={"level": {"type": "integer", "minimum": 1}},
    keys=("YOURS_TOKEN",),
    key_place=("token",),
    default_host="https://models.yours.example",
    presets={("retries",): 0},
    temperature_max=1.0,
)
DIRECT = Provider("direct", "A function", make=late, places={"model_id": ("model_id",)})
ACME = Provider(
    "acme",
    "A service with OpenAI's interface",
    make="strands.models.openai:OpenAIModel",
    modules=("openai",),
    places={"model_id": ("model_id",), "host": ("client_args", "base_url"), "max_tokens": ("params", "max_tokens")},
    options=frozenset({"params", "client_args"}),
    keys=("ACME_KEY",),
    key_place=("client_args", "api_key"),
    passes_key=True,
    default_host="https://api.acme.example/v1",
    presets={("client_args", "base_url"): "https://api.acme.example/v1", ("client_args", "max_retries"): 0},
)
NUMBER = 7
UNEQUIPPED = Provider("unequipped", "Needs more", make=late, needs=(), modules=("no_such_module",), extra="all")
ELSEWHERE = Provider("elsewhere", "Its model is gone", make="strands_cli_yours.nowhere:make", needs=frozenset())
"""
MODELS = """
import json
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException
from strands_cli.api import InvalidInput, NotEquipped

class Recorder(Model):
    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, *args, **kwargs):
        if "long" in messages[-1]["content"][0]["text"]:
            raise ContextWindowOverflowException("9000 tokens do not fit into 4096")
        if "late" in messages[-1]["content"][0]["text"]:
            raise InvalidInput("this model reads no pictures", fix="send text")
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "heard"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}

def make(*words, **settings):
    with open("made.txt", "a") as file:
        print(json.dumps([words, settings], sort_keys=True), file=file)
    name = settings.get("model_id")
    if name == "bad":
        raise InvalidInput("there is no model 'bad'", fix="take 'good'")
    if name == "heavy":
        raise NotEquipped("this machine is too small", fix="take 'light'")
    if name == "bug":
        raise OSError("no line")
    if name == "exit":
        raise SystemExit(0)
    return None if name == "nothing" else Recorder()
"""
TOKEN = "a-token-of-the-test"


@pytest.fixture
def yours(folder: Folder) -> Folder:
    """Install the distribution of a stranger."""
    files = {
        "strands_cli_yours/__init__.py": "",
        "strands_cli_yours/rows.py": ROWS,
        "strands_cli_yours/models.py": MODELS,
        "strands_cli_yours/exits.py": "raise SystemExit('at import')\n",
    }
    make_distribution(folder.site, NAME, "1.0", POINTS, files)
    folder.environ |= {"YOURS_TOKEN": TOKEN, "IMPORTED": str(imported(folder))}
    return folder


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda _request: Turn("fine", usage=(5, 2))) as running:
        yield running


def imported(folder: Folder) -> Path:
    return folder.root / "imported"


def flow(folder: Folder, provider: str = "recorder", word: str = "a", **runtime: Any) -> None:
    steps = [{"agent": "writer", "input": word}, {"agent": "writer", "input": "b"}]
    agents = {"writer": {"prompt": "You write.", "memory": "step"}}
    folder.workflow(steps, runtime={"provider": provider, **runtime}, agents=agents)


def made(folder: Folder) -> list[Any]:
    path = folder.work / "made.txt"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


# -- what it gets


def test_a_maker_gets_every_setting_at_its_place_and_nothing_else(yours: Folder) -> None:
    written = {"model_id": "m", "region": "r", "host": "http://localhost:1", "temperature": 0.5, "max_tokens": 9}
    flow(yours, **written, top_p=0.5, options={"top_k": 3, "deep": {"list": [1, {"a": None}]}})
    ran = yours.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (0, "heard\n"), ran.err
    # Once for an agent, however many steps it has; the token stays in the environment.
    deep = {"list": [1, {"a": None}], "top_p": 0.5}
    assert made(yours) == [[[], {**written, "top_k": 3, "deep": deep, "retries": 0}]]


def test_no_policy_switches_it_on_and_a_person_may_name_it_too(yours: Folder) -> None:
    flow(yours, "ollama", model_id="other")
    ran = yours.strands("run", "flow.yaml", "--provider", "direct", "--model", "m")
    assert (ran.code, ran.out) == (0, "heard\n"), ran.err
    assert made(yours) == [[[], {"model_id": "m"}]]


def test_a_row_alone_adds_a_service_with_openais_interface(yours: Folder, server: ModelServer) -> None:
    flow(yours, "acme", model_id="m", host=server.url, max_tokens=9)
    ran = yours.strands("run", "flow.yaml", ACME_KEY="sk-the-key-of-acme")
    assert (ran.code, ran.out) == (0, "fine\n"), ran.err
    first, _ = server.requests
    assert first.headers["authorization"] == "Bearer sk-the-key-of-acme"
    assert (first.json["model"], first.json["max_tokens"]) == ("m", 9)
    assert "sk-the-key-of-acme" not in ran.out + ran.err


def test_a_row_without_its_key_says_which_variable_is_not_set(yours: Folder) -> None:
    flow(yours, "acme", model_id="m")
    planned = yours.strands("plan", "flow.yaml")
    assert (planned.code, planned.codes) == (18, ["missing-api-key"]), planned.err
    assert "ACME_KEY is not set" in planned.err


def test_its_key_is_redacted(yours: Folder, server: ModelServer) -> None:
    server.script = lambda _request: Turn(f"the token is {TOKEN}", usage=(1, 1))
    flow(yours, "acme", word="a", model_id="m", host=server.url)
    ran = yours.strands("run", "flow.yaml", ACME_KEY=TOKEN)
    assert ran.code == 0, ran.err
    assert TOKEN not in ran.out + ran.err


# -- what is checked before a run


@pytest.mark.parametrize("command", ["validate", "explain supported", "lock", "plugin list"])
def test_what_lists_and_checks_imports_nothing_of_it(yours: Folder, command: str) -> None:
    flow(yours)
    words = command.split()
    ran = yours.strands(*words, *(["flow.yaml"] if command == "validate" else []))
    assert ran.code == 0, ran.err
    assert not imported(yours).exists()
    if command in ("explain supported", "plugin list"):
        assert "recorder" in ran.out
        assert NAME in ran.out


def test_its_name_is_completed_without_an_import(yours: Folder) -> None:
    flow(yours)
    words = "strands run flow.yaml --provider rec"
    environment = {"_STRANDS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": "4"}
    assert yours.run([sys.executable, "-m", "strands_cli"], **environment).out.split() == ["recorder"]
    assert not imported(yours).exists()


def test_looking_at_a_workflow_imports_the_row_and_makes_no_model(yours: Folder) -> None:
    flow(yours)
    for command in ("plan", "explain"):
        assert yours.strands(command, "flow.yaml").code == 0, command
    assert imported(yours).exists()
    assert made(yours) == []


SETTINGS: dict[str, tuple[dict[str, Any], str, str]] = {
    "unknown": ({"options": {"top": 3}}, "unknown-option", "did you mean 'top_k'?"),
    "inner": ({"options": {"deep": {"lst": 1}}}, "unknown-option", "did you mean 'list'?"),
    "form": ({"options": {"deep": 3}}, "option-type", "must be a mapping"),
    "schema": ({"options": {"level": 0}}, "option-value", "0 is less than the minimum of 1"),
    "range": ({"temperature": 1.5}, "setting-out-of-range", "0 to 1"),
    "host": ({"host": "ftp://x"}, "bad-host", "http"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_a_plan_checks_its_settings(yours: Folder, case: str) -> None:
    runtime, code, words = SETTINGS[case]
    flow(yours, **runtime)
    planned = yours.strands("plan", "flow.yaml")
    assert (planned.code, planned.codes[0]) == (3, code), planned.err
    assert words in planned.err
    assert "flow.yaml:" in planned.err


def test_what_it_requires_is_checked_before_the_run(yours: Folder) -> None:
    flow(yours, "unequipped")
    planned = yours.strands("plan", "flow.yaml")
    assert (planned.code, planned.codes) == (18, ["missing-extra"])
    assert f"fix: pip install '{NAME}[all]'" in planned.err
    (line,) = [one for one in yours.strands("doctor").out.splitlines() if "unequipped" in one]
    assert "no_such_module" in line


def test_doctor_reports_what_each_distribution_brings(yours: Folder) -> None:
    checks = {one["name"]: one for one in yours.strands("doctor", "--json").document["checks"]}
    assert checks["provider recorder"]["message"] == "client installed, key set: ready"
    assert (checks["provider gone"]["status"], NAME in checks["provider gone"]["message"]) == ("failed", True)


def test_where_data_goes_is_what_the_row_declares(yours: Folder) -> None:
    flow(yours)
    planned = yours.strands("plan", "flow.yaml", "--format", "json")
    assert "models.yours.example" in planned.out


# -- names


@pytest.mark.parametrize("command", ["validate", "plan"])
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(yours: Folder, command: str) -> None:
    flow(yours, "recoder")
    ran = yours.strands(command, "flow.yaml")
    assert (ran.code, ran.codes) == (3, ["unknown-provider"])
    assert "did you mean 'recorder'?" in ran.err
    assert not imported(yours).exists()


def test_a_name_of_ours_comes_with_the_command_that_installs_it(folder: Folder) -> None:
    flow(folder, "local", model_id="m.gguf")
    planned = folder.strands("plan", "flow.yaml")
    assert (planned.code, planned.codes) == (3, ["unknown-provider"])
    assert "fix: pip install strands-cli-local" in planned.err
    checked = folder.strands("validate", "flow.yaml")
    assert (checked.code, "warning[unknown-provider]" in checked.err) == (0, True)


def test_a_provider_of_the_program_is_not_replaced(yours: Folder) -> None:
    flow(yours, "openai", model_id="m", host="http://127.0.0.1:9/v1")
    assert yours.strands("plan", "flow.yaml").code == 0
    assert not imported(yours).exists()


def test_two_distributions_that_claim_a_provider_are_refused_with_both_names(yours: Folder) -> None:
    points = "[strands_cli.providers]\nrecorder = strands_cli_theirs:ROW\n"
    make_distribution(yours.site, "strands-cli-theirs", "1.0", points, {"strands_cli_theirs.py": "raise SystemExit"})
    flow(yours)
    for command in ("plan", "run"):
        ran = yours.strands(command, "flow.yaml")
        assert (ran.code, ran.codes) == (21, ["part-taken"]), ran.err
        assert f"strands-cli-theirs and {NAME} claim the model provider `recorder`" in ran.err
    assert not imported(yours).exists()


def test_a_name_of_ours_is_refused_to_another_distribution(yours: Folder) -> None:
    make_distribution(yours.site, "strands-cli-theirs", "1.0", "[strands_cli.providers]\nlocal = json:loads\n", {})
    flow(yours, "local", model_id="m")
    ran = yours.strands("plan", "flow.yaml")
    assert (ran.code, ran.codes) == (21, ["part-taken"])
    assert "strands-cli-theirs claims the model provider `local`, which is that of strands-cli-local" in ran.err


# -- policy and the lock


def test_a_denied_distribution_is_not_imported(yours: Folder) -> None:
    flow(yours)
    yours.write("strands-policy.yaml", f"version: 1\nrules:\n- {{deny: '*', distribution: {NAME}}}\n")
    for command in ("plan", "run"):
        ran = yours.strands(command, "flow.yaml")
        assert (ran.code, ran.codes) == (21, ["part-denied"]), ran.err
        assert f"the model provider `recorder` is of {NAME}, which is denied" in ran.err
    assert not imported(yours).exists()


def test_a_lock_has_what_its_workflows_name_and_a_change_is_not_imported(yours: Folder) -> None:
    flow(yours)
    assert yours.strands("lock").code == 0
    assert NAME in (yours.work / "strands.lock").read_text()
    assert not imported(yours).exists()
    assert yours.strands("run", "flow.yaml", "--locked").code == 0
    assert yours.strands("lock", "--check").code == 0
    imported(yours).unlink()
    with (yours.site / "strands_cli_yours" / "models.py").open("a") as file:
        file.write("# changed\n")
    for command in ("plan", "run"):
        ran = yours.strands(command, "flow.yaml")
        assert (ran.code, ran.codes) == (21, ["lock-changed"]), ran.err
        assert NAME in ran.err
    assert yours.strands("lock", "--check").code == 21
    assert not imported(yours).exists()
    assert yours.strands("lock", "--update", NAME).code == 0
    assert yours.strands("run", "flow.yaml").code == 0


def test_the_lock_beside_the_workflow_counts_from_any_folder(yours: Folder) -> None:
    flow(yours)
    assert yours.strands("lock").code == 0
    with (yours.site / "strands_cli_yours" / "models.py").open("a") as file:
        file.write("# changed\n")
    ran = yours.strands("run", yours.work / "flow.yaml", cwd=yours.root)
    assert (ran.code, ran.codes) == (21, ["lock-changed"]), ran.err
    assert not imported(yours).exists()


def test_a_lock_that_does_not_have_it_keeps_it_out(yours: Folder) -> None:
    yours.write("strands.lock", "")
    flow(yours, "ollama", model_id="m")
    assert yours.strands("lock").code == 0
    ran = yours.strands("run", "flow.yaml", "--provider", "recorder")
    assert (ran.code, ran.codes) == (21, ["lock-unlisted"]), ran.err
    assert not imported(yours).exists()
    (fix,) = [line for line in ran.err.splitlines() if "strands lock" in line]
    assert yours.strands(*fix.partition("strands ")[2].split()).code == 0
    assert yours.strands("run", "flow.yaml", "--provider", "recorder").code == 0


# -- what is wrong with it


BROKEN = {
    "gone": "cannot be imported: ModuleNotFoundError",
    "exits": "cannot be imported: SystemExit: at import",
    "number": "it is int, and not a strands_cli.api.Provider",
    "misnamed": "its name is 'recorder'",
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_a_provider_names_its_distribution(yours: Folder, name: str) -> None:
    flow(yours, name)
    for command in ("plan", "run"):
        ran = yours.strands(command, "flow.yaml")
        assert (ran.code, ran.codes) == (18, ["part-broken"]), ran.err
        assert BROKEN[name] in ran.err
        assert f"the model provider `{name}` of {NAME} (" in ran.err
        assert f"fix: pip install --upgrade {NAME}" in ran.err
        assert "flow.yaml:" in ran.err
    assert not yours.runs.exists()


MAKING = {
    "bug": f"provider 'recorder' of {NAME} (strands_cli_yours.models:make) failed: OSError: no line",
    "exit": f"provider 'recorder' of {NAME} (strands_cli_yours.models:make) failed: SystemExit: 0",
    "nothing": f"provider 'recorder' of {NAME} (strands_cli_yours.models:make) returned NoneType, not a model",
}


@pytest.mark.parametrize("model", MAKING)
def test_a_maker_that_fails_is_reported_with_its_distribution(yours: Folder, model: str) -> None:
    flow(yours, model_id=model)
    ran = yours.strands("run", "flow.yaml")
    assert (ran.code, MAKING[model] in ran.err) == (18, True), ran.err
    assert f"fix: pip install --upgrade {NAME}" in ran.err
    assert not yours.runs.exists()


def test_a_model_that_cannot_be_imported_is_reported_with_its_distribution(yours: Folder) -> None:
    flow(yours, "elsewhere")
    assert yours.strands("plan", "flow.yaml").code == 0
    ran = yours.strands("run", "flow.yaml")
    assert (ran.code, "strands_cli_yours.nowhere" in ran.err, NAME in ran.err) == (18, True, True), ran.err


@pytest.mark.parametrize(("model", "code", "words"), [("bad", 3, "take 'good'"), ("heavy", 18, "take 'light'")])
def test_an_error_of_strands_cli_keeps_its_words_its_fix_and_its_code(
    model: str, code: int, words: str, yours: Folder
) -> None:
    flow(yours, model_id=model)
    ran = yours.strands("run", "flow.yaml")
    assert ran.code == code, ran.err
    assert words in ran.err
    assert not yours.runs.exists()


@pytest.mark.parametrize(
    ("word", "code", "words"), [("long", 10, "9000 tokens do not fit into 4096"), ("late", 3, "fix: send text")]
)
def test_an_error_of_a_request_keeps_its_words_too(word: str, code: int, words: str, yours: Folder) -> None:
    flow(yours, word=word)
    ran = yours.strands("run", "flow.yaml")
    assert ran.code == code, ran.err
    assert words in ran.err


def test_an_error_of_the_sdk_about_the_length_does_not_hide_that_of_the_provider() -> None:
    agent = PlannedAgent("writer", "be brief", ModelSettings("recorder"), ())
    error = ContextWindowOverflowException("the history is as short as it gets")
    error.__cause__ = ContextWindowOverflowException("9000 tokens do not fit into 4096")
    assert "9000 tokens" in explain_error(error, agent).message


FAULTS: dict[str, dict[str, Any]] = {
    "`make` is neither": {"make": "nowhere"},
    "`keys` is not a tuple of texts": {"keys": "YOURS_KEY"},
    "`key_place` is not a tuple of texts": {"key_place": "key"},
    "`options` is not a set of texts": {"options": "top_k"},
    "`default_host` is 7": {"default_host": 7},
    "`default_host` is 'yours.example'": {"default_host": "yours.example"},
    "`temperature_max` is '1'": {"temperature_max": "1"},
    "`aws` is 'no'": {"aws": "no"},
    "`keyless` has 'token'": {"keyless": ("token",)},
    "`presets` has 'retries'": {"presets": {"retries": 0}},
    "`sections` has": {"options": ["deep"], "sections": {"deep": "top_p"}},
    "`places` is not a mapping": {"places": ("model_id",)},
    "`places` has 'model', and": {"places": {"model": ("m",)}, "needs": ()},
    "the place of 'model_id' is not a tuple": {"places": {"model_id": "model_id"}},
    "`needs` has 'model_id', which has no place": {"places": {}},
    "`sections` has 'deep', which is not one of its `options`": {"sections": {"deep": ()}},
    "the schema of the option 'n' is not valid": {
        "options": ["n"],
        "option_schemas": {"n": {"type": "whole"}},
    },
}


@pytest.mark.parametrize("words", FAULTS)
def test_a_row_with_a_mistake_says_which(words: str) -> None:
    sound: dict[str, Any] = {"make": "yours:make", "places": {"model_id": ("model_id",)}}
    assert fault_of_row(Provider("yours", "Yours", **sound), "yours") is None
    assert words in str(fault_of_row(Provider("yours", "Yours", **{**sound, **FAULTS[words]}), "yours"))


@pytest.mark.parametrize("reference", ["#", "#/nowhere", "http://127.0.0.1:9/schema.json"])
def test_a_schema_that_leads_nowhere_is_a_finding_and_never_a_request(reference: str) -> None:
    schemas = {"level": {"$ref": reference}}
    row = Provider("yours", "Yours", make="yours:make", needs=frozenset(), options={"level"}, option_schemas=schemas)
    (finding,) = check_provider(ModelSettings("yours", options={"level": 1}), {}, provider=row)
    assert (finding.code, "level" in finding.message) == ("option-value", True)


# -- the program's own


def test_the_programs_own_are_rows_of_the_same_kind_found_the_same_way() -> None:
    assert {name: import_named(value) for name, value in DEFAULTS[GROUP].items()} == PROVIDERS
    assert {name: fault_of_row(row, name) for name, row in PROVIDERS.items() if name != "replay"} == dict.fromkeys(
        PROVIDERS.keys() - {"replay"}
    )


AT_END = """
import atexit, runpy, sys
names = ("strands", "xllamacpp", "strands_cli_local.local_model", "strands_cli_local.provider")
atexit.register(lambda: print("loaded:", *(name for name in names if name in sys.modules), file=sys.stderr))
sys.argv = ["strands", "plan", "flow.yaml"]
runpy.run_module("strands_cli", run_name="__main__")
"""


def test_a_plan_with_the_provider_of_local_models_imports_neither_sdk_nor_runtime(folder: Folder) -> None:
    points = "[strands_cli.providers]\nlocal = strands_cli_local.provider:PROVIDER\n"
    source = CLONE / "packages" / "strands-cli-local" / "src" / "strands_cli_local"
    files = {f"strands_cli_local/{path.name}": path.read_text("utf-8") for path in source.glob("*.py")}
    make_distribution(folder.site, "strands-cli-local", "0.1.0", points, {**files, "xllamacpp.py": ""})
    flow(folder, "local", model_id="m.gguf", options={"context": 128})
    ran = folder.run([sys.executable, "-c", AT_END])
    assert ran.code == 0, ran.err
    assert "loaded: strands_cli_local.provider\n" in ran.err
    flow(folder, "local", model_id="m.gguf", options={"contxt": 128, "seed": -1})
    ran = folder.strands("plan", "flow.yaml")
    assert (ran.code, sorted(ran.codes)) == (3, ["option-value", "unknown-option"]), ran.err
