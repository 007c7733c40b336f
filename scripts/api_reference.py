"""The page of `strands_cli.api`: each name, by its subject, with the first sentence of what the code says about it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from strands_cli import api
from strands_cli.errors import Code

INTRODUCTION = """# The API for distributions

`strands_cli.api` is all that a distribution beside the core imports: a store, a command, a provider, an owner of runs.
The names are stable, and imported on access: the module imports nothing of the core. Programs use the
[Python API](python-api.md). How a distribution declares its parts: [hooks](hooks.md), [stores](../how-to/stores.md),
[plugins](../how-to/make-a-plugin.md).

`python scripts/make_reference.py` makes this page from the code.
"""

# The subject of a name by the start of its module's name; the first that fits counts.
SUBJECTS = {
    "strands_cli.errors": "Errors",
    "strands_cli.app.handover.": "Runs and their store",
    "strands_cli.hooks.": "Checks and hooks",
    "strands_cli.machine_checks.": "Checks and hooks",
    "strands_cli.provider_table": "Model providers",
    "strands_cli.agents.": "One plugin, and models for tests",
    "strands_cli.api.": "Workflows and runs",
    "strands_cli.app.planned_rows": "Workflows and runs",
    "strands_cli.run_views.": "Workflows and runs",
    "strands_cli.engine.": "Runs and their store",
    "strands_cli.store_place": "Runs and their store",
    "strands_cli.secrets.": "Runs and their store",
    "strands_cli.events": "Runs and their store",
    "strands_cli.cli.": "Commands",
    "strands_cli.": "Tools, plugins and plans",
}


# The modules of the classes whose methods are listed.
WITH_METHODS = (
    "strands_cli.api.installed_tools",
    "strands_cli.run_views.opened_runs",
    "strands_cli.api.workflow_preview",
)


def api_page() -> str:
    """Return the page as Markdown."""
    parts = [INTRODUCTION]
    names = sorted(api._PUBLIC, key=str.casefold)
    for subject in dict.fromkeys(SUBJECTS.values()):
        items = [f"- `{name}`: {sentence_of(name)}\n" for name in names if subject_of(name) == subject]
        parts += [f"## {subject}\n\n{''.join(items)}"] * bool(items)
    parts += [methods_of(name) for name in names if api._PUBLIC[name] in WITH_METHODS]
    return "\n".join(parts)


def methods_of(name: str) -> str:
    """Return the part about the methods of a class."""
    methods = [
        method
        for method, value in vars(getattr(api, name)).items()
        if not method.startswith("_") and not inspect.ismemberdescriptor(value)
    ]
    items = ", ".join(f"`.{method}{arguments_of(getattr(api, name), method)}`" for method in methods)
    return f"## `{name}`\n\n{items}\n"


def arguments_of(kind: type, method: str) -> str:
    """Return the arguments of a method as a call has them, in brackets, without types; empty for a property."""
    if isinstance(getattr(kind, method), (property, cached_property)):
        return ""
    parameters = inspect.signature(getattr(kind, method)).parameters.values()
    plain = [one.replace(annotation=one.empty) for one in parameters if one.name != "self"]
    return str(inspect.Signature(plain))


def subject_of(name: str) -> str:
    """Return the heading that a name is under."""
    return next(subject for start, subject in SUBJECTS.items() if f"{api._PUBLIC[name]}.".startswith(start))


def sentence_of(name: str) -> str:
    """Return the first sentence of a docstring, or of the comment above a value that can have none.

    Raises:
        ValueError: The code says nothing about the name.
    """
    value = getattr(api, name)
    if isinstance(value, Code):
        return f"The finding [{value}](findings.md#{value})."
    has_docstring = inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value))
    said = inspect.getdoc(value) if has_docstring else None
    text = said or "\n".join(comment_above(name, api._PUBLIC[name]))
    if not text or text.startswith(f"{name}("):  # what a dataclass has without a docstring
        raise ValueError(f"strands_cli.api.{name} has neither a docstring nor a comment above it")
    return first_sentence(text)


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, or its part before the first colon, as one line; `Return` is left out."""
    sentence = re.split(r"(?<=[.:;])\s", " ".join(text.split("\n\n")[0].split()))[0]
    plain = re.sub(r"^(Return|Yield) ", "", sentence.rstrip(".:;"))
    return f"{plain[:1].upper()}{plain[1:]}."


def comment_above(name: str, module: str) -> Iterator[str]:
    """Yield the lines of the comment above the place where a module gives a name its value."""
    spec = find_spec(module)
    source = Path(spec.origin if spec is not None and spec.origin else "").read_text(encoding="utf-8")
    lines = source.splitlines()
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            first = node.lineno - 1
            while first and lines[first - 1].startswith("# "):
                first -= 1
            yield from (line.removeprefix("# ") for line in lines[first : node.lineno - 1])
