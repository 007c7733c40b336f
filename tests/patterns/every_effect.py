"""Workflows of every pattern with every kind of effect, the tools that they call, and the model that plays them."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Any

from tests.distributions import make_distribution
from tests.fakes.model_server import Turn
from tests.patterns.kit import last_text

READS = {"readOnlyHint": True, "idempotentHint": True}
ID = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
SOURCE = """
import json, os, time

TOOL_SPEC = {spec!r}


def log(what, id):
    descriptor = os.open("calls.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{{what}} {name} {{id}}\\n".encode())
    os.fsync(descriptor)
    os.close(descriptor)


def {name}(tool, agent=None, **kwargs):
    id = tool["input"]["id"]
    log("begin", id)
    status, text = "success", "{name} " + id
    {body}
    log("end", id)
    return {{"toolUseId": tool["toolUseId"], "status": status, "content": [{{"text": text}}]}}
"""
KEEP = "agent.state.set('ids', [*(agent.state.get('ids') or []), id]); text += f\" {len(agent.state.get('ids'))}\""
CALLS = "text += ' '.join(['', *(getattr(agent.tool, n)(id=id + n)['content'][0]['text'] for n in ('look', 'act'))])"
# Each with its body: it reads, acts, keeps a state, calls two others, has a large result, fails.
TOOLS: dict[str, tuple[str, dict[str, bool]]] = {
    "look": ("pass", READS),
    "act": ("time.sleep(0.005)", {}),
    "keep": (KEEP, READS),
    "outer": (CALLS, {}),
    "big": ("text += ' ' + (id * 100_000)[:100_000]", READS),
    "bad": ("status = 'error'", READS),
}


def install_tools(site: Path) -> None:
    """Install the tools; each writes to `calls.log` that it begins and ends."""
    for name, (body, hints) in TOOLS.items():
        spec = {"name": name, "description": f"Does {name}.", "inputSchema": {"json": ID}, "annotations": hints}
        package = f"strands_tool_{name}"
        files = {f"{package}/__init__.py": SOURCE.format(name=name, spec=spec, body=body)}
        make_distribution(site, package.replace("_", "-"), "1.0", {name: package}, files)


def doing(program: str) -> str:
    """Return a prompt for calls: `,` is between those of one turn, `;` between turns."""
    return f"DO {program} END"


def steps(p: str) -> list[dict[str, Any]]:
    """Return an agent's step with every tool, a gate, a call without a model, and one with tools made of tools."""
    return [
        {"agent": "writer", "input": doing(f"look:{p}1,act:{p}2;keep:{p}3;keep:{p}4,bad:{p}5;outer:{p}6;big:{p}7")},
        {"type": "hitl", "prompt": "Go on after {{ last_response[:30] }}?"},
        {"tool": "native:act", "input": {"id": f"{p}8"}},
        {"agent": "writer", "input": doing(f"sub:{p}9;helper:{p}A,pair:{p}B")},
    ]


def remembered(p: str) -> list[dict[str, Any]]:
    second = doing(f"keep:{p}D;act:{p}E") + " {{ last_response[:40] }}"
    return [{"agent": "memory", "input": doing(f"look:{p}C")}, {"agent": "memory", "input": second}]


def summed(text: str) -> dict[str, Any]:
    return {"agent": "editor", "input": text}


GATE = {"type": "hitl", "prompt": "Well?"}
AGAIN = doing("keep:g{{ nodes.end.iteration }}K,act:g{{ nodes.end.iteration }}L")
CONFIGS: dict[str, dict[str, Any]] = {
    "chain": {"steps": [*steps("c"), *remembered("c"), GATE, summed("{{ last_response }} {{ steps[0].response }}")]},
    "workflow": {
        "tasks": [
            {"id": "end", "deps": ["gate", "act", "other"], **summed("{{ hitl_response }} {{ tasks.other.response }}")},
            {"id": "act", "deps": ["use"], **steps("w")[2]},
            {"id": "use", **steps("w")[0]},
            {"id": "other", **steps("w")[3]},
            {"id": "gate", "deps": ["use"], **GATE},
        ]
    },
    "routing": {
        "router": {"agent": "judge", "input": "which?"},
        "routes": {"no": {"then": []}, "go": {"then": [*steps("r"), *remembered("r")]}},
    },
    "parallel": {
        "branches": [
            {"id": "a", "steps": steps("pa")},
            {"id": "b", "steps": [steps("pb")[0], *remembered("pb")]},
            {"id": "c", "steps": [steps("pc")[3]]},
        ],
        "reduce": summed("{{ branches.a.response }} {{ branches.b.response }} {{ branches.c.response }}"),
    },
    "evaluator_optimizer": {
        "producer": "writer",
        "producer_input": steps("e")[0]["input"],
        "evaluator": {"agent": "judge", "input": "judge {{ draft }}"},
        "accept": {"min_score": 80},
        "revise_prompt": doing("sub:eF;outer:eR,big:eS") + " {{ hitl_response }}",
        "review_gate": GATE,
    },
    "orchestrator_workers": {
        "orchestrator": {"agent": "judge", "input": "split", "limits": {"max_rounds": 2}},
        "decomposition_review": GATE,
        "worker_template": {"agent": "writer"},
        "reduce": steps("o")[2],
        "writeup": summed("{{ reduce_response }} {{ workers[0].response }} {{ workers[2].response }}"),
    },
    "graph": {
        "nodes": {
            "use": steps("g")[0],
            "gate": GATE,
            "inner": steps("g")[3],
            "again": {"agent": "memory", "input": AGAIN},
            "end": summed("{{ hitl_response }} {{ nodes.inner.response }}"),
        },
        "edges": [
            {"from": "use", "to": ["gate", "inner"]},
            {"from": "gate", "choose": [{"when": "nodes.gate.response == 'yes'", "to": "end"}]},
            {"from": "inner", "to": "end"},
            {"from": "end", "choose": [{"when": "nodes.end.iteration < 3", "to": "again"}]},
            {"from": "again", "to": "end"},
        ],
    },
}
# Their agents remember their steps, which run side by side.
SIDE_BY_SIDE = ("parallel", "workflow", "orchestrator_workers")


def write_workflow(work: Path, pattern: str, host: str, tag: str) -> None:
    """Write `flow.yaml` and its parts; its requests carry the tag."""
    again = {"retries": 3, "backoff": "constant", "wait_min": 0.01, "wait_max": 0.01}
    runtime = {"provider": "openai", "model_id": "m", "host": host, "max_parallel": 3, "failure_policy": again}
    small, native = ["native:look", "native:act"], [f"native:{name}" for name in TOOLS]
    prompt = f"You work. TAG={tag}="
    tools = {"writer": [*native, "pair", "agent:helper", "workflow:./sub.yaml"], "memory": native, "helper": small}
    agents = {name: {"prompt": prompt, "tools": tools.get(name, [])} for name in (*tools, "editor", "judge")}
    agents["memory"]["memory"] = "run"
    if pattern in SIDE_BY_SIDE:
        agents = {name: {**agent, "memory": "path"} for name, agent in agents.items()}
    calls = [{"tool": f"native:{name}", "input": {"id": "{{ id }}" + name}} for name in ("act", "look")]
    pair = {"id": "pair", "description": "Two.", "input_schema": ID, "steps": calls, "output": "{{ steps[1].output }}"}
    files = {"answer.md": "{{ last_response }}", "large.txt": "{{ last_response }} {{ 'x' * 300000 }}"}
    flow: dict[str, Any] = {
        "version": 2,
        "name": "flow",
        "runtime": runtime,
        "tools": {"composite": [pair]},
        "agents": agents,
        "pattern": {"type": pattern, "config": CONFIGS[pattern]},
        "outputs": {"artifacts": [{"path": path, "from": text} for path, text in files.items()]},
    }
    if pattern in ("chain", "routing", "evaluator_optimizer"):  # elsewhere the order of notes depends on time
        flow["context_policy"] = {"notes": {"file": "notes.md", "include_last": 2}}
    (work / "flow.yaml").write_text(json.dumps(flow))
    inner = [{"agent": "inner", "input": doing("look:{{ id }}s;act:{{ id }}t")}, calls[1]]
    sub = {
        "version": 2,
        "name": "sub",
        "runtime": runtime,
        "inputs": {"required": {"id": "string"}},
        "agents": {"inner": {"prompt": prompt, "tools": small}},
        "pattern": {"type": "chain", "config": {"steps": inner}},
    }
    (work / "sub.yaml").write_text(json.dumps(sub))


class Playing:
    """A model whose answer is a function of the request; of some requests the first attempt fails."""

    def __init__(self) -> None:
        self.answered: dict[str, int] = {}
        self._failed: set[tuple[str, int]] = set()

    def __call__(self, request: dict[str, Any]) -> Turn:
        found = re.search("TAG=(.*?)=", json.dumps(request["messages"][0]))
        assert found is not None
        digest = zlib.crc32(json.dumps(request["messages"][1:]).encode())
        if digest % 6 == 0 and (found[1], digest) not in self._failed:
            self._failed.add((found[1], digest))
            return Turn(status=503)
        self.answered[found[1]] = self.answered.get(found[1], 0) + 1
        return _answer(request["messages"])


def _answer(messages: list[dict[str, Any]]) -> Turn:
    asked = max(place for place, message in enumerate(messages) if message["role"] == "user")
    text = last_text({"messages": messages[: asked + 1]})
    if text.startswith("which"):
        return Turn('{"route": "go"}')
    if text.startswith("split"):
        second = [doing("look:oX;outer:oY")]
        tasks = second if "Done so far" in text else [steps("o")[0]["input"], steps("o")[3]["input"]]
        return Turn(json.dumps([{"task": task} for task in tasks]))
    if text.startswith("judge"):
        return Turn(json.dumps({"score": 90 if "eR" in text else 10, "issues": [], "fixes": []}))
    if (found := re.search(r"DO (.*?) END", text)) is None:
        return Turn(f"<{text[:400]}>")
    turns, done = found[1].split(";"), sum(message["role"] == "assistant" for message in messages[asked + 1 :])
    if done < len(turns):
        return Turn(calls=[_call(*call.split(":")) for call in turns[done].split(",")])
    results = [last_text({"messages": [one]})[:24] for one in messages[asked + 1 :] if one["role"] == "tool"]
    return Turn(f"did {found[1]}: {' '.join(results)}")


def _call(name: str, number: str) -> tuple[str, dict[str, str]]:
    return (name, {"input": doing(f"look:{number}s;act:{number}t")} if name == "helper" else {"id": number})
