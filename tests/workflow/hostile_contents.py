"""Contents of a workflow file, a third of a megabyte each, that cost a reader as much as they can."""

from __future__ import annotations

from collections.abc import Callable, Iterator

SIZE = 333_000
HEAD = "version: 2\nname: w\nruntime: {provider: ollama, model_id: m}\n"
AGENT = "agents: {a: {prompt: p, tools: []}}\n"
CHAIN = "pattern: {type: chain, config: {steps: [{agent: a, input: x}]}}\n"
SOUND = HEAD + AGENT + CHAIN


def filled(line: Callable[[int], str], before: str = "", after: str = "") -> str:
    """Return as many lines as fit, between two texts."""
    parts, size, number = [before], len(before) + len(after), 0
    while size < SIZE:
        parts.append(line(number))
        size += len(parts[-1])
        number += 1
    return "".join((*parts, after))


def long(begin: str, unit: str, end: str = "\n") -> str:
    return begin + unit * ((SIZE - len(begin) - len(end)) // len(unit)) + end


def in_steps(step: Callable[[int], str]) -> str:
    return filled(lambda n: f"    - {step(n)}\n", HEAD + AGENT + "pattern:\n  type: chain\n  config:\n    steps:\n")


def graph(edges: Callable[[int], str]) -> str:
    nodes = "".join(f"      n{n}: {{agent: a, input: x}}\n" for n in range(3000))
    begin = HEAD + AGENT + f"pattern:\n  type: graph\n  config:\n    nodes:\n{nodes}    edges:\n"
    return filled(lambda n: f"    - {edges(n)}\n", begin)


def schema(text: str) -> str:
    return HEAD + f"agents: {{a: {{prompt: p, tools: [], output_schema: {text}}}}}\n" + CHAIN


def contents() -> Iterator[tuple[str, str]]:
    """Yield each content with its name."""
    yield "unknown keys", filled(lambda n: f"key{n}: 1\n", SOUND)
    yield "unknown keys like known ones", filled(lambda n: f"patern{n}: 1\n", SOUND)
    yield (
        "unknown keys of an agent",
        filled(lambda n: f"    k{n}: 1\n", HEAD + CHAIN + "agents:\n  a:\n    prompt: p\n"),
    )
    yield (
        "unknown keys of many agents",
        filled(lambda n: f"  a{n}: {{promt: p, toolz: 1}}\n", HEAD + CHAIN + "agents:\n  a: {prompt: p}\n"),
    )
    yield "unknown keys of many steps", in_steps(lambda n: "{agent: a, inpt: x, vars_: 2}")
    yield "keys of other sections", filled(lambda n: f"steps{n}: 1\nagent{n}: 2\n", SOUND)
    yield (
        "unknown options",
        filled(
            lambda n: f"    o{n}: 1\n",
            HEAD.replace(
                "{provider: ollama, model_id: m}", "\n  provider: ollama\n  model_id: m\n  options:\n    a: 1"
            ).rstrip("\n")
            + "\n",
            AGENT + CHAIN,
        ),
    )
    for base, digit in (
        ("0x", "f"),
        ("0o", "7"),
        ("", "9"),
        ("-", "9"),
        ("0b", "1"),
        ("1.", "3"),
        ("1e", "9"),
        ("1_", "0_"),
        ("1:", "59:"),
        ("0x", "f_"),
    ):
        yield f"a number of {base or 'decimal'} {digit}", SOUND + long("x-n: ", digit).replace("x-n: ", f"x-n: {base}")
    yield "a huge version", long("version: 0x", "f") + SOUND.partition("\n")[2]
    yield "many huge numbers", filled(lambda n: f"x-{n}: 0x{'f' * 4000}\n", SOUND)
    yield "many numbers below the limit", filled(lambda n: f"x-{n}: {'9' * 4000}\n", SOUND)
    yield "one key", SOUND + long("", "k", ": 1\n")
    yield "one key in quotes", SOUND + long('"', "k ", '": 1\n')
    yield "long keys", filled(lambda n: f"{n}{'k' * 10_000}: 1\n", SOUND)
    yield "long keys with a meaning", filled(lambda n: f"prompt{'t' * 10_000}{n}: 1\n", SOUND)
    yield "one long name of an agent", HEAD + long("agents: {a: {prompt: p}, ", "n", ": {prompt: p}}\n") + CHAIN
    yield "one key of slashes", SOUND + long('"', "/~", '": 1\n')
    yield "one text", HEAD + long("agents: {a: {prompt: ", "p", "}}\n") + CHAIN
    yield "one text of escapes", HEAD + long('agents: {a: {prompt: "', "\\x41", '"}}\n') + CHAIN
    yield "one plain text of words", SOUND + long("x-t: ", "word ", "end\n")
    yield "one wrong value", HEAD + AGENT + long("pattern: {type: ", "c", "}\n")
    yield (
        "a reference to a long name",
        HEAD + AGENT + long("pattern: {type: chain, config: {steps: [{agent: ", "b", ", input: x}]}}\n"),
    )
    yield "depth of lists", SOUND + long("x-d: ", "[")
    yield "depth of mappings", SOUND + long("x-d: ", "{a: ")
    yield "depth of indents", SOUND + "".join(f"{' ' * n}x-d:\n" for n in range(1400))
    yield "depth below the limit, many times", filled(lambda n: f"x-{n}: {'[' * 95}{']' * 95}\n", SOUND)
    yield "many anchors", filled(lambda n: f"x-{n}: &a{n} 1\n", SOUND)
    yield "many aliases", filled(lambda n: f"x-{n}: *a\n", SOUND + "x-a: &a {b: 1}\n")
    yield "aliases without anchors", filled(lambda n: f"x-{n}: &a{n} 1\n", SOUND, "x-b: *c\n")
    yield (
        "a bomb of aliases",
        SOUND + "x-0: &a0 [1]\n" + "".join(f"x-{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)),
    )
    yield (
        "many merges",
        filled(lambda n: "    <<: *m\n", SOUND + f"x-m: &m {{{', '.join(f'k{n}: 1' for n in range(2000))}}}\nx-n:\n"),
    )
    yield (
        "a merge of many",
        SOUND
        + "x-m: &m {"
        + ", ".join(f"k{n}: 1" for n in range(3000))
        + "}\nx-n: {<<: ["
        + ", ".join(["*m"] * 30)
        + "]}\n"
        + long("# ", "c"),
    )
    yield "duplicate keys", filled(lambda n: "x-k: 1\n", SOUND)
    yield "duplicate keys of many names", filled(lambda n: f"x-k{n}: 1\nx-k{n}: 2\n", SOUND)
    yield "many tags", filled(lambda n: f"x-{n}: !!python/object:os.system 1\n", SOUND)
    yield "many documents", filled(lambda n: "---\na: 1\n")
    yield "comments", filled(lambda n: "# c\n", SOUND)
    yield "blank lines", SOUND + "\n" * SIZE
    yield "tabs", SOUND + long("x: ", "\t")
    yield "unquoted templates", filled(lambda n: f"x-{n}: {{{{ a }}}}\n", SOUND)
    yield "values", filled(lambda n: "1,", SOUND + "x-v: [", "1]\n")
    yield "small mappings", filled(lambda n: "{},", SOUND + "x-v: [", "{}]\n")
    yield "controls", SOUND + long('x-c: "', "\x01", '"\n')
    yield "half characters", filled(lambda n: f'x-{n}: "\\ud800"\n', SOUND)
    yield (
        "many agents",
        filled(lambda n: f"  a{n}: {{prompt: p, tools: []}}\n", HEAD + CHAIN + "agents:\n  a: {prompt: p}\n"),
    )
    yield (
        "many agents without a prompt",
        filled(lambda n: f"  a{n}: {{}}\n", HEAD + CHAIN + "agents:\n  a: {prompt: p}\n"),
    )
    yield "many steps", in_steps(lambda n: "{agent: a, input: x}")
    yield "steps without a form", in_steps(lambda n: "{}")
    yield "steps of the wrong type", in_steps(lambda n: "1")
    yield "steps of unknown agents", in_steps(lambda n: f"{{agent: b{n}, input: x}}")
    yield "steps of unknown tools", in_steps(lambda n: f"{{tool: native:t{n}, input: {{}}}}")
    yield "steps with templates", in_steps(lambda n: f"{{agent: a, input: '{{{{ steps[{n}].response }}}}'}}")
    yield "steps with many reads", in_steps(lambda n: "{agent: a, input: '{{ last_response }}{{ x }}'}")
    yield "edges", graph(lambda n: f"{{from: n{n % 3000}, to: [n{(n * 7 + 1) % 3000}]}}")
    yield "edges backwards", graph(lambda n: f"{{from: n{2999 - n % 3000}, to: [n{(n * 13) % 3000}]}}")
    yield "edges of unknown nodes", graph(lambda n: f"{{from: m{n}, to: [o{n}]}}")
    yield (
        "nodes",
        HEAD
        + AGENT
        + "pattern:\n  type: graph\n  config:\n    nodes:\n"
        + filled(lambda n: f"      n{n}: {{agent: a, input: x}}\n")
        + "    edges: []\n",
    )
    yield (
        "tasks",
        filled(
            lambda n: f"      - {{id: t{n}, agent: a, input: x, deps: [{f't{n - 1}' if n else ''}]}}\n",
            HEAD + AGENT + "pattern:\n  type: workflow\n  config:\n    tasks:\n",
        ),
    )
    yield (
        "tasks of all before",
        HEAD
        + AGENT
        + "pattern:\n  type: workflow\n  config:\n    tasks:\n"
        + "".join(
            f"      - {{id: t{n}, agent: a, input: x, deps: [{', '.join(f't{m}' for m in range(n))}]}}\n"
            for n in range(550)
        ),
    )
    yield (
        "routes",
        filled(
            lambda n: f"      r{n}: {{then: [{{agent: a, input: x}}]}}\n",
            HEAD + AGENT + "pattern:\n  type: routing\n  config:\n    router: {agent: a}\n    routes:\n",
        ),
    )
    yield (
        "branches",
        filled(
            lambda n: f"      - {{id: b{n}, steps: [{{agent: a, input: x}}]}}\n",
            HEAD + AGENT + "pattern:\n  type: parallel\n  config:\n    branches:\n",
        ),
    )
    yield (
        "templates",
        filled(
            lambda n: "{{ x }}",
            HEAD
            + AGENT
            + "inputs: {optional: {x: {type: string, default: y}}}\n"
            + "pattern: {type: chain, config: {steps: [{agent: a, input: '",
            "'}]}}\n",
        ),
    )
    yield (
        "a deep template",
        long(HEAD + AGENT + "pattern: {type: chain, config: {steps: [{agent: a, input: '{{ ", "(", " }}'}]}}\n"),
    )
    yield (
        "a template of filters",
        long(HEAD + AGENT + "pattern: {type: chain, config: {steps: [{agent: a, input: '{{ 1", "|upper", " }}'}]}}\n"),
    )
    yield (
        "a template of blocks",
        long(HEAD + AGENT + "pattern: {type: chain, config: {steps: [{agent: a, input: '", "{% if a %}", "'}]}}\n"),
    )
    yield (
        "a template of sums",
        long(HEAD + AGENT + "pattern: {type: chain, config: {steps: [{agent: a, input: '{{ 1", "+1", " }}'}]}}\n"),
    )
    yield (
        "a template of comments",
        long(HEAD + AGENT + "pattern: {type: chain, config: {steps: [{agent: a, input: '", "{# #}", "'}]}}\n"),
    )
    yield (
        "a template of powers",
        long(HEAD + AGENT + "pattern: {type: chain, config: {steps: [{agent: a, input: '{{ 9", "**9", " }}'}]}}\n"),
    )
    yield (
        "a schema of properties",
        schema("{type: object, properties: {" + filled(lambda n: f"p{n}: {{type: string}}, ") + "}}"),
    )
    yield "a schema of an enum", schema("{enum: [" + filled(lambda n: f"v{n}, ") + "]}")
    yield "a deep schema", schema("{type: array, items: " * 45 + "{}" + "}" * 45) + long("# ", "c")
    yield "a schema of a pattern", schema(long("{type: string, pattern: '", "(a*)*", "'}"))
    yield "a schema of a deep pattern", schema(long("{type: string, pattern: '", "(", "'}"))
    yield (
        "a schema of patterns",
        schema(
            "{type: object, properties: {"
            + filled(lambda n: f"p{n}: {{type: string, pattern: '(a|b){{{n % 100}}}'}}, ")
            + "}}"
        ),
    )
    yield (
        "a schema of references",
        schema("{$defs: {" + filled(lambda n: f"d{n}: {{$ref: '#/$defs/d{n + 1}'}}, ") + "}, $ref: '#/$defs/d0'}"),
    )
    yield "a schema of unions", schema("{anyOf: [" + filled(lambda n: "{type: string}, ") + "]}")
    yield (
        "an enum of an input",
        HEAD + AGENT + CHAIN + "inputs: {optional: {x: {type: string, enum: [" + filled(lambda n: f"v{n}, ") + "]}}}\n",
    )
    yield (
        "inputs",
        filled(lambda n: f"    x{n}: {{type: string, default: y}}\n", HEAD + AGENT + CHAIN + "inputs:\n  optional:\n"),
    )
    yield "secrets", filled(lambda n: f"    - {{key: K{n}}}\n", HEAD + AGENT + CHAIN + "env:\n  secrets:\n")
    yield (
        "references to secrets",
        HEAD
        + AGENT
        + CHAIN
        + "tools: {mcp: [{id: m, url: 'https://x.example.com', headers: {X: '"
        + filled(lambda n: f"${{S{n}}}")
        + "'}}]}\n",
    )
    yield (
        "servers",
        filled(
            lambda n: f"    - {{id: m{n}, url: 'https://x.example.com'}}\n", HEAD + AGENT + CHAIN + "tools:\n  mcp:\n"
        ),
    )
    yield (
        "executors",
        filled(
            lambda n: f"    - {{id: m{n}, base_url: 'https://x.example.com'}}\n",
            HEAD + AGENT + CHAIN + "tools:\n  http_executors:\n",
        ),
    )
    yield "tools", filled(lambda n: f"    - native:t{n}\n", HEAD + AGENT + CHAIN + "tools:\n  python:\n")
    yield (
        "tools with a meaning",
        filled(lambda n: f"    - native:file_raed{n}\n", HEAD + AGENT + CHAIN + "tools:\n  python:\n"),
    )
    yield "mounts", filled(lambda n: f"    m{n}: p{n}\n", HEAD + AGENT + CHAIN + "env:\n  mounts:\n")
    yield (
        "artifacts",
        filled(
            lambda n: f"    - {{path: p{n}.txt, from: '{{{{ last_response }}}}'}}\n",
            HEAD + AGENT + CHAIN + "outputs:\n  artifacts:\n",
        ),
    )
    yield (
        "composites",
        filled(
            lambda n: f"    - {{id: c{n}, description: d, steps: [{{tool: native:x}}]}}\n",
            HEAD + AGENT + CHAIN + "tools:\n  composite:\n",
        ),
    )
    yield (
        "custom patterns",
        filled(lambda n: "    - '(a+)+'\n", SOUND + "telemetry:\n  redact:\n    custom_patterns:\n"),
    )
    yield "json", "{" + filled(lambda n: f'"k{n}": [1], ') + '"z": 1}'
    yield "deep json", "[" * (SIZE // 2) + "]" * (SIZE // 2)
    yield "json escapes", '{"a": "' + "\\ud83d\\ude00" * (SIZE // 12) + '"}'
    yield "a file of another kind", "PK\x03\x04" + "\x7f" * SIZE
    yield "front matter", filled(lambda n: f"k{n}: 1\n", "---\n", "---\nprompt\n")
