"""Other files than a workflow, of a megabyte each, that cost a reader as much as they can."""

from __future__ import annotations

from collections.abc import Iterator

from tests.workflow.hostile_contents import AGENT, CHAIN, HEAD, SIZE, SOUND, filled, long

PLAN = ("plan", "flow.yaml")
ROWS = ("batch", "flow.yaml")
RULES = "version: 1\nrules:\n"
ROW_FLOW = (
    HEAD.replace("{provider: ollama, model_id: m}", "{provider: replay, recording: r.yaml}")
    + "inputs: {required: {x: integer}}\n"
    + AGENT
    + CHAIN.replace("input: x", "input: '{{ x }}'")
)
RECORDING = "recording: 1\nsteps: {steps.0: [{text: hi}]}\n"


def many(item: str, most: int = 60_000) -> str:
    """Return that many items of a list, each with its number, in one line."""
    return ", ".join(item.format(n) for n in range(most))[: SIZE - 200].rpartition(", ")[0]


def policies() -> Iterator[tuple[str, str]]:
    yield "rules", filled(lambda n: f"  - deny: t{n}\n", RULES)
    yield "one rule of many tools", f"{RULES}  - deny: [{many('t{}')}]\n"
    yield "rules without an effect", filled(lambda n: "  - {}\n", RULES)
    yield "keys of a rule", filled(lambda n: f"    k{n}: 1\n", RULES + "  - deny: x\n")
    yield "keys", filled(lambda n: f"k{n}: 1\n", "version: 1\nrules: []\n")


def workflows() -> Iterator[tuple[str, str]]:
    yield "permissions", f"{SOUND}security: {{permissions: {{ask: [{many('t{}')}]}}}}\n"
    yield "allowed tools", f"{SOUND}security: {{guardrails: {{allow_tools: [{many('t{}')}]}}}}\n"
    yield "tools of an agent", HEAD + f"agents: {{a: {{prompt: p, tools: [{many('t{}')}]}}}}\n" + CHAIN
    yield "tools", f"{SOUND}tools: {{python: [{many('native:t{}', 1000)}]}}\n"
    yield "skills", f"{SOUND}skills: [{many('{{id: s{0}, path: ./s{0}}}', 30_000)}]\n"
    yield (
        "artifacts of many folders",
        f"{SOUND}outputs: {{artifacts: [{many('{{path: d{0}/p.txt, from: x}}', 10_000)}]}}\n",
    )


def agents() -> Iterator[tuple[str, str]]:
    yield "keys", filled(lambda n: f"k{n}: 1\n", "prompt: p\n")
    yield "tests without a form", filled(lambda n: "  - 1\n", "prompt: p\ntests:\n")
    yield "expectations", f"prompt: p\ntests: [{{name: t, input: x, expect: {{{many('k{}: 1')}}}}}]\n"


def rows() -> Iterator[tuple[str, str, str]]:
    yield "csv", "columns", ",".join(f"c{n}" for n in range(140_000)) + "\n1\n"
    yield "csv", "equal columns", "x" + ",x" * (SIZE // 2) + "\n1\n"
    yield "csv", "ragged rows", filled(lambda n: "1,2\n", "x\n")
    yield "csv", "rows of another type", filled(lambda n: f"a{n}\n", "x\n")
    yield "csv", "an open quote", 'x\n"' + "a\n" * (SIZE // 2)
    yield "csv", "one cell", long("x\n", "a")
    yield "jsonl", "members", "{" + ", ".join(f'"k{n}": 1' for n in range(70_000)) + "}\n"
    yield "jsonl", "a member twice behind many", "{" + ", ".join(f'"k{n}": 1' for n in range(70_000)) + ', "k9": 1}\n'
    yield "jsonl", "rows with a member of their own", filled(lambda n: f'{{"x": 1, "k{n}": 1}}\n')


def files() -> Iterator[tuple[str, tuple[str, ...], dict[str, str]]]:
    """Yield each with its name: a command, and what is in the files that it reads."""
    for name, text in policies():
        yield f"policy of {name}", PLAN, {"flow.yaml": SOUND, "strands-policy.yaml": text}
    for name, text in workflows():
        yield f"workflow of {name}", PLAN, {"flow.yaml": text}
    for name, text in agents():
        yield f"agent of {name}", ("workflows", "agent", "validate", "a.yaml"), {"a.yaml": text}
    for suffix, name, text in rows():
        rest = {"flow.yaml": ROW_FLOW, "r.yaml": RECORDING, f"rows.{suffix}": text}
        yield f"{suffix} of {name}", (*ROWS, f"rows.{suffix}"), rest
    dotted = "version = 1\n" + ".".join("a" * (SIZE // 2)) + " = 1\n"
    yield "lock of one key", ("lock", "flow.yaml", "--check"), {"flow.yaml": SOUND, "strands.lock": dotted}
