"""Write the pages, the help text and the stub that are made from the code, or check that they are what the code says.

Usage: python scripts/make_reference.py [--check]
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from api_reference import api_page
from architecture_reference import architecture_page
from choices_reference import choices_stub
from examples_reference import examples_page
from marked_reference import hooks_page, manifest_page, providers_page
from measurements_reference import measurements
from project_commands import commands_of_distributions
from workflow_reference import workflow_page

from strands_cli import errors
from strands_cli.cli.commands.explain_pages import PAGES
from strands_cli.cli.commands.plugin_commands import ARGUMENTS, HEADINGS, OPTIONS
from strands_cli.cli.help_page import plugin_section
from strands_cli.cli.output.codes import codes_by_file
from strands_cli.default_parts import COMMANDS, OURS
from strands_cli.errors import Code
from strands_cli.workflow.format_schema import schema_text

CLONE = Path(__file__).resolve().parent.parent
REFERENCE = CLONE / "docs" / "reference"
ARCHITECTURE = CLONE / "docs" / "explanation" / "architecture.md"
PROVIDERS = CLONE / "docs" / "how-to" / "providers.md"
MIGRATION = CLONE / "docs" / "how-to" / "migrate.md"
DIFFERENCES_HEAD = "| what | an earlier strands-cli | version 2 | findings |"
DIFFERENCES = CLONE / "packages/strands-cli-migrate/src/strands_cli_migrate/differences.json"
SHIPPED = CLONE / "src" / "strands_cli" / "shipped_docs"
FIRST_PARTY = CLONE / "src" / "strands_cli" / "catalog" / "first_party.json"
HELP = CLONE / "src" / "strands_cli" / "cli" / "help.txt"
CHOICES = CLONE / "src" / "strands_cli" / "api" / "choice_types.pyi"
MANIFESTS = "packages/strands-tool-*/src/*/strands_tools.json"

FINDINGS_INTRODUCTION = """# Findings

Each finding has a stable code, a place (file:line:column and JSON pointer) and a fix, which it prints; `strands explain
CODE` prints the usual one. Scripts may rely on the codes: new ones are added, and none is renamed. An error means exit
code 3 where no other is written. `strands validate --fix` corrects a *fixable* one where only one correction is right.

`python scripts/make_reference.py` makes this page from the declarations.
"""


def findings_page() -> str:
    """Return the page of all finding codes as Markdown: those of the core, then of each distribution."""
    declared = {"strands-cli": codes_by_file()}
    declared |= {place.parents[1].name: codes_by_file(place) for place in sorted(CLONE.glob("packages/*/src/*"))}
    parts = [FINDINGS_INTRODUCTION]
    for distribution, files in declared.items():
        codes = sorted(code for found in files.values() for code in found)
        parts += [f"## {distribution}\n"] * bool(codes) + [section_of(code) for code in codes]
    return "\n".join(parts)


def section_of(code: Code) -> str:
    """Return one code's section; the exit code is that of an error, since a warning refuses nothing."""
    exit_code = "" if code.exit_code == AUTHOR_EXIT_CODE else f" Exit {code.exit_code}."
    fixable = " *Fixable.*" if code in fixable_codes() else ""
    return f"### {code}\n\n{code.meaning}{exit_code}{fixable}\n"


@cache
def fixable_codes() -> set[str]:
    """Return the codes of the findings that the core reports with an edit, by the calls that make them."""
    codes = set()
    for path in (CLONE / "src").rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)):
            words = ast.unparse(call)
            is_call = (
                isinstance(call.func, ast.Name | ast.Attribute) and call.args and isinstance(call.args[0], ast.Name)
            )
            if is_call and ("edits" in words or "Edit(" in words or words.startswith("unknown(")):
                codes.add(ast.unparse(call.args[0]).lower().replace("_", "-"))
    return codes


COMMANDS_INTRODUCTION = """# Command line

`strands`, `strands-cli` and `python -m strands_cli` are the same program. Results go to stdout, everything else to
stderr. Every command but `completion`, `workers start`, `ui` and `workflows watch` has `--json`: it prints one
[JSON document](json.md). The last line of `strands COMMAND --help` is an example.

This page is made from the program by `python scripts/make_reference.py`.
"""


COMMON_INTRODUCTION = """## Common arguments and options

Commands name these below *Common*: one by one, or all of a group by the group's name.
"""
# So many commands make an argument or an option a common one.
COMMON = 3
# The introduction describes it.
IN_EVERY_COMMAND = "--json"
# Where a command lacks at most so many options of a group, they are named rather than those that it has.
FEW = 2
# The exit code of a finding that does not say another.
AUTHOR_EXIT_CODE = 3


DISTRIBUTIONS_INTRODUCTION = """## In distributions of their own

Each is a plugin of this project: without it, its command says what to install.
"""


def commands_page() -> str:
    """Return the page of all commands, their arguments and options as Markdown."""
    from typer.main import get_command

    from strands_cli.cli.program import program

    commands = dict(get_command(program).commands)  # type: ignore[attr-defined]
    sections: dict[str, list[tuple[str, Any]]] = {
        heading: [
            pair
            for name in names
            if not commands[name].hidden
            for pair in command_tree(f"strands {name}", commands[name])
            # A plain one is not there where a distribution of this project takes its place.
            if ".".join(pair[0].split()[1:]) not in OURS[COMMANDS]
        ]
        for heading, names in {**HEADINGS, "The shell": ("completion",)}.items()
    }
    of_distributions = [
        pair
        for name, command in commands_of_distributions().items()
        for pair in command_tree(f"strands {name.replace('.', ' ')}", command)
    ]
    common = common_items([command for pairs in (*sections.values(), of_distributions) for _, command in pairs])
    parts = [COMMANDS_INTRODUCTION, exit_codes(), common_section(common)]
    for heading, pairs in sections.items():
        parts += [f"## {heading}\n", *same_sections(pairs, common)]
    parts.append(DISTRIBUTIONS_INTRODUCTION)
    parts += same_sections(of_distributions, common)
    return "\n".join(parts)


def common_items(commands: Iterable[Any]) -> dict[str, dict[str, str]]:
    """Return the parameters that three commands or more have with one meaning: by heading, the name of each item."""
    counts = Counter(
        (parameter_name(parameter), parameter_item(parameter), heading)
        for command in commands
        for heading, parameters in by_heading(command.params).items()
        for parameter in parameters
    )
    found: dict[str, dict[str, str]] = {}
    items = Counter((name, item) for name, item, _ in counts.elements())
    # A name that has several meanings is a common one with the meaning that most commands give it.
    most = {name: item for (name, item), count in sorted(items.items(), key=lambda pair: pair[1]) if count >= COMMON}
    for name, item in sorted(most.items()):
        places = {heading: count for (_, other, heading), count in counts.items() if other == item}
        found.setdefault(max(places, key=lambda heading: places[heading]), {})[item] = name
    return {heading: found[heading] for heading in sorted(found)}


def common_section(common: Mapping[str, Mapping[str, str]]) -> str:
    """Return the lists of the arguments and options that several commands have."""
    groups = [line for heading, items in common.items() for line in (f"**{heading}**", "", *items, "")]
    return "\n".join([COMMON_INTRODUCTION, *groups])


def command_section(path: str, command: Any, common: Mapping[str, Mapping[str, str]]) -> str:
    """Return the section of one command: its help without its example, and its parameters; of common ones names."""
    items = {parameter_item(one): one for parameters in by_heading(command.params).values() for one in parameters}
    named = list[str]()
    for heading, group in common.items():
        has = [name for item, name in group.items() if item in items and name != IN_EVERY_COMMAND]
        lacks = [name for item, name in group.items() if item not in items]
        if not lacks or len(has) > FEW >= len(lacks):
            named.append(f"*{heading}*{' without ' * bool(lacks)}{' and '.join(f'`{name}`' for name in lacks)}")
        else:
            named += [f"`{name}`" for name in has]
    own = [item for item in items if not any(item in group for group in common.values())]
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    text = "\n\n".join(part for part in paragraphs if not part.startswith("Example:"))
    return "\n".join([f"### {path}", "", text, *([""] if own else []), *own, *common_line(named)]) + "\n"


def common_line(named: Sequence[str]) -> Iterator[str]:
    """Yield the line that names common parameters, below an empty one, if there are any."""
    if named:
        yield from ("", f"Common: {', '.join(named)}.")


def same_sections(pairs: Iterable[tuple[str, Any]], common: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield the sections of commands; one with a single line, or like an earlier one, is a line without a heading."""
    paths: dict[str, str] = {}
    for path, command in pairs:
        section = command_section(path, command, common)
        first = paths.setdefault(section.partition("\n")[2], path)
        text = section.partition("\n\n")[2].strip() if first == path else f"The same as `{first}`."
        yield f"`{path}`: {text}\n" if "\n" not in text else section


def is_argument(parameter: Any) -> bool:
    """Return whether a parameter is an argument; the others are options."""
    return bool(parameter.param_type_name == "argument")


def by_heading(parameters: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the parameters that the help shows, by its headings; options without one are the last."""
    found: dict[str, list[Any]] = {ARGUMENTS: [], OPTIONS: []}
    for parameter in parameters:
        if not getattr(parameter, "hidden", False):
            heading = ARGUMENTS if is_argument(parameter) else getattr(parameter, "rich_help_panel", None) or OPTIONS
            found.setdefault(heading, []).append(parameter)
    found[OPTIONS] = found.pop(OPTIONS)
    return {heading: rows for heading, rows in found.items() if rows}


def program_help() -> str:
    """Return the help of the program without plugins, each description on one line; it is fitted when printed."""
    from typer.main import get_command

    from strands_cli.cli.program import program

    command: Any = get_command(program)
    text = command.full_help(command.make_context("strands", [], resilient_parsing=True))
    return f"{text.replace(plugin_section(), '', 1)}\n"


def exit_codes() -> str:
    """Return the list of exit codes."""
    items = [f"- `{code.value}`: {meaning}" for code, meaning in errors.exit_code_meanings().items()]
    return "\n".join(["## Exit codes", "", *items]) + "\n"


def command_tree(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yield each command that does something with the words that call it, sorted."""
    children = getattr(command, "commands", {})
    if not children:
        yield path, command
    for name in sorted(children):
        if not children[name].hidden:
            yield from command_tree(f"{path} {name}", children[name])


def parameter_name(parameter: Any) -> str:
    """Return the name by which a parameter is known: the first one of an option, the metavar of an argument."""
    return str(parameter.metavar or parameter.name).upper() if is_argument(parameter) else str(parameter.opts[0])


def parameter_item(parameter: Any) -> str:
    """Return the line of a list about one parameter."""
    words = parameter_name(parameter)
    if not is_argument(parameter):
        metavar = f" {parameter.metavar}" if parameter.metavar else ""
        words = ", ".join([*parameter.opts, *parameter.secondary_opts]) + metavar
    text = " ".join((getattr(parameter, "help", None) or "").split())
    values = [value for value in values_of(parameter) if any(word not in text for word in re.findall("`.+?`", value))]
    return f"- `{words}`: {' '.join([text, *values])}"


def values_of(parameter: Any) -> Iterator[str]:
    """Yield the choices of a parameter and its default, where it has them."""
    # Where typer has them, and where its lowest version has them.
    kind = getattr(parameter, "type_descriptor", None) or getattr(parameter, "type", None)
    if choices := getattr(kind, "choices", None):
        names = [getattr(choice, "value", choice) for choice in choices]
        yield f"One of {', '.join(f'`{name}`' for name in names)}."
    default = getattr(parameter.default, "value", parameter.default)
    if default and isinstance(default, (str, int, float, Path)) and default is not True:
        yield f"Default: `{default}`."


TOOLS_INTRODUCTION = """# First-party tools

Each comes in a distribution that is an ordinary plugin: `pip install` it, and workflows can name its tools. Read-only
tools run without asking; the others ask first.

This page is made from the manifests in `packages/` by `python scripts/make_reference.py`.

"""


def tools_page() -> str:
    """Return the list of the first-party tools as Markdown."""
    items = [item for path in sorted(CLONE.glob(MANIFESTS)) for item in tool_items(path)]
    return TOOLS_INTRODUCTION + "".join(sorted(items))


def shipped_pages(written: dict[Path, str]) -> dict[Path, str]:
    """Return the pages that `strands explain` prints, without comments and links: a wheel has no other pages."""
    files = {name: CLONE / "docs" / page for name, page in PAGES.items()}
    texts = {name: written.get(file) or file.read_text(encoding="utf-8") for name, file in files.items()}
    plain = {name: re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL) for name, text in texts.items()}
    return {SHIPPED / f"{name}.md": re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text) for name, text in plain.items()}


def differences() -> str:
    """Return the rows of the tables of the page on moving from an earlier strands-cli as JSON."""
    rows, is_table = list[dict[str, Any]](), False
    for line in MIGRATION.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            is_table = False
        elif line == DIFFERENCES_HEAD:
            is_table = True
        elif is_table and not line.startswith("| ---"):
            cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            subject, earlier, now, found = cells
            plain = {"subject": subject, "earlier": earlier, "now": now}
            texts = {name: re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text) for name, text in plain.items()}
            rows.append({**texts, "codes": re.findall("`([^`]+)`", found)})
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def first_party() -> str:
    """Return the distribution of each first-party tool as JSON, for the fixes of findings."""
    manifests = [json.loads(path.read_text(encoding="utf-8")) for path in CLONE.glob(MANIFESTS)]
    owners = {tool["name"]: manifest["distribution"] for manifest in manifests for tool in manifest["tools"]}
    return json.dumps(dict(sorted(owners.items())), indent=2) + "\n"


def tool_items(path: Path) -> Iterator[str]:
    """Yield one line for each tool of a manifest."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for tool in manifest["tools"]:
        schema = tool["input_schema"]
        required = schema.get("required", [])
        names = {name: f"`{name}`" for name in schema.get("properties", {})}
        needed = ", ".join(text for name, text in names.items() if name in required)
        more = ", ".join(text for name, text in names.items() if name not in required)
        inputs = "; ".join(part for part in (needed, f"optional {more}" * bool(more)) if part)
        reads = ", only reads" * bool(tool.get("annotations", {}).get("readOnlyHint"))
        summary = tool["description"].split(". ")[0].split("\n")[0].rstrip(".")
        yield f"- `{tool['name']}` (`{manifest['distribution']}`{reads}): {summary}. Inputs: {inputs}\n"


def pages() -> dict[Path, str]:
    """Return every page that is made from the code, or partly, with the text it must have."""
    texts = {"findings.md": findings_page(), "cli.md": commands_page(), "tools.md": tools_page()}
    texts |= {"workflow.md": workflow_page(), "workflow.schema.json": schema_text()}
    texts["examples.md"] = examples_page()
    texts["api.md"] = api_page()
    for name, fill in (("hooks.md", hooks_page), ("manifest.md", manifest_page)):
        texts[name] = fill((REFERENCE / name).read_text(encoding="utf-8"))
    architecture = architecture_page(ARCHITECTURE.read_text(encoding="utf-8"))
    written = {REFERENCE / name: text for name, text in texts.items()}
    return {
        **written,
        ARCHITECTURE: architecture,
        PROVIDERS: providers_page(PROVIDERS.read_text(encoding="utf-8")),
        FIRST_PARTY: first_party(),
        DIFFERENCES: differences(),
        **shipped_pages(written),
        HELP: program_help(),
        **measurements(),
        CHOICES: choices_stub(),
    }


def main(arguments: list[str]) -> int:
    """Write the pages, or with `--check` name those that differ and return 1."""
    wanted = pages()
    stale = [path for path in wanted if not path.exists() or path.read_text(encoding="utf-8") != wanted[path]]
    for path in stale:
        name = path.relative_to(CLONE)
        if "--check" in arguments:
            print(f"{name} is not what the code says; run: python scripts/make_reference.py")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[path], encoding="utf-8")
        print(f"wrote {name}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
