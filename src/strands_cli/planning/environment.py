"""Checks before a run: its variables have values, its mounts are folders, and a limit on money has prices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.errors import ArtifactError, Code, Finding, NotEquipped, Where, suggest
from strands_cli.outputs.artifacts import ARTIFACT_EXISTS, ArtifactPlaces, obstacle, place_artifact
from strands_cli.outputs.output_folder import DEFAULT_OUT, require_own_folder
from strands_cli.planning.machine.lock_check import python_path_of
from strands_cli.planning.plan_values import PlannedAgent, PlannedTool, agents_in, with_parts
from strands_cli.planning.planned_tool import PythonTool
from strands_cli.planning.prices import VARIABLE, PriceTable, read_prices
from strands_cli.planning.run_request import RunRequest
from strands_cli.system.atomic_file import user_name
from strands_cli.system.protected_names import secret_in
from strands_cli.workflow.model import WorkflowSpec, template_sites
from strands_cli.workflow.patterns.pattern_models import hiding_names, reserved_names
from strands_cli.workflow.templates.plugin_filters import TemplateError, without_plugin_filters
from strands_cli.yaml_files.document import Document, escape

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan
    from strands_cli.planning.resolve.resolve_context import Surroundings


# The workspace of a run: the files that its file tools may touch, and its own Python, which they may not.


def mounts_of(plan: Plan) -> dict[str, dict[str, str]]:
    """Return where each mount of a workflow leads, and its path as the workflow writes it, by its name."""
    mounts, folder = plan.spec.env.mounts, plan.project.absolute()
    return {
        "mounts": {name: plan.places[path] for name, path in mounts.items()},
        "written_mounts": {name: str(folder / path) for name, path in mounts.items()},
    }


def workspace_of(plan: Plan, root: Path | None = None) -> dict[str, Any]:
    """Return the workspace of file tools: a directory and the mounts, without the files that decide over the run.

    Args:
        root: The directory; None means the working directory.
    """
    rules = [file for _, file in plan.policy.files]
    return {
        "root": str(root or Path.cwd()),
        **mounts_of(plan),
        "protected": [str(Path(file).absolute()) for file in (plan.file, *plan.files, *rules, *python_places(plan))],
    }


def python_places(plan: Plan) -> Iterator[str]:
    """Yield the file or folder of each tool in the workflow's own Python; nothing is imported."""
    folders = [str((plan.base_dir / name).resolve()) for name in python_path_of(plan)]
    for tool in with_parts(plan.called()):
        if isinstance(tool, PythonTool) and (path := _place_of(tool, folders)):
            yield path


def _place_of(tool: PythonTool, folders: Sequence[str]) -> str | None:
    """Return the package or module of custom Python, found by its first name."""
    from importlib.machinery import PathFinder

    from strands_cli.catalog.distributions.scan import search_path

    spec = PathFinder.find_spec(tool.record.module.partition(".")[0], [*search_path(), *folders])
    if spec is None:
        return None
    return next(iter(spec.submodule_search_locations or ()), spec.origin)


# Artifacts before a run: known paths are checked for collisions and escapes.


CANNOT_WRITE = Code(
    "cannot-write",
    "The output path is not a directory, or cannot be written to.",
    "Choose another directory, or correct its permissions.",
    12,
)
ARTIFACT_OUTSIDE = Code(
    "artifact-outside",
    "An artifact's path is absolute, has '..', leaves the output directory through a link, or has a protected name.",
    "Use a path inside the output directory; choose that with --out.",
    12,
)


@without_plugin_filters()
def check_outputs(
    spec: WorkflowSpec, document: Document, inputs: Mapping[str, Any], options: RunRequest
) -> list[Finding]:
    """Return findings for files that the run cannot write, as far as their paths follow from the inputs."""
    if options.as_written:
        return []
    if not spec.outputs.artifacts:
        return _check_record(options)
    templates = spec.templates()
    places = ArtifactPlaces(force=options.force, replaces=spec.outputs.overwrite)
    folders = (options.out_dir, *options.out_dir.parents)
    names = {"name": spec.name, "runtime": spec.runtime.model_dump(), **spec.inputs.names_of(inputs)}
    findings = _check_folder(options, document)
    for index, artifact in enumerate(spec.outputs.artifacts):
        where = document.where(f"/outputs/artifacts/{index}/path")
        try:
            path = spec.artifact_path(templates.render(artifact.path, names))
            target = place_artifact(_folder(options), path, is_chosen=DEFAULT_OUT not in folders)
        except TemplateError:
            continue  # needs a name that only the run has; it is checked when it is written
        except ArtifactError as error:
            findings.append(Finding(ARTIFACT_OUTSIDE, error.message, where, error.fix))
            continue
        if finding := places.collision(target):
            findings.append(replace(finding, where=where))
    return findings + _check_record(options)


def _folder(options: RunRequest) -> Path:
    """Return the directory of the artifacts: that of a worker's run begins in its folder."""
    return options.out_dir if options.beside == Path.cwd() else options.beside / options.out_dir


def _check_folder(options: RunRequest, document: Document) -> list[Finding]:
    """Return a finding if the output directory cannot take artifacts, or leads out of the working directory."""
    where = document.where("/outputs/artifacts")
    try:
        require_own_folder(options.out_dir, options.beside)
    except ArtifactError as error:
        return [Finding(ARTIFACT_OUTSIDE, error.message, where, error.fix)]
    problem = obstacle(_folder(options))
    message = f"the artifacts cannot be written: {problem}"
    return [Finding(CANNOT_WRITE, message, where, "choose another --out")] if problem else []


def _check_record(options: RunRequest) -> list[Finding]:
    """Return findings if the recording that `--record` asks for cannot be written."""
    if options.record is None:
        return []
    fix = "choose another name"
    if problem := obstacle(options.record.parent):
        return [Finding(CANNOT_WRITE, f"the recording {options.record} cannot be written: {problem}", fix=fix)]
    if options.record.exists() and not options.force:
        message = f"the recording {options.record} exists already"
        return [Finding(ARTIFACT_EXISTS, message, fix=f"pass --force to overwrite it, or {fix}")]
    return []


UNKNOWN_PRICE = Code(
    "unknown-price",
    "`max_cost_usd` cannot be enforced, since the price of a model is unknown.",
    "Add the price to the file of STRANDS_PRICES, or limit max_tokens.",
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
    "A directory of `env.mounts`, or a folder above it, may hold credentials.",
    "Mount another directory, with a copy of what the tools need.",
)


def prices_of(environ: Mapping[str, str] | None) -> tuple[PriceTable, list[Finding]]:
    """Return the prices that hold here; faults of the person's own file come as findings."""
    try:
        return read_prices(environ), []
    except NotEquipped as error:
        return PriceTable({}, ""), list(error.findings)


def check_limits(
    spec: WorkflowSpec,
    agents: Mapping[str, PlannedAgent],
    prices: PriceTable,
    document: Document,
    called: Iterable[PlannedTool] = (),
    around: Surroundings | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each model without a known price that a limit on money needs.

    Args:
        called: Its tools: the usage of agents and workflows among them counts too.
        around: Has the limits over time of policy, which are not checked for a workflow that is a tool.
    """
    used = [*agents.values(), *agents_in(called)]
    if spec.runtime.budgets.max_cost_usd is not None:
        yield from _unpriced("max_cost_usd", document.where("/runtime/budgets/max_cost_usd"), used, prices)
    for budget in around.policy.budgets if around is not None and not around.is_tool else ():
        if budget.name == "max_cost_usd":
            where, counts = Where(*budget.place), partial(budget.counts_model, spec.name, user_name())
            yield from _unpriced(f"max_cost_usd of a {budget.period}", where, used, prices, counts)
    for agent in agents.values():
        for part, limits, name in (("budgets", agent.budgets, "max_cost_usd"), ("limits", agent.limits, "cost_usd")):
            if getattr(limits, name, None) is not None:
                where = document.where(f"/agents/{escape(agent.id)}/{part}/{name}")
                yield from _unpriced(name, where, [agent, *agents_in(agent.tools)], prices)


def _unpriced(
    limit: str,
    where: Where,
    agents: Iterable[PlannedAgent],
    prices: PriceTable,
    counts: Callable[[str], bool] = lambda model: True,
) -> Iterator[Finding]:
    models = [model for agent in agents for model in agent.every_model]
    for provider, model_id in dict.fromkeys((model.provider, model.model_id) for model in models):
        name = f"{provider}/{model_id}" if model_id else provider
        if prices.price(provider, model_id) is None and counts(name):
            message = f"{limit} cannot be kept: the price of {name} is not in {prices.file}"
            entry = f'{{"models": {{"{name}": {{"input": USD, "output": USD}}}}}}'
            fix = f"write {entry} (for a million tokens) to a file and set {VARIABLE} to it, or limit tokens"
            yield Finding(UNKNOWN_PRICE, message, where, fix)


def names_in_templates(spec: WorkflowSpec) -> dict[str, str]:
    """Return the names that templates use and only inputs can define, each with the pointer of its first use."""
    templates, declared = spec.templates(), spec.inputs.declared()
    names: dict[str, str] = {}
    for site in template_sites(spec):
        paths = templates.paths_in(site.text, is_condition=site.is_condition)
        for name in sorted(str(path[0]) for path in paths):
            # A declared variable without a value has its own finding.
            if name not in site.scope and name not in hiding_names() and name not in declared:
                names.setdefault(name, site.pointer)
    return names


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
    """Yield a finding for each mount that is not a directory on this machine, or is protected.

    `places` are where they lead, by their path as written.
    """
    for name, path in spec.env.mounts.items():
        folder, where = Path(places[path]), document.where(f"/env/mounts/{escape(name)}")
        if secret := secret_in((*(base_dir / path).parts, *folder.parts)):
            message = f"the mount '{name}' is protected, since '{secret}' may hold credentials: {folder}"
            yield Finding(PROTECTED_MOUNT, message, where, "mount another directory")
        elif not folder.is_dir():
            message = f"the mount '{name}' is not a directory: {folder}"
            yield Finding(MISSING_MOUNT, message, where, "make the directory, or correct the path")
