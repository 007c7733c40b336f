"""Workflows that are valid by themselves and that planning finds fault with, and texts that are not workflows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.distributions import sound, twin

CHAIN = {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "go"}]}}
OPENAI = {"provider": "openai", "model_id": "m"}
READS_HERE = {"path": ".", "mode": "read"}
READ_ONLY = {"annotations": {"readOnlyHint": True}}
SETTINGS = {
    "type": "object",
    "properties": {"root": {"type": "string"}},
    "required": ["root"],
    "additionalProperties": False,
}
FILES = {
    "r.yaml": "recording: 1\nsteps: {steps.0: [{text: a}]}\n",
    "later.yaml": "recording: 2\nsteps: {steps.0: [{text: a}]}\n",
    "mistyped.yaml": "recording: 1\nsteps: {steps.0: [{txt: a}]}\n",
    "deny.yaml": "version: 1\nrules: [{deny: file_read}, {deny: shell}]\n",
    "two-effects.yaml": "version: 1\nruls: []\nrules: [{deny: x, allow: y}, {denny: x}, deny]\nlocked: 1\n",
    "later-policy.yaml": "version: 2\n",
    "circle.yaml": "$ref: circle.yaml\n",
    "two.yaml": "agents:\n  a: {prompt: A}\n  b: {prompt: B}\n",
    "outer.yaml": "name: outer\nversion: 2\nagents: {a: {prompt: A, tools: ['workflow:./outer.yaml']}}\n"
    "pattern: {type: chain, config: {steps: [{agent: a}]}}\n",
    "artifacts/there.txt": "from an earlier run",
}


@dataclass(frozen=True)
class Case:
    """One workflow, given as text, and what is asked of its plan."""

    text: str
    options: Mapping[str, Any] = field(default_factory=dict)


def flow(options: Mapping[str, Any] | None = None, agent: Mapping[str, Any] | None = None, **sections: Any) -> Case:
    """Return a chain of one agent, `writer`, with keys of the agent and whole sections put over it."""
    whole = {
        "version": 2,
        "name": "flow",
        "runtime": OPENAI,
        "agents": {"writer": {"prompt": "w", **(agent or {})}},
        "pattern": CHAIN,
        **sections,
    }
    return Case("".join(f"{key}: {json.dumps(value)}\n" for key, value in whole.items()), options or {})


def steps(*given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the pattern section of a chain."""
    return {"type": "chain", "config": {"steps": list(given)}}


def model(**settings: Any) -> Case:
    """Return a workflow with these settings of its model."""
    return flow(runtime={**OPENAI, **settings})


def install(site: Path) -> None:
    """Install what the cases name: sound tools, and one of each kind of unusable one."""
    sound(site, "file_read", "1.2", **READ_ONLY)
    sound(site, "file_write", config_schema=SETTINGS)
    sound(site, "unmet", requires={"modules": ["no_such_module_anywhere"]})
    sound(site, "old", deprecated={"since": "2.0", "replacement": "native:file_read"})
    sound(site, "keyed", strands_cli={"capabilities": {"secrets": ["KEY"]}}, **READ_ONLY)
    sound(site, "fetch", strands_cli={"capabilities": {"network": ["*"], "filesystem": []}}, **READ_ONLY)
    sound(site, "notes", strands_cli={"capabilities": {"network": [], "filesystem": [READS_HERE]}}, **READ_ONLY)
    sound(site, "http_executor")
    sound(site, "two")
    twin(site, "two", "other-tools")


TEXTS = {
    "nothing": "",
    "two documents": "a: 1\n---\nb: 2\n",
    "NUL": "a: 1\nb: \0\n",
    "list as key": "? [a]\n: 1\n",
    "alias inside itself": "a: &a\n  b: *a\n",
    "alias of nothing": "a: &one 1\nb: *two\n",
    "too deep": "a: " + "[" * 5000,
    "a tag": "a: !!python/name:os.system x\n",
    "merge of text": "<<: x\na: 1\n",
}

REFERENCES = (
    *("native:file_raed", "native:no_such", "native:file_read@>=2", "native:elsewhere/file_read", "two"),
    *("native:unmet", "native:old", "strands_tools.file_read", "native:", "./tool.py"),
    *("my.tools:shout", "json.tool:main", "mcp:server/tool", "agent:writer", "agent:writr", "workflow:./sub.yaml"),
    "workflow:../sub.yaml",
)

CASES: dict[str, Case] = {
    **{f"tool {ref}": flow(agent={"tools": ["native:file_read", ref]}) for ref in REFERENCES},
    "two tools of one name": flow(agent={"tools": ["native:file_read", {"tool": "native:two", "as": "file_read"}]}),
    "setting of a tool without settings": flow(
        agent={"tools": [{"tool": "native:file_read", "config": {"root": "a"}}]}
    ),
    "tool step without its argument": flow(pattern=steps({"tool": "native:file_read", "input": {}})),
    "tool step with a mistyped argument": flow(
        pattern=steps({"tool": "native:file_read", "input": {"text": "a", "txet": "b"}})
    ),
    "allowed tool that is not there": flow({"allow": ("shell",)}, agent={"tools": ["native:file_read"]}),
    "tool that policy denies": flow({"policy": Path("deny.yaml")}, agent={"tools": ["native:file_read"]}),
    "tool with a secret without a name": flow(
        tools={"python": ["native:keyed"]}, env={"secrets": [{"key": "OPENAI_API_KEY", "name": "KYE"}]}
    ),
    "tool that hides an installed one": flow(
        agent={"tools": ["file_read"]},
        tools={"python": [{"tool": "native:file_write", "as": "file_read", "config": {"root": "x"}}]},
    ),
    "tools that read, fetch and send": flow(agent={"tools": ["native:fetch", "native:notes"]}),
    "input missing": flow(inputs={"required": {"topic": "string"}}),
    "input of another type": flow({"variables": {"n": "five"}}, inputs={"required": {"n": "integer"}}),
    "input not in its enum": flow(
        {"variables": {"n": "gren"}}, inputs={"required": {"n": {"type": "string", "enum": ["red", "green"]}}}
    ),
    "input mistyped": flow({"variables": {"topci": "x"}}, inputs={"optional": {"topic": "string"}}),
    "variable without a value": flow(pattern=steps({"agent": "writer", "input": "{{ topic }}"})),
    "provider mistyped": model(provider="opnai"),
    "provider without its key": flow(runtime={"provider": "anthropic", "model_id": "m", "max_tokens": 5}),
    "provider without a model": flow(runtime={"provider": "ollama"}),
    "provider without a region": flow(runtime={"provider": "bedrock"}),
    "setting without effect on a provider": model(region="us-east-1"),
    "temperature beyond the provider": flow(runtime={"provider": "anthropic", "model_id": "m", "temperature": 1.5}),
    "option of no provider": model(options={"param": {}}),
    "option with a field's name": model(options={"model_id": "x"}),
    "option of another type": model(options={"params": 5}),
    "host that is not an address": model(host="not an address"),
    "key to another host": model(host="https://collect.example/v1"),
    "variables of runtime": model(
        model_id="${NO_SUCH_VARIABLE}", region="${MY_API_KEY:-x}", host="http://${H:-h}${H-h}/v1"
    ),
    "key in the file": model(options={"client_args": {"api_key": "sk-0123456789abcdef0123"}}),
    "replay without a recording": flow(runtime={"provider": "replay"}),
    "replay without a step": flow(
        runtime={"provider": "replay", "recording": "r.yaml"},
        pattern=steps({"agent": "writer"}, {"agent": "writer", "input": "again"}),
    ),
    "recording of a later version": flow(runtime={"provider": "replay", "recording": "later.yaml"}),
    "recording with a mistyped key": flow(runtime={"provider": "replay", "recording": "mistyped.yaml"}),
    "recording that is not there": flow(runtime={"provider": "replay", "recording": "none.yaml"}),
    "budget in money without a price": flow(
        runtime={"provider": "openai", "model_id": "unheard-of", "budgets": {"max_cost_usd": 1}}
    ),
    "secret without a value": flow(tools={"python": ["native:keyed"]}, env={"secrets": [{"key": "KEY"}]}),
    "secret in a file that is not there": flow(
        tools={"python": ["native:keyed"]}, env={"secrets": [{"key": "KEY", "source": "file", "path": "none.txt"}]}
    ),
    "secret that no one takes": flow(env={"secrets": [{"key": "t", "source": "command", "path": "./tell"}]}),
    "private network that the workflow opens": flow(
        tools={"python": [{"tool": "native:keyed", "config": {"allow_private": ["10.0.0.0/8:80"]}}]},
        env={"secrets": [{"key": "OPENAI_API_KEY", "name": "KEY"}]},
    ),
    "secret from a program that is not there": flow(
        tools={"python": ["native:keyed"]},
        env={"secrets": [{"key": "KEY", "source": "command", "path": "no-such-program --now"}]},
    ),
    "secret that no section names": flow(
        env={"secrets": [{"key": "OPENAI_API_KEY", "name": "TOKEN"}]},
        tools={"http_executors": [{"id": "a", "base_url": "https://x.test", "headers": {"a": "${secrets.TOKN}"}}]},
    ),
    "credential in a header": flow(
        tools={"http_executors": [{"id": "a", "base_url": "https://x.test", "headers": {"authorization": "Bearer x"}}]}
    ),
    "mount that is protected": flow(env={"mounts": {"data": "backup/.aws"}}),
    "mount that is not there": flow(env={"mounts": {"data": "no-such-folder"}}),
    "artifact that is there": flow(outputs={"artifacts": [{"path": "there.txt", "from": "{{ last_response }}"}]}),
    "artifact with a protected name": flow(
        {"out_dir": Path()}, outputs={"artifacts": [{"path": ".github/x.yml", "from": "x"}]}
    ),
    "artifact outside": flow(outputs={"artifacts": [{"path": "../a.txt", "from": "x"}]}),
    "two artifacts of one path": flow(
        outputs={"artifacts": [{"path": "a.txt", "from": "x"}, {"path": "./a.txt", "from": "y"}]}
    ),
    "notes outside": flow(context_policy={"notes": {"file": "../notes.md"}}),
    "window and compaction": flow(
        context_policy={"window": {"max_messages": 4}, "compaction": {"enabled": True, "when_tokens_over": 1000}}
    ),
    "agent file that refers to itself": flow(agents={"writer": {"$ref": "circle.yaml"}}),
    "agent file with two agents": flow(agents={"writer": {"$ref": "two.yaml"}}),
    "agent file that is not there": flow(agents={"writer": {"$ref": "none.yaml"}}),
    "workflow that is its own tool": flow(agent={"tools": ["workflow:./outer.yaml"]}),
    "policy with mistakes": flow({"policy": Path("two-effects.yaml")}),
    "policy of a later version": flow({"policy": Path("later-policy.yaml")}),
    "policy that is not there": flow({"policy": Path("none-policy.yaml")}),
    "lock that is not there": flow({"locked": True}, agent={"tools": ["native:file_read"]}),
}
