"""The parts that the core registers itself, by entry-point group: rows like the entry points of a distribution.

A name of the core or of a distribution of this project has one owner, whatever else is installed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

CORE = "strands-cli"
HOOKS = "strands_cli.hooks"
COMMANDS = "strands_cli.commands"
PATTERNS = "strands_cli.patterns"
FILTERS = "strands_cli.filters"
SECRETS = "strands_cli.secrets"
FORMATS = "strands_cli.formats"
STORES = "strands_cli.stores"
OWNERS = "strands_cli.owners"
PROVIDERS = "strands_cli.providers"
EXPORTERS = "strands_cli.exporters"
# Not a group: the keys of the user's config file that switch on a hook plugin of ours.
CONFIG_KEYS = "config.yaml"
# The groups whose parts a person names: through them the core imports parts that policy and the lock admit.
PART_GROUPS = (COMMANDS, PROVIDERS, PATTERNS, FILTERS, SECRETS, FORMATS, STORES, OWNERS, EXPORTERS)

# Name -> object reference, as in an entry point.
DEFAULTS: Mapping[str, Mapping[str, str]] = {
    # A command of a group has a name with a dot: `runs.list`.
    COMMANDS: {
        "run": "strands_cli.cli.commands.running.run_command:run",
        "new": "strands_cli.cli.commands.new_command:new",
        "validate": "strands_cli.cli.commands.validate_command:validate",
        "plan": "strands_cli.cli.commands.plan_command:plan",
        "explain": "strands_cli.cli.commands.explain_command:explain",
        "workflows": "strands_cli.cli.commands.command_groups:workflows_app",
        "workflows.list": "strands_cli.cli.commands.list_commands:list_workflows",
        "workflows.trust": "strands_cli.cli.commands.running.trust_command:trust",
        "workflows.schema": "strands_cli.cli.commands.validate_command:schema",
        "runs": "strands_cli.cli.commands.command_groups:runs_app",
        "runs.list": "strands_cli.cli.commands.stored.runs_group:list_runs",
        "runs.show": "strands_cli.cli.commands.stored.runs_group:show_run",
        "runs.rerun": "strands_cli.cli.commands.running.resume_command:rerun",
        "runs.cancel": "strands_cli.cli.commands.stored.runs_group:cancel_runs",
        "runs.delete": "strands_cli.cli.commands.stored.runs_group:delete_runs",
        "runs.prune": "strands_cli.cli.commands.stored.runs_group:prune_runs",
        "runs.artifacts": "strands_cli.cli.commands.stored.runs_group:fetch_artifacts",
        "runs.store": "strands_cli.cli.commands.command_groups:store_app",
        "store.init": "strands_cli.cli.commands.stored.store_commands:init_store",
        "store.check": "strands_cli.cli.commands.stored.store_commands:check_store",
        "store.migrate": "strands_cli.cli.commands.stored.store_commands:migrate_store",
        "resume": "strands_cli.cli.commands.running.resume_command:resume",
        "approve": "strands_cli.cli.commands.running.resume_command:approve",
        "reject": "strands_cli.cli.commands.running.resume_command:reject",
        "tools": "strands_cli.cli.commands.command_groups:tools_app",
        "tools.list": "strands_cli.cli.commands.tools_commands:list_tools",
        "tools.show": "strands_cli.cli.commands.tools_commands:show_tool",
        "tools.run": "strands_cli.cli.commands.tools_commands:run_tool",
        "tools.import": "strands_cli.cli.commands.tools_commands:import_servers",
        "plugin": "strands_cli.cli.commands.command_groups:plugin_app",
        "plugin.install": "strands_cli.cli.commands.plugin_installer:install",
        "plugin.upgrade": "strands_cli.cli.commands.plugin_installer:upgrade",
        "plugin.uninstall": "strands_cli.cli.commands.plugin_installer:uninstall",
        "plugin.list": "strands_cli.cli.commands.plugin_group:list_installed",
        "plugin.verify": "strands_cli.cli.commands.plugin_group:verify",
        "plugin.enable": "strands_cli.cli.commands.plugin_installer:enable",
        "plugin.disable": "strands_cli.cli.commands.plugin_installer:disable",
        "lock": "strands_cli.cli.commands.lock_command:lock",
        "models": "strands_cli.cli.commands.models_commands:models_app",
        "models.keys": "strands_cli.cli.commands.models_commands:keys_app",
        "completion": "strands_cli.cli.commands.completion:completion",
    },
    PROVIDERS: {
        name: f"strands_cli.provider_table:{name.upper()}"
        for name in (
            "bedrock",
            "openai",
            "openai_responses",
            "anthropic",
            "gemini",
            "ollama",
            "llamacpp",
            "mistral",
            "litellm",
            "writer",
            "sagemaker",
            "replay",
        )
    },
    PATTERNS: {
        "chain": "strands_cli.workflow.patterns.chain:Chain",
        "workflow": "strands_cli.workflow.patterns.workflow:WorkflowPattern",
        "routing": "strands_cli.workflow.patterns.routing:Routing",
        "parallel": "strands_cli.workflow.patterns.parallel:Parallel",
        "evaluator_optimizer": "strands_cli.workflow.patterns.evaluator_optimizer:EvaluatorOptimizer",
        "orchestrator_workers": "strands_cli.workflow.patterns.orchestrator_workers:OrchestratorWorkers",
        "graph": "strands_cli.workflow.patterns.graph:Graph",
    },
    FILTERS: {
        "regex_search": "strands_cli.workflow.templates.filters:regex_search",
    },
    SECRETS: dict.fromkeys(
        ("env", "file", "command", "keyring", "secrets_manager", "ssm"),
        "strands_cli.secrets.secret_sources:read_secret",
    ),
}

# Names of distributions of this project, so that a fix names the one with a missing part.
OURS: Mapping[str, Mapping[str, str]] = {
    COMMANDS: {
        "ask": "strands-cli-ask",
        "chat": "strands-cli-ask",
        "batch": "strands-cli-batch",
        "doctor": "strands-cli-doctor",
        "runs.notify": "strands-cli-notify",
        "workers": "strands-cli-workers",
        "workflows.lsp": "strands-cli-lsp",
        "workflows.trigger": "strands-cli-trigger",
        **dict.fromkeys(("workflows.agent", "workflows.migrate"), "strands-cli-migrate"),
        # `install` and `upgrade` take the place of plain ones of the core.
        **dict.fromkeys(
            ("plugin.index", "plugin.install", "plugin.publisher", "plugin.search", "plugin.upgrade"),
            "strands-cli-index",
        ),
        **dict.fromkeys(("runs.diff", "runs.report", "runs.search", "runs.stats", "ui"), "strands-cli-ui"),
        **dict.fromkeys(
            ("plugin.adopt", "plugin.check", "plugin.manifest", "plugin.new", "plugin.unadopt", "workflows.watch"),
            "strands-cli-dev",
        ),
    },
    FORMATS: {"versions": "strands-cli-migrate"},
    STORES: dict.fromkeys(("postgresql", "postgres"), "strands-cli-postgres"),
    OWNERS: {"workers": "strands-cli-workers"},
    PROVIDERS: {"local": "strands-cli-local"},
    CONFIG_KEYS: {"notify": "strands-cli-notify"},
    EXPORTERS: {"report": "strands-cli-ui"},
}


# Names of the core that no row of `DEFAULTS` has: the filters of its templates, and the version of its own format.
_FILTERS = """
    abs attr batch capitalize center count d default dictsort e escape filesizeformat first float forceescape format
    fromjson groupby indent int items join last length list lower map max min pprint random reject rejectattr replace
    reverse round safe search select selectattr slice sort string striptags sum title tojson trim truncate unique upper
    urlencode urlize wordcount wordwrap xmlattr
"""
# Other distributions add commands to these groups, by names with a dot.
OPEN_GROUPS = ("workflows", "runs", "store", "tools", "plugin", "models")
# Earlier words for commands, which answer with the present ones.
MOVED = {
    "list-supported": "explain supported",
    "rerun": "runs rerun",
    "schema": "workflows schema",
    "store": "runs store",
    "trust": "workflows trust",
    "list-workflows": "workflows list",
    "atomic": "workflows agent",
    "migrate": "workflows migrate",
    "notify": "runs notify",
    "queue": "workers queue",
    "submit": "workers submit",
    "watch": "workflows watch",
    "worker": "workers start",
    "sessions": "runs",
    "sessions cleanup": "runs prune",
    "sessions resume": "resume",
    "list-tools": "tools list",
    "keys": "models keys",
    "lsp": "workflows lsp",
    "trigger": "workflows trigger",
}
# These stay right, and say nothing of the others.
PROMISED = ("list-tools", "keys", "lsp", "trigger")
RESERVED: Mapping[str, frozenset[str]] = {
    FILTERS: frozenset(_FILTERS.split()),
    FORMATS: frozenset({"version-2"}),
    COMMANDS: frozenset(MOVED),
}

MOST_CHARACTERS_OF_A_NAME = 64
_WORD = r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
# How a person can write a name of each group: at a prompt, in a template, as the scheme of an address, in a workflow.
_FORMS = {
    COMMANDS: rf"(?:(?:{'|'.join(OPEN_GROUPS)})\.)?[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*",
    FILTERS: r"[A-Za-z_][A-Za-z0-9_]*",
    STORES: r"[a-z][a-z0-9+.-]*",
}


def is_part_name(group: str, name: str) -> bool:
    """Return whether a person could write a name where parts of its group are named."""
    return len(name) <= MOST_CHARACTERS_OF_A_NAME and re.fullmatch(_FORMS.get(group, _WORD), name) is not None


def install_of(distribution: str) -> str:
    """Return the command that installs a distribution of this project, by the extra of this program if it has one."""
    extra = distribution.removeprefix("strands-cli-")
    return f"pip install 'strands-cli[{extra}]'" if extra != distribution else f"pip install {distribution}"


def owner_by_name(group: str, name: str) -> str | None:
    """Return the core or the distribution of this project that a name of a group is reserved for; None without one."""
    is_of_core = name in DEFAULTS.get(group, {}) or name in RESERVED.get(group, ())
    return OURS.get(group, {}).get(name) or (CORE if is_of_core else None)
