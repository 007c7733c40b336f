"""`validate` checks the names in a workflow: what the file gets wrong is an error, what is not installed a warning."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.app import load
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.cli.program import run_program
from strands_cli.errors import Finding, InvalidInput
from strands_cli.provider_table import PROVIDERS, SYNONYMS
from strands_cli.yaml_files.document_reader import read_document
from tests.distributions import make_distribution, sound
from tests.wordings import Wording

FLOW = """\
version: 2
name: flow
runtime: {provider: PROVIDER, model_id: m}
agents: {a: {prompt: Answer., tools: [TOOL]}}
pattern: {type: chain, config: {steps: [STEP]}}
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sound(tmp_path / "site", "echo")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "site"


def found(
    site: Path, tool: str = "native:echo", provider: str = "ollama", step: str = "{agent: a, input: go}"
) -> list[Finding]:
    text = FLOW.replace("TOOL", tool).replace("PROVIDER", provider).replace("STEP", step)
    return list(app.check("flow.yaml", text, catalog=discover_catalog([str(site)])))


def test_a_workflow_whose_names_all_exist_has_no_findings(site: Path) -> None:
    assert found(site) == []


@pytest.mark.parametrize(
    ("tool", "code", "fix"),
    [
        ("mcp:nosuch/x", "unknown-server", "define it: `tools: {mcp: [{id: nosuch, command: ...}]}`"),
        ("'agent:nobody'", "unknown-agent", "there are: a"),
        ("'workflow:./missing.yaml'", "file-unreadable", "correct the path"),
        ("'native: echo'", "bad-tool-ref", None),
        ("./x.py", "bad-tool-ref", None),
        ("native:echo@latest", "bad-tool-ref", None),
        ("naitve:echo", "bad-tool-ref", "did you mean 'native:echo'?"),
        ("Native:echo", "bad-tool-ref", "did you mean 'native:echo'?"),
        ("mpc:files", "bad-tool-ref", "did you mean 'mcp:files'?"),
        ("agents:a", "bad-tool-ref", "did you mean 'agent:a'?"),
    ],
)
def test_what_the_file_alone_gets_wrong_is_an_error(site: Path, tool: str, code: str, fix: str | None) -> None:
    (finding,) = found(site, tool)
    assert (finding.code, finding.severity) == (code, "error")
    assert finding.where is not None
    assert (finding.where.line, finding.where.pointer) == (4, "/agents/a/tools/0")
    assert fix is None or finding.fix == fix


def test_custom_python_that_names_a_method_of_a_class_is_to_name_the_class(site: Path) -> None:
    method = "    @tool\n    def put(self, thing: str) -> str:\n        'Put.'\n"
    source = f"from strands import tool\nclass Shelf:\n{method}shelf = Shelf()\n"
    Path("keep.py").write_text(source, encoding="utf-8")
    folder, fix = [one.fix for one in found(site, "'keep:Shelf.put'") if one.code == "unknown-tool"]
    assert fix is not None
    assert fix.endswith(": keep:Shelf")
    assert [one.fix for tool in ("Shelf", "shelf.put") for one in found(site, f"'keep:{tool}'")] == [folder] * 2


def test_a_word_without_effect_in_the_spec_of_custom_python_is_reported_before_a_run(site: Path) -> None:
    spec = {"name": "keep", "description": "Keep.", "inputSchema": {"json": {"type": "object"}}, "flavour": "x"}
    Path("keep.py").write_text(f"TOOL_SPEC = {spec}\ndef keep(tool, **kwargs): ...\n", encoding="utf-8")
    (finding,) = [one for one in found(site, "'keep:keep'") if one.code == "tool-word"]
    assert (finding.severity, finding.where.line if finding.where else None) == ("warning", 2)
    assert "'flavour'" in finding.message


def test_a_module_with_a_name_like_a_prefix_is_custom_python(site: Path) -> None:
    Path("agents.py").write_text("def a(): ...\n")
    assert [one.fix for one in found(site, "agents:a")] == ["write `tools: {python_path: [.]}`"]


@pytest.mark.parametrize("tool", ["native:ehco", "echo@>9", "native:nobody-has/echo"])
def test_a_tool_that_this_machine_lacks_is_a_warning(site: Path, tool: str) -> None:
    (finding,) = found(site, f"'native:{tool.removeprefix('native:')}'")
    assert finding.severity == "warning"
    assert finding.code in ("unknown-tool", "tool-version")


def test_the_same_tool_is_an_error_of_the_plan(site: Path) -> None:
    text = FLOW.replace("TOOL", "native:ehco").replace("PROVIDER", "ollama").replace("STEP", "{agent: a, input: go}")
    planned = app.plan("flow.yaml", text=text, catalog=discover_catalog([str(site)]))
    assert ("unknown-tool", "error") in [(one.code, one.severity) for one in planned.findings]


def test_a_provider_that_does_not_exist_is_an_error(site: Path) -> None:
    (finding,) = found(site, provider="opnai")
    assert (finding.code, finding.severity, finding.fix) == ("unknown-provider", "error", "did you mean 'openai'?")


def test_a_provider_of_an_installed_distribution_is_known_by_its_name(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = "[strands_cli.providers]\nacme = acme_rows:ACME\n"
    make_distribution(site, "acme-models", "1.0", points, {"acme_rows.py": "raise SystemExit"})
    monkeypatch.syspath_prepend(str(site))
    assert found(site, provider="acme") == []
    (finding,) = found(site, provider="acmee")
    assert (finding.code, finding.severity, finding.fix) == ("unknown-provider", "error", "did you mean 'acme'?")


def test_a_provider_of_a_known_distribution_is_only_warned_of(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(site)])
    (finding,) = found(site, provider="local")
    assert (finding.code, finding.severity) == ("unknown-provider", "warning")
    assert finding.fix == "pip install strands-cli-local"
    make_distribution(site, "strands-cli-local", "0.1.0", "[strands_cli.providers]\nlocal = gone:ROW\n", {})
    assert found(site, provider="local") == []


def test_keys_and_clients_of_providers_are_left_to_the_plan(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for provider in ("openai", "bedrock", "mistral"):
        assert found(site, provider=provider) == []


def test_a_file_with_mistakes_of_form_is_checked_for_names_too(site: Path) -> None:
    codes = [one.code for one in found(site, "native:ehco", "opnai", "{agent: b, input: go}, {agent: a, inptu: x}")]
    assert codes == ["unknown-provider", "unknown-tool", "unknown-agent", "unknown-key"]


def test_a_plan_of_such_a_file_reports_the_same(site: Path) -> None:
    text = FLOW.replace("TOOL", "native:ehco").replace("PROVIDER", "opnai").replace("STEP", "{agent: b, input: go}")
    catalog = discover_catalog([str(site)])
    with pytest.raises(InvalidInput) as raised:
        app.plan("flow.yaml", text=text, catalog=catalog)
    assert raised.value.findings == app.check("flow.yaml", text, catalog=catalog)


def test_what_is_wrong_with_another_workflow_is_reported_in_its_file(site: Path) -> None:
    Path("inner.yaml").write_text(
        FLOW.replace("TOOL", "mcp:nosuch").replace("PROVIDER", "opnai").replace("STEP", "{agent: a, input: go}")
    )
    assert [(one.code, one.where and one.where.file) for one in found(site, "'workflow:inner.yaml'")] == [
        ("unknown-provider", "inner.yaml"),
        ("unknown-server", "inner.yaml"),
    ]


def test_a_mistyped_input_of_a_tool_is_one_finding(site: Path) -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    sound(site, "strict", input_schema={**schema, "additionalProperties": False})
    step = "{tool: native:strict, input: {txet: x}}, {agent: a, input: go}"
    (finding,) = found(site, step=step)
    assert (finding.code, finding.fix) == ("tool-input", "did you mean 'text'?")


def test_seven_mistakes_of_form_and_of_names_are_seven_findings(site: Path) -> None:
    text = """\
version: 2
name: many
runtime: {provider: opnai, model_id: m}
inputs: {required: {n: int}}
agents:
  poet: {prompt: Answer., tools: [native:ehco, naitve:echo]}
  other: {prompts: Answer.}
pattern:
  type: chain
  config:
    step:
      - {agent: peot, input: "{{ n }}"}
      - {agent: other}
"""
    findings = app.check("flow.yaml", text, catalog=discover_catalog([str(site)]))
    assert [(one.code, one.where and one.where.line) for one in findings] == [
        ("unknown-provider", 3),
        ("bad-value", 4),
        ("unknown-tool", 6),
        ("bad-tool-ref", 6),
        ("unknown-key", 7),
        ("unknown-key", 11),
        ("unknown-agent", 12),
    ]
    assert findings[-1].where is not None
    assert findings[-1].where.pointer == "/pattern/config/step/0/agent"


@pytest.mark.parametrize(
    ("provider", "meant"), [("OpenAI", "openai"), ("claude", "anthropic"), ("Google", "gemini"), ("AWS", "bedrock")]
)
def test_case_and_synonyms_of_providers_are_understood(site: Path, provider: str, meant: str) -> None:
    (finding,) = found(site, provider=provider)
    assert finding.fix == f"did you mean '{meant}'?"


def test_each_synonym_is_one_of_a_provider() -> None:
    assert set(SYNONYMS.values()) <= PROVIDERS.keys()
    assert not SYNONYMS.keys() & PROVIDERS.keys()


def test_a_template_without_quotes_is_one_finding_and_the_rest_is_checked(site: Path) -> None:
    steps = "{agent: a, input: {{ topic }}}, {agent: b, input: {{ topic }}}"
    errors = sorted((one.code, one.fix) for one in found(site, step=steps) if one.severity == "error")
    quoted = ("unquoted-template", 'write "{{ topic }}"')
    assert errors == [("unknown-agent", "there are: a"), quoted, quoted]


@pytest.mark.parametrize("line", ["input: {{ a }} and more", "input: {{ a }} # note", 'input: {{ a["x"] }}'])
def test_the_text_that_a_fix_of_quotes_shows_is_correct(line: str) -> None:
    with_mistake = f"steps:\n  - agent: a\n    {line}\n"
    (finding,) = read_document("x.yaml", with_mistake).findings
    assert finding.code == "unquoted-template"
    assert finding.fix is not None
    corrected = with_mistake.replace(
        line.partition(" #")[0].removeprefix("input: "), finding.fix.removeprefix("write ")
    )
    assert not read_document("x.yaml", corrected).findings


def test_a_mapping_as_a_key_is_still_refused() -> None:
    for text in ("{a: 1}: b\n", "? [a]\n: b\n", "a: {{x: 1}: 2}\n"):
        with pytest.raises(InvalidInput):
            read_document("x.yaml", text)


def test_many_texts_without_quotes_end_in_time() -> None:
    with pytest.raises(InvalidInput):
        read_document("x.yaml", "".join(f"k{number}: {{{{ a }}}}\n" for number in range(2_000)))


def test_a_file_of_one_agent_is_called_that_and_its_fix_checks_it(
    tmp_path: Path, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("name: greeter\nprompt: Greet.\n")
    (finding,) = app.check(file)
    assert finding.code == "not-a-workflow"
    assert finding.fix is not None
    assert run_program(finding.fix.split()[1:]) == 0
    assert str(file) in capsys.readouterr().out


@pytest.mark.parametrize(
    "text", ["recording: 1\nsteps: {}\n", "tests: [{name: a, expect: {}}]\n", "- {name: a, expect: {contains: x}}\n"]
)
def test_other_files_of_the_format_are_called_what_they_are(text: str, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "other.yaml").write_text(text)
    (finding,) = app.check(tmp_path / "other.yaml")
    assert finding.code == "not-a-workflow"
    wording([finding.message, finding.fix])


@pytest.mark.parametrize(
    ("section", "pattern"),
    [("steps: [{agent: a, input: x}]", "chain"), ("tasks: [{id: t, agent: a, input: x}]", "workflow")],
)
def test_a_section_of_a_missing_pattern_is_answered_with_the_pattern(section: str, pattern: str) -> None:
    head = "version: 2\nname: f\nruntime: {provider: ollama, model_id: m}\nagents: {a: {prompt: p}}\n"
    (found,) = load("<text>", f"{head}{section}\n").findings
    assert f"{{type: {pattern}, config: {{{section.partition(':')[0]}: ...}}}}" in (found.fix or "")
    moved = f"{head}pattern: {{type: {pattern}, config: {{{section}}}}}\n"
    assert load("<text>", moved).findings == ()


TEMPLATES = {
    "On {{ topic {{ n }}": "close it with `}}`",
    "{{ topic": "close it with `}}`",
    "{% if a %}x": "end it with `{% endif %}`",
    "{% endif %}": "remove it",
    "{% fro x in y %}{% endfor %}": "did you mean `for`?",
    "{# x": "close it with `#}`",
    "{{{ a }}}": "write `{{ name }}`",
    "{{ a = 1 }}": "write `==` to compare",
    "{{ a && b }}": "write `and` for `&&`",
    "{{ a ? b : c }}": "write `b if a else c` for `a ? b : c`",
    "{{ a b }}": "an operator",
    "{{ 'x }}": "close it with `'`",
    "{{ }}": "write a whole expression: `{{ name }}`",
    "{{ | }}": ": `{{ name | upper }}`",
    "{{ | upper }}": ": `{{ name | upper }}`",
    "{{ a | }}": "name a filter, or remove `|`",
    "{{ a || b }}": "write `or` for `||`",
    "{{ a ?? b }}": "write `a | default(b)` for `a ?? b`",
    "{{ a[0 }}": "close it with `]`",
    "{{ (a }}": "close it with `)`",
    "{{ a | join(', ' }}": "close it with `)`",
    "{{ a) }}": ": `(a)`",
    "{{ {'a': } }}": ": `{a}`",
    "{{ a,, }}": "write it, or remove `,`",
    "{% for x a %}{% endfor %}": "write `{% for item in items %}`",
    "{{ `a` }}": "write ' for it",
    "{{ a; }}": "an operator",
    "{% if a == %}x{% endif %}": "write a whole expression: `{{ name }}`",
    "{% from 'x' import y %}": None,
    "{% block a b %}{% endblock %}": None,
    "{{ a is }}": None,
    "{{ a if b els c }}": None,
    "{% macro 1 %}{% endmacro %}": None,
    "{% set 1 = 2 %}": None,
}


@pytest.mark.parametrize(("template", "fix"), TEMPLATES.items())
def test_a_broken_template_is_explained_in_words_about_the_template(site: Path, template: str, fix: str | None) -> None:
    (finding,) = found(site, step=f"{{agent: a, input: {json.dumps(template)}}}")
    assert finding.code == "bad-template"
    assert (fix or "") in (finding.fix or "")
    assert not re.search(r"token|statement|unexpected|Jinja was", finding.message)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("help", "--help"), ("init", "new"), ("logs", "runs show"), ("ps", "runs list"), ("Run", "run")],
)
def test_words_of_other_programs_are_answered_with_the_command(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program([word]) == 2
    assert f"{meant}'?" in capsys.readouterr().err
    assert run_program([*meant.split(), *([] if meant == "--help" else ["--help"])]) == 0


@pytest.mark.parametrize("command", ["run x.yaml", "runs list", "doctor", "list-tools", "lock ."])
def test_the_option_of_other_programs_for_json_is_answered_with_ours(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program([*command.split(), "--format", "json"]) == 2
    assert "did you mean `--json`?" in capsys.readouterr().err


USES = """\
version: 2
name: flow
runtime: {provider: ollama, model_id: m}
env: {secrets: [{key: TOKEN, source: file, path: token}, {key: VARIABLE}]}
agents: {a: {prompt: Answer., tools: [TOOL]}}
pattern: {type: chain, config: {steps: [{agent: a, input: go}]}}
"""


@pytest.mark.parametrize(
    ("tools", "codes"),
    [
        ("", ["unused-secret"]),
        ("native:echo", ["unused-secret"]),
        ("'json.tool:main'", []),
        ("native:gone", ["unknown-tool"]),
        ("{tool: native:echo, config: {allow_private: ['10.0.0.7:80']}}", ["private-network", "unused-secret"]),
    ],
)
def test_validate_reports_unused_secrets_and_private_networks_as_plan_does(
    site: Path, tools: str, codes: list[str]
) -> None:
    catalog = discover_catalog([str(site)])
    found = app.check("flow.yaml", USES.replace("[TOOL]", f"[{tools}]"), catalog=catalog)
    codes_found = [str(one.code) for one in found if one.code != "tool-config"]
    assert sorted(codes_found) == codes


def test_a_secret_of_a_server_that_takes_it_is_not_unused(site: Path) -> None:
    server = "tools: {mcp: [{id: m, url: 'http://127.0.0.1:1', headers: {K: '${secrets.TOKEN}'}}]}\n"
    found = app.check("flow.yaml", USES.replace("[TOOL]", "[mcp:m/x]") + server, catalog=discover_catalog([str(site)]))
    assert "unused-secret" not in [one.code for one in found]
