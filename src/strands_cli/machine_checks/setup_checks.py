"""The checks of the setup: parts, providers, tools, policy, lock, hook plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from strands_cli.__about__ import __version__
from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.dist_info import unmet_in_closure
from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.catalog.tool_record import TOOL_CONFLICT, ToolRecord
from strands_cli.config import Settings
from strands_cli.default_parts import CORE, PART_GROUPS
from strands_cli.engine.stored_runs.opened_store import open_store, opener_of
from strands_cli.engine.stored_runs.run_owners import installed_owners
from strands_cli.errors import Finding, StrandsCliError, suggest
from strands_cli.hooks.hook_values import Check, HookContext
from strands_cli.machine_checks.file_modes import secrets_here
from strands_cli.parts.named_parts import faulty_parts, parts_of
from strands_cli.parts.named_providers import provider_named, provider_names
from strands_cli.planning.provider_checks import MISSING_API_KEY, check_client, check_extra, check_provider
from strands_cli.planning.run_request import store_place_of
from strands_cli.policy.decision import Policy
from strands_cli.policy.rule import Rule
from strands_cli.provider_table import PROVIDERS, Provider
from strands_cli.providers import ModelSettings, has_key
from strands_cli.secrets.redactor import short_keys
from strands_cli.secrets.secret_sources import is_short_here, short_secret
from strands_cli.store_place import StorePlace
from strands_cli.texts.phrases import counted
from strands_cli.versions import is_within

# The checks of the program itself: its version, its dependencies, and the variables that it reads.


# Every variable with this prefix that this program or the SDK reads.
VARIABLES = (
    "STRANDS_CUSTOM_TOOL_ALLOWLIST",
    "STRANDS_DEBUG",
    "STRANDS_PRICES",
    "STRANDS_RUNS_DIR",
    "STRANDS_SHARED_RATES",
    "STRANDS_STORE",
    "STRANDS_USER_AGENT_EXTRA",
)


def check_program(scan: Scan) -> Iterator[Check]:
    """Report the version of strands-cli, and whether it is installed more than once."""
    yield Check(CORE, "ok", f"{__version__} in {Path(__file__).parents[1]}")
    copies = scan.records.get(CORE, [])
    if len(copies) > 1:
        message = f"strands-cli is installed {len(copies)} times: {', '.join(site for site, _ in copies)}"
        yield Check(CORE, "warning", message, "uninstall all but one")


def check_dependencies(scan: Scan) -> Iterator[Check]:
    """Check that the SDK and the other dependencies are installed in supported versions."""
    from packaging.requirements import Requirement

    from strands_cli.catalog.distributions.dist_info import open_distribution

    copies = scan.records.get(CORE)
    if not copies:
        yield Check("dependencies", "warning", "strands-cli runs without being installed", f"pip install {CORE}")
        return
    bad = []
    for requirement in map(Requirement, open_distribution(copies[0][1]).requires or ()):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = scan.version(requirement.name)
        fits = version is not None and is_within(version, str(requirement.specifier) or ">=0")
        if requirement.name == "strands-agents" and fits:
            yield Check("strands-agents", "ok", f"{version}, supported is {requirement.specifier}")
        elif not fits:
            bad.append(f"{requirement.name}{requirement.specifier} ({version or 'not installed'})")
    if bad:
        yield Check("dependencies", "failed", f"missing or not supported: {', '.join(bad)}", f"pip install '{CORE}'")
    conflicts = [missing for missing in unmet_in_closure(CORE, scan) if not missing.startswith(f"{CORE} ")]
    for conflict in conflicts:
        fix = f"pip install --upgrade '{CORE}'; keep programs with other requirements in environments of their own"
        yield Check("dependencies", "warning", conflict, fix)
    unfit = list(_for_other_versions(scan))
    yield from unfit
    if not (bad or conflicts or unfit):
        yield Check("dependencies", "ok", "all are installed in supported versions")


def _for_other_versions(scan: Scan) -> Iterator[Check]:
    """Report the distributions with parts that are for another version of the core."""
    from strands_cli.catalog.distributions.dist_info import unmet_by

    for owner in dict.fromkeys(part.distribution for group in PART_GROUPS for part in parts_of(group, scan)):
        if (fault := unmet_by(owner, scan)) is not None and fault.is_of_core:
            yield Check("dependencies", "warning", fault.message, fault.fix)


def check_variables(environ: Mapping[str, str]) -> Iterator[Check]:
    """Report variables with our prefix but without effect."""
    named = sorted(name for name in environ if name.startswith("STRANDS_"))
    for name in (name for name in named if name not in VARIABLES):
        yield Check("environment", "warning", f"{name} has no effect", suggest(name, VARIABLES))
    known_variables = [name for name in named if name in VARIABLES]
    if known_variables == named:
        yield Check(
            "environment",
            "ok",
            f"set: {', '.join(known_variables)}" if known_variables else "no STRANDS_ variable is set",
        )


# The check of a store for `strands doctor`: its facts, its warnings, or why it cannot be used.


_NAME = "store"
_WARNING, _FIX = "warning: ", "; fix: "


def check_store(settings: Settings) -> Iterator[Check]:
    """Connect to the chosen store and report its facts; nothing for a directory, which has a check of its own.

    No line has a password: neither those of a place nor those of a store do.
    """
    try:
        store_place = store_place_of(settings)
        if store_place.directory is not None:
            return
        opener, address = opener_of(store_place)
        lines = opener.check(store_place, address)
    except StrandsCliError as error:
        yield Check(_NAME, "failed", error.findings[0].message if error.findings else error.message, error.fix)
        return
    yield Check(_NAME, "ok", f"{store_place} can be used")
    yield from map(_check_of, lines)
    yield from _check_owners(store_place)


def _check_owners(place: StorePlace) -> Iterator[Check]:
    """Report the facts of the installed owners of runs, such as workers, in the store."""
    try:
        owners = list(installed_owners())
        if not owners:
            return
        with closing(open_store(place)) as store:
            for name, owner in owners:
                yield from (Check(name, "ok", line) for line in owner.check(store))
    except StrandsCliError as error:
        yield Check("owners", "warning", error.message, error.fix)


def _check_of(line: str) -> Check:
    if not line.startswith(_WARNING):
        return Check(_NAME, "ok", line)
    text, _, fix = line.removeprefix(_WARNING).partition(_FIX)
    return Check(_NAME, "warning", text, fix or None)


_MOST_DIFFERENCES = 5


def check_parts() -> Iterator[Check]:
    """Report the commands, stores, formats and other parts that nothing can use, or that two distributions claim."""
    faults = faulty_parts()
    yield from (Check("parts", "warning", finding.message, finding.fix) for finding in faults)
    if not faults:
        yield Check("parts", "ok", "each name that a plugin adds is of one distribution")


def check_providers(environ: Mapping[str, str]) -> Iterator[Check]:
    """Report for each provider whether its client is installed and its key is set; the key itself is never shown.

    Those of distributions are imported, if policy and the lock admit it.
    """
    absent: list[str] = []
    ready = False
    providers = [provider for provider in PROVIDERS.values() if provider.make is not None]
    for name in provider_names()[len(PROVIDERS) :]:
        try:
            providers += filter(None, [provider_named(name)])
        except StrandsCliError as error:
            yield Check(f"provider {name}", "failed", error.message, error.fix)
    for provider in providers:
        missing = list(check_extra(provider))
        keyed = has_key(provider, ModelSettings(provider.name), environ)
        if missing and (keyed or list(check_client(provider)) or not provider.is_of_core):
            words = f"its key is set; {missing[0].message}" if keyed else missing[0].message
            yield Check(f"provider {provider.name}", "warning", words, missing[0].fix)
        elif missing:
            absent.append(provider.name)
        else:
            check = _check_provider(provider, environ)
            ready = ready or check.message.endswith("ready")
            yield check
    if absent:
        yield Check("providers", "ok", f"not installed: {', '.join(absent)}")
    if not ready:
        fix = "strands explain live-models; workflows with a recording run without"
        yield Check("providers", "warning", "no model provider with a key is ready", fix)


def check_short_keys(environ: Mapping[str, str], folder: Path) -> Iterator[Check]:
    """Report keys in variables, and secrets of the workflows of a folder, too short to be hidden.

    Neither value nor length is shown. No program is run, and no keyring opened.
    """
    keys = short_keys(environ)
    yield from (_check_of_finding("secrets", short_secret(f"the variable {name}")) for name in keys)
    for file, secrets in secrets_here(folder):
        for secret in secrets:
            if is_short_here(secret, environ) and not (secret.source == "env" and secret.key in keys):
                yield _check_of_finding("secrets", short_secret(f"the secret '{secret.name}' of {file.name}"))


def _check_provider(provider: Provider, environ: Mapping[str, str]) -> Check:
    name = f"provider {provider.name}"
    if not provider.keys and not provider.aws:
        return Check(name, "ok", "client installed; it needs no key")
    findings = check_provider(ModelSettings(provider.name), environ, provider=provider)
    missing = [finding for finding in findings if finding.code == MISSING_API_KEY]
    if not missing:
        return Check(name, "ok", "client installed, key set: ready")
    if provider.keys and has_key(provider, ModelSettings(provider.name), environ):
        return Check(name, "warning", missing[0].message, missing[0].fix)
    return Check(name, "ok", f"client installed, no key ({' or '.join(provider.keys) or 'AWS credentials'})")


def check_tools(catalog: Catalog, of_hooks: Sequence[Finding] = ()) -> Iterator[Check]:
    """Report the installed tools that cannot be used, with the reasons; findings of hooks have a line of their own."""
    bad = [record for record in catalog.tools if not record.usable]
    for record in bad:
        message = f"'{record.name}' of {record.distribution}: {record.status}, {record.reason}"
        fix = catalog.fix_of(record)
        yield Check("tools", "failed" if record.status == "broken" else "warning", message, fix)
    if len(bad) < len(catalog.tools):
        yield Check("tools", "ok", f"{len(catalog.tools) - len(bad)} can be used (strands list-tools)")
        if needed := sorted(
            {condition for record in catalog.tools if record.usable for condition in _conditions(record)}
        ):
            yield Check("tools", "ok", f"their requirements are met: {', '.join(needed)}")
    elif not bad:
        yield Check("tools", "warning", "no tool is installed", "pip install 'strands-cli[tools]'")
    reasons = {record.reason for record in bad}
    for finding in catalog.findings:
        if finding.code not in (TOOL_CONFLICT,) and finding.message not in reasons and finding not in of_hooks:
            yield _check_of_finding("tools", finding)


def _conditions(record: ToolRecord) -> Iterator[str]:
    """Yield a tool's requirements of the machine, from its manifest."""
    requires = record.requires or {}
    if "python" in requires:
        yield f"Python {requires['python']}"
    yield from requires.get("distributions", ())
    yield from (f"the module {name}" for name in requires.get("modules", ()))
    yield from (f"the variable {name}" for name in requires.get("env", ()))
    if systems := requires.get("os"):
        yield f"the system {' or '.join(systems)}"


def denied_tools(catalog: Catalog, rules: Sequence[Rule]) -> set[tuple[str, str]]:
    """Return the tools, as distribution and name, that policy denies, so that they must not be imported."""
    from strands_cli.planning.resolve.single_tool import decided, installed_tool, is_denied_by_policy

    denied = set()
    for tool in catalog.tools:
        for record in (tool, *(tool.members or ())):
            if is_denied_by_policy(decided(installed_tool(record, catalog, record.ref_name), rules)):
                denied.add((record.distribution, record.ref_name))
    return denied


def check_policies(settings: Settings, folder: Path, policy: Policy, catalog: Catalog) -> Iterator[Check]:
    """Report the policy files in force, and their doubtful rules."""
    from strands_cli.planning.machine.rules_in_force import check_file_rules
    from strands_cli.user_files.policy_files import policy_places

    existing = [(level, path) for level, path in policy_places(settings, folder) if _exists(path)]
    for level, path in existing:
        count = sum(rule.level == level for rule in policy.rules)
        yield Check("policy", "ok", f"{level}: {path}, {counted(count, 'rule')}")
    yield from (
        _check_of_finding("policy", finding) for finding in (*policy.findings, *check_file_rules(policy.rules, catalog))
    )
    if not existing:
        yield Check("policy", "ok", "no policy file: installed tools may be used, and ask as their hints require")


def _exists(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return True


def check_lock(folder: Path, catalog: Catalog, settings: Settings) -> Iterator[Check]:
    """Compare the lock of a folder with the installed distributions."""
    from strands_cli.lock.lock_reader import lock_file, read_lock

    file = lock_file(folder)
    try:
        lock = read_lock(file)
        if lock is None:
            yield Check("lock", "ok", f"no {file.name} here")
            return
        from strands_cli.lock.compare import compare_locks
        from strands_cli.planning.machine.installation import without_policy
        from strands_cli.planning.machine.lock_check import lock_of
        from strands_cli.planning.workflow_folder import plan_folder

        planned = plan_folder(folder, without_policy(catalog, settings), packaged=lock.packaged)
        now = lock_of(planned.plans, catalog)
    except StrandsCliError as error:
        reason = error.findings[0].message if error.findings else error.message
        yield Check("lock", "failed", f"{file}: {reason}", error.fix)
        return
    differences = compare_locks(lock, now)
    for difference in differences[:_MOST_DIFFERENCES]:
        yield Check("lock", "failed", difference.message, "strands lock --diff")
    if not differences:
        yield Check("lock", "ok", f"{file.name}: no differences")


def check_notifications(settings: Settings) -> Iterator[Check]:
    """Report the targets of `notify` in the user's config file, as its hook plugin lists them, and errors of the file.

    Nothing is sent.
    """
    from strands_cli.parts.notify_hooks import notify_hooks  # it imports pluggy

    name = "notifications"
    try:
        hooks = notify_hooks()
    except StrandsCliError as error:
        for finding in error.findings:
            yield Check(name, "failed", f"{finding.where}: {finding.message}", finding.fix)
        if not error.findings:
            yield Check(name, "failed", error.message, error.fix)
        return
    if hooks is None:
        yield Check(name, "ok", f"none: {settings.user_config or 'no home directory'} has no target")
    else:
        yield from (check for _, check in hooks.doctor_checks(HookContext()))


def check_hooks(findings: Sequence[Finding], plugins: Sequence[str]) -> Iterator[Check]:
    """Report the enabled hook plugins, and those that cannot be used."""
    yield from (_check_of_finding("hook plugins", finding) for finding in findings)
    if not findings or plugins:
        yield Check("hook plugins", "ok", ", ".join(plugins) if plugins else "none is enabled")


def _check_of_finding(name: str, finding: Finding) -> Check:
    position = f" ({finding.where})" if finding.where else ""
    return Check(
        name, "failed" if finding.severity == "error" else "warning", f"{finding.message}{position}", finding.fix
    )
