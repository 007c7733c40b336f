"""Rows of the migration page: what is refused or reported now, in both versions."""

from __future__ import annotations

import re
from typing import Any

from strands_cli.toolref import ToolRef, ToolRefError
from strands_cli.workflow.differences.file_parts import Concerns, Difference, at, both, found, texts


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and "${" not in value


def _has_another_form(value: Any) -> bool:
    return isinstance(value, str) and re.search(r"\$\w|\{\{", value) is not None


def _is_own_python(value: Any) -> bool:
    try:
        return isinstance(value, str) and ToolRef.parse(value).kind == "custom"
    except ToolRefError:
        return False


_TOOL_PLACES = (
    r"/(?:tools/python|agents/[^/]+/tools|pattern/.*/(?:tool_overrides|tools)|context_policy/retrieval/jit_tools)/\d+"
    r"(?:/(?:tool|callable))?|/pattern/.*/tool"
)


def _tools_named(names: str) -> Concerns:
    has = re.compile(rf"(?:^|[.:])(?:{names})$").search
    return at(_TOOL_PLACES, lambda value: isinstance(value, str) and has(value))


STRICTER: tuple[Difference, ...] = (
    Difference(
        0,
        "keys",
        "a key that the format does not have",
        "an error with its place and a suggestion; a typo in `deny` or `max_tokens` must not remove the limit",
        "",
        "`unknown-key`",
        found(),
    ),
    Difference(
        0,
        "provider",
        "no `provider`",
        "an error: without it the SDK uses its default, Bedrock, which is another cloud and another bill",
        "",
        "`missing-key`",
        found("/runtime"),
    ),
    Difference(
        0,
        "tools",
        "a tool that is not installed",
        "an error before anything runs; `validate` warns",
        "",
        "`unknown-tool`",
        found(),
    ),
    Difference(
        0,
        "strands-tools",
        "`strands_tools.x`, `strands_tools.x.x`, `strands_tools.x:x`",
        "the installed tool `x` if there is one, with a warning, otherwise that module of an installed "
        "`strands-agents-tools`",
        "",
        "`legacy-tool`",
        both(texts(r"^strands_tools\."), found()),
    ),
    Difference(
        0,
        "conditions",
        "`a contains 'b'`, conditions in `{{ }}`, `.lower()`, `$TRACE`",
        "read as before: `'b' in a`, the condition, the text in lower case, the trace of the run",
        "",
        "",
        texts(r"\bcontains\b|\$TRACE", "/(?:pattern|outputs)"),
    ),
    Difference(
        0,
        "inputs",
        "a value of an input that is missing, has another type, or is not declared",
        "an error before the first call; where it is not declared, a warning",
        "an error before the first call; a warning for one that is not declared where a template reads it",
        "`missing-input`, `bad-input`, `unknown-input`",
    ),
    Difference(
        0,
        "budgets",
        "`budgets`, `limits` and `failure_policy`",
        "a limit stops the run (exit code 20); one in money needs the price of each model",
        "",
        "`unknown-price`",
        at("/(?:runtime|agents/[^/]+)/(?:budgets|limits|failure_policy)/[^/]+"),
    ),
    Difference(
        0,
        "questions",
        "a tool that changes something",
        "its calls ask, or need `--allow NAME`; where no person can be asked the run waits (`--deny`: it goes on)",
        "",
        "",
        both(
            _tools_named("file_write|editor|shell|python_exec|python_repl|http_request"),
            at(r"/tools/(?:mcp|http_executors)/\d+"),
        ),
    ),
    Difference(
        0,
        "confinement",
        "file tools, `python_exec`, and tools that open addresses",
        "files of the working directory and of `env.mounts`; a sandbox, or nothing; private networks and this machine "
        "need `allow_private`",
        "",
        "`missing-mount`",
        both(
            _tools_named(r"file_\w+|editor|grep|head|tail|search|shell|python_exec|python_repl|http_request|web_fetch"),
            at(r"/tools/http_executors/\d+/base_url"),
        ),
    ),
    Difference(
        0,
        "callable",
        "`callable:`, `strands_cli.tools.x`",
        "`tool:`, `native:x`",
        "",
        "",
        both(at("(?:/tools|/agents|/pattern)/.*/callable"), texts(r"^strands_cli\.tools\.")),
    ),
    Difference(
        0,
        "own-python",
        "Python of your own",
        "not imported before a person has allowed it, in `STRANDS_CUSTOM_TOOL_ALLOWLIST` or a policy file",
        "",
        "`custom-tool-denied`",
        at(r"(?:/tools/python|/agents/[^/]+/tools)/\d+(?:/(?:tool|callable))?", _is_own_python),
    ),
    Difference(
        0,
        "credentials",
        "a credential that is written into a file",
        "a warning; declare a secret, and name it",
        "",
        "`literal-key`, `plain-credential`",
        both(
            at(r"/tools/(?:mcp|http_executors)/\d+/headers/[^/]*(?i:authorization|cookie|key|token|secret)", _is_plain),
            at(r"/tools/http_executors/\d+/auth/(?:token|password|value)", _is_plain),
            at(r"/runtime/options/(?:.*/)?[^/]*(?i:api_?key|token|secret)", _is_plain),
        ),
    ),
    Difference(
        0,
        "secret-forms",
        "`$NAME` and `{{ NAME }}` of a declared secret where secrets are sent",
        "an error: the service would get the text itself; write `${NAME}`",
        "",
        "`unknown-secret`",
        at(r"/tools/(?:mcp|http_executors)/\d+/(?:headers|env)/.*", _has_another_form),
    ),
    Difference(
        0,
        "statuses",
        "a comparison with a status that no step has, as `success`",
        "a warning: it never holds; the words are `completed`, `failed`, `skipped`, `not_executed`",
        "",
        "`unknown-status`",
        texts(r"\.status\b.*[=!]="),
    ),
    Difference(
        0,
        "whole-results",
        "`{{ tasks.draft }}` and others that print a whole result",
        "a warning: all fields are printed, in the form of Python; write `.response` behind it",
        "",
        "`whole-result`",
        found(),
    ),
    Difference(
        0,
        "optional-inputs",
        "an optional input without a default",
        "it is none, not missing, and prints `None`; `default` and `is defined` for it are warnings",
        "",
        "`no-effect`",
        at(r"/inputs/optional/[^/]+", lambda given: not (isinstance(given, dict) and "default" in given)),
    ),
    Difference(
        0,
        "graphs-without-else",
        "a graph node without a matching `choose`",
        "the path ends there; `validate` warns",
        "",
        "`no-else`",
        found(),
    ),
    Difference(
        0,
        "fields-of-providers",
        "a field that the provider does not have",
        "a finding",
        "",
        "`field-without-effect`",
        found(),
    ),
    Difference(
        0,
        "schemas",
        "`output_schema`",
        "an answer that does not fit is asked for again, and then fails; a schema that is none is an error",
        "",
        "`bad-schema`",
        both(at("/agents/[^/]+/output_schema"), found()),
    ),
    Difference(
        0,
        "trust",
        "MCP servers, secrets of programs, folders and private networks",
        "a person allows once what a file starts and opens: `strands trust FILE`",
        "",
        "`untrusted-workflow`, `private-network`",
        both(
            at(r"/tools/mcp/\d+/command|/env/mounts/[^/]+"),
            at(r"/env/secrets/\d+/source", lambda value: value == "command"),
        ),
    ),
)
