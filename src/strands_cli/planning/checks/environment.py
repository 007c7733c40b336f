"""Checks before a run: its variables have values, its mounts are folders, and a limit on money has prices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from strands_cli.errors import Code, Finding, NotEquipped, suggest
from strands_cli.planning.plan.plan_values import PlannedAgent, PlannedTool
from strands_cli.planning.prices import VARIABLE, PriceTable, load_prices
from strands_cli.planning.workflow_tools.tool_parts import agents_in
from strands_cli.system.protected_names import secret_in
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.patterns.pattern_models import hiding_names, reserved_names
from strands_cli.workflow.template_places import template_sites
from strands_cli.yaml_files.document import Document, escape

UNKNOWN_PRICE = Code(
    "unknown-price",
    "`max_cost_usd` limits a model whose price is unknown, so the limit cannot be enforced.",
    "Add the model's price to a file and name it in STRANDS_PRICES, or limit max_tokens.",
    18,
)
UNDEFINED_VARIABLE = Code(
    "undefined-variable",
    "A template uses a variable that nothing defines for this run.",
    "Declare it under `inputs`, or give it with --var.",
    2,
)
MISSING_MOUNT = Code(
    "missing-mount",
    "A directory that `env.mounts` names does not exist.",
    "Create the directory, or correct the path.",
    18,
)
PROTECTED_MOUNT = Code(
    "protected-mount",
    "A directory that `env.mounts` names is protected: it, or a folder above it, may hold credentials.",
    "Mount another directory, and put a copy of what the tools need there.",
)


def prices_of(environ: Mapping[str, str] | None) -> tuple[PriceTable, list[Finding]]:
    """Return the prices that hold here; what is wrong with the person's own file comes as findings."""
    try:
        return load_prices(environ), []
    except NotEquipped as error:
        return PriceTable({}, ""), list(error.findings)


def check_limits(
    spec: WorkflowSpec,
    agents: Mapping[str, PlannedAgent],
    prices: PriceTable,
    document: Document,
    called: Iterable[PlannedTool] = (),
) -> Iterator[Finding]:
    """Yield a finding for each model without a known price that a limit on money needs.

    Args:
        called: Its tools: what agents and workflows among them spend counts too.
    """
    if spec.runtime.budgets.max_cost_usd is not None:
        used = [*agents.values(), *agents_in(called)]
        yield from _unpriced("/runtime/budgets/max_cost_usd", used, prices, document)
    for agent in agents.values():
        for part, limits, name in (("budgets", agent.budgets, "max_cost_usd"), ("limits", agent.limits, "cost_usd")):
            if getattr(limits, name, None) is not None:
                used = [agent, *agents_in(agent.tools)]
                yield from _unpriced(f"/agents/{escape(agent.id)}/{part}/{name}", used, prices, document)


def _unpriced(
    pointer: str, agents: Iterable[PlannedAgent], prices: PriceTable, document: Document
) -> Iterator[Finding]:
    limit = pointer.rpartition("/")[2]
    models = [model for agent in agents for model in (agent.model, agent.summarizer) if model is not None]
    for provider, model_id in dict.fromkeys((model.provider, model.model_id) for model in models):
        if prices.price(provider, model_id) is None:
            name = f"{provider}/{model_id}" if model_id else provider
            message = f"{limit} cannot be kept: the price of {name} is not in {prices.file}"
            entry = f'{{"models": {{"{name}": {{"input": USD, "output": USD}}}}}}'
            fix = f"write {entry} (for a million tokens) to a file and set {VARIABLE} to it, or limit tokens"
            yield Finding(UNKNOWN_PRICE, message, document.where(pointer), fix)


def names_in_templates(spec: WorkflowSpec) -> dict[str, str]:
    """Return the names that templates use and only inputs can define, each with the pointer of its first use."""
    templates, declared = spec.templates(), spec.inputs.declared()
    found: dict[str, str] = {}
    for site in template_sites(spec):
        paths = templates.paths_in(site.text, is_condition=site.is_condition)
        for name in sorted(str(path[0]) for path in paths):
            # One that is declared and has no value has its own finding.
            if name not in site.scope and name not in hiding_names() and name not in declared:
                found.setdefault(name, site.pointer)
    return found


def is_read_in_templates(spec: WorkflowSpec, name: str) -> bool:
    """Return whether a template reads a name that inputs define, also where it may be missing (`| default`)."""
    templates = spec.templates()
    return any(
        name == read.path[0]
        for site in template_sites(spec)
        if name not in site.scope and name in site.text
        for read in templates.every_read_in(site.text, is_condition=site.is_condition)
    )


def check_variables(names: Mapping[str, str], document: Document, inputs: Mapping[str, Any]) -> list[Finding]:
    """Return a finding for each variable that templates use and neither the run's inputs nor the pattern defines.

    Args:
        names: See `names_in_templates`.
    """
    findings = []
    for name, pointer in names.items():
        if name in inputs:
            continue
        literal = f"where it is meant as text: `{{% raw %}}{{{{ {name} }}}}{{% endraw %}}`"
        fix = suggest(name, inputs, f"pass --var {name}=VALUE, or declare it under `inputs`; {literal}")
        if name in reserved_names():
            fix = "use it where the run has it, or declare an input of this name"
        message = f"a template uses '{name}', which nothing defines"
        findings.append(Finding(UNDEFINED_VARIABLE, message, document.where(pointer), fix))
    return findings


def check_mounts(
    spec: WorkflowSpec, document: Document, base_dir: Path, places: Mapping[str, str]
) -> Iterator[Finding]:
    """Yield a finding for each mount that is not a directory on this machine, or is a protected one.

    `places` are where they lead, by their path as written.
    """
    for name, path in spec.env.mounts.items():
        place, where = Path(places[path]), document.where(f"/env/mounts/{escape(name)}")
        if secret := secret_in((*(base_dir / path).parts, *place.parts)):
            message = f"the mount '{name}' is protected, since '{secret}' may hold credentials: {place}"
            yield Finding(PROTECTED_MOUNT, message, where, "mount another directory")
        elif not place.is_dir():
            message = f"the mount '{name}' is not a directory: {place}"
            yield Finding(MISSING_MOUNT, message, where, "make the directory, or correct the path")
