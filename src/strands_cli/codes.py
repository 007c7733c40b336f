"""Every finding code: what it means and what to do; the reference page and `strands explain` are made from it."""

from __future__ import annotations

from typing import NamedTuple


class CodeEntry(NamedTuple):
    """The meaning of a code, its usual remedy, and the exit code of a command that reports it."""

    meaning: str
    remedy: str
    exit_code: int = 3


# Codes are persisted names: scripts match on them. Add, never rename (tests/golden pins the set).
CODES: dict[str, CodeEntry] = {
    # -- the document (workflow/document.py)
    "not-yaml": CodeEntry("The text is not well-formed YAML or JSON.", "Correct the syntax at the reported place."),
    "file-unreadable": CodeEntry("A file cannot be opened or read.", "Check the path and its permissions.", 2),
    "document-too-large": CodeEntry("The text is larger than 10 MB.", "Split it."),
    "not-utf8": CodeEntry("The bytes are not UTF-8 text.", "Save the file as UTF-8."),
    "bad-character": CodeEntry("A character that YAML does not allow.", "Remove the character."),
    "document-empty": CodeEntry("The document is empty.", "Write its content."),
    "several-documents": CodeEntry("One file holds several YAML documents.", "Put each into a file of its own."),
    "document-too-deep": CodeEntry("Nested deeper than 100 levels.", "Flatten the structure."),
    "duplicate-key": CodeEntry("A key occurs twice in one mapping.", "Keep one of the two."),
    "key-not-text": CodeEntry("The key of a mapping is a list or a mapping.", "Use a plain word as key."),
    "number-not-usable": CodeEntry("A number that JSON cannot hold.", "Put it in quotes, or change it."),
    "yaml-tag": CodeEntry("A YAML tag that asks for a type beyond JSON.", "Remove the tag."),
    "bad-merge": CodeEntry("A merge key `<<` names something other than mappings.", "Merge the anchor of a mapping."),
    "unknown-alias": CodeEntry("A YAML alias without an anchor.", "Define the anchor before it is used."),
    "alias-loop": CodeEntry("A YAML alias inside the node it names.", "Write the value out."),
    "alias-bomb": CodeEntry("Aliases that expand the document beyond its limit.", "Use fewer aliases of aliases."),
    # -- the workflow (workflow/)
    "missing-key": CodeEntry("A required key is missing.", "Add the key."),
    "unknown-key": CodeEntry("A key that the format does not have.", "Correct or remove it; keys with `x-` are free."),
    "wrong-type": CodeEntry(
        "A value does not have the type that the format requires.", "Write a value of the reported type."
    ),
    "bad-value": CodeEntry("A value of the right type that is not allowed.", "Use an allowed value."),
    "bad-identifier": CodeEntry(
        "A name contains characters that are not allowed.", "Use letters, digits and . _ : - only."
    ),
    "step-form": CodeEntry(
        "A step does not have exactly one of the three forms.", "Give it `agent`, `tool` or `type: hitl`."
    ),
    "edge-form": CodeEntry("An edge with both or neither of `to` and `choose`.", "Keep one of the two."),
    "server-form": CodeEntry("An MCP server with both or neither of `command` and `url`.", "Keep one of the two."),
    "unknown-pattern": CodeEntry("A pattern type that does not exist.", "Use one of the seven."),
    "unknown-agent": CodeEntry("A step names an agent that is not defined.", "Correct the name or define the agent."),
    "unknown-task": CodeEntry("A dependency names a task that is not defined.", "Correct the name or define the task."),
    "unknown-route": CodeEntry(
        "The default names a route that is not defined.", "Correct the name or define the route."
    ),
    "unknown-node": CodeEntry("An edge names a node that is not defined.", "Correct the name or define the node."),
    "unknown-server": CodeEntry(
        "An MCP server is named that is not defined.", "Correct the name or define the server."
    ),
    "duplicate-id": CodeEntry("Two parts of one kind have the same name.", "Give each a name of its own."),
    "task-cycle": CodeEntry("Tasks that wait for each other.", "Remove one of the dependencies."),
    "missing-dependency": CodeEntry(
        "A task reads the answer of another without waiting for it.", "Add the other task to its `deps`."
    ),
    "window-and-compaction": CodeEntry(
        "A window leaves out the messages that compaction would summarize.", "Keep one of the two."
    ),
    "concurrent-memory": CodeEntry(
        "An agent with `memory: run` in steps that may run at the same time.", "Use an agent for each step."
    ),
    "unused-agent": CodeEntry("An agent that no step uses.", "Use it or remove it."),
    "unreachable-node": CodeEntry(
        "A node that no path from the first node reaches.", "Add an edge, or remove the node."
    ),
    "no-else": CodeEntry(
        "A choice without `else`: when no condition is true, the path ends.", "Add an `else` if it should continue."
    ),
    "no-effect": CodeEntry("A field has no effect at its place.", "Remove it, or add what it needs."),
    "reserved-name": CodeEntry(
        "An input, or a saved result, with a name that templates already use.", "Choose another name."
    ),
    "bad-template": CodeEntry("A template or condition that does not compile.", "Correct its syntax."),
    "unknown-name": CodeEntry("A template uses a name that has no value there.", "Use one of the names known there."),
    "undeclared-variable": CodeEntry(
        "A template uses a variable that no input declares.", "Declare it under `inputs`."
    ),
    "bad-schema": CodeEntry("A JSON Schema is not valid.", "Correct the schema."),
    "bad-regex": CodeEntry("A regular expression that does not compile.", "Correct the expression."),
    "bad-path": CodeEntry(
        "A path is outside the workflow's folder, or is not a path.", "Use a path inside the folder."
    ),
    "missing-skill": CodeEntry(
        "A skill's folder or its SKILL.md is missing, or is not text.", "Name a folder with a SKILL.md of text."
    ),
    "skill-too-large": CodeEntry(
        "A skill's folder holds more text than agents may read.", "Remove files that no agent needs."
    ),
    "file-not-read": CodeEntry(
        "A file that the workflow names is not read here, so its content is not checked.",
        "Check the workflow where its files are: strands validate FILE.",
    ),
    "ref-loop": CodeEntry("Agent files that refer to each other in a circle.", "Remove one of the references."),
    "ref-not-one-agent": CodeEntry(
        "A `$ref` to a file that does not define exactly one agent.", "Name a file with one agent."
    ),
    "bad-test": CodeEntry(
        "A test of an agent proves nothing: it expects nothing, or it fails for every answer of the model.",
        "Correct the test.",
    ),
    # -- tool refs (toolref.py, catalog/, planning/)
    "bad-tool-ref": CodeEntry(
        "A text does not have a form of a tool reference.", "Write it in one of the documented forms."
    ),
    "tool-conflict": CodeEntry(
        "Two distributions provide a tool with this name.",
        "Qualify it: native:DISTRIBUTION/NAME, or uninstall one of them.",
    ),
    "tool-version": CodeEntry(
        "The installed distribution's version does not satisfy the reference's specifier.",
        "Install a version that does, or change the specifier.",
    ),
    "tool-broken": CodeEntry("A tool is installed but cannot be used as it is.", "Correct the reported cause.", 18),
    "server-fault": CodeEntry(
        "An MCP server cannot be used.", "Check that the server works by itself; the error shows its output.", 18
    ),
    "tool-unmet": CodeEntry(
        "A tool requires something that this machine does not have.",
        "Provide the reported requirement, or use another tool.",
        18,
    ),
    "not-in-catalog": CodeEntry(
        "A reference of this form does not name an installed tool.", "Use a form such as native:NAME."
    ),
    "unknown-tool": CodeEntry(
        "A tool name that neither the workflow nor an installed distribution provides.",
        "Correct the name, or install the distribution that provides it.",
    ),
    # -- installed distributions (catalog/)
    "unreadable-directory": CodeEntry(
        "A directory of sys.path, or a distribution in it, cannot be read.", "Correct its permissions or remove it."
    ),
    "duplicate-distribution": CodeEntry(
        "One directory contains two versions of a distribution; which one is used is undefined.",
        "Uninstall every version, then install one.",
    ),
    "bad-entry-points": CodeEntry(
        "A distribution's entry_points.txt cannot be read, or has a malformed line.",
        "Reinstall the distribution, or report it to its author.",
    ),
    "bad-entry-point": CodeEntry(
        "An entry point's value is not 'module' or 'module:attribute'.", "Report it to the distribution's author."
    ),
    "bad-tool-name": CodeEntry(
        "A tool's name is not lower-case letters, digits and '_' (at most 64, a letter first).",
        "Rename the entry point.",
    ),
    "missing-module": CodeEntry(
        "An entry point names a module that does not exist.", "Reinstall the distribution, or correct the entry point."
    ),
    "bad-manifest": CodeEntry(
        "A strands_tools.json cannot be read or breaks the manifest's rules.",
        "Correct the reported field, or generate it again with: strands plugin manifest --write",
    ),
    "manifest-version": CodeEntry(
        "A manifest is written for another version of strands-cli.", "Upgrade strands-cli or the distribution."
    ),
    "manifest-field": CodeEntry("A manifest has an unknown field.", "Correct or remove the field."),
    "manifest-untrue": CodeEntry(
        "A manifest differs from the distribution's own metadata or code.",
        "Generate it again with: strands plugin manifest --write",
    ),
    "manifest-drift": CodeEntry(
        "A plugin's committed manifest differs from its code.",
        "Generate it again with: strands plugin manifest --write",
    ),
    "bad-plugin": CodeEntry(
        "A plugin project cannot be read, or its code cannot be loaded to describe it.",
        "Correct what the message names.",
    ),
    "unreadable-source": CodeEntry(
        "A tool's module cannot be read as Python source.", "Correct the module, or ship a manifest."
    ),
    # -- plugins, for those who install them (plugins/install/)
    "plugin-replaces": CodeEntry(
        "A distribution would replace or hide files that belong to another one, or to strands-cli.",
        "Do not install it; report it to its author.",
    ),
    "plugin-empty": CodeEntry(
        "A distribution provides neither tools nor hooks.", "Correct the name; install a library with pip."
    ),
    "plugin-denied": CodeEntry(
        "Policy denies every tool of a distribution, so it is not installed.",
        "Have the rule changed: strands explain policy REF",
        21,
    ),
    "file-changed": CodeEntry(
        "An installed file does not have the hash or the size that RECORD states.",
        "Find out who changed it, then install the distribution again.",
    ),
    "file-missing": CodeEntry("An installed file is missing.", "Install the distribution again."),
    "file-added": CodeEntry(
        "A distribution's packages contain a file that was not installed with it.", "Read it, then remove it."
    ),
    "not-recorded": CodeEntry(
        "A distribution is installed in place or has no RECORD, so its files cannot be verified.",
        "Install it from a wheel.",
    ),
    # -- plugins, for their authors (plugins/check/)
    "unknown-distribution": CodeEntry(
        "No installed distribution with this name declares tools.", "Correct the name, or install it."
    ),
    "bad-metadata": CodeEntry(
        "A plugin's name, version, dependencies or Python versions do not follow the packaging standards.",
        "Correct the reported field.",
    ),
    "plugin-name": CodeEntry(
        "A plugin's distribution name does not begin with strands-tool-, so a user cannot guess it from a tool's name.",
        "Rename it, if it is not published yet.",
    ),
    "missing-attribute": CodeEntry(
        "An entry point names something that its module does not define.", "Correct the entry point or the module."
    ),
    "manifest-missing": CodeEntry(
        "A plugin has no strands_tools.json, so most of it is unknown without an import.",
        "Generate it with: strands plugin manifest --write",
    ),
    "manifest-not-packaged": CodeEntry(
        "A plugin's wheel does not contain strands_tools.json.", "Include it in the build as the fix describes."
    ),
    "no-description": CodeEntry(
        "A tool has no description, so a model does not know when to call it.",
        "Describe it in the tool spec or docstring.",
    ),
    "long-description": CodeEntry(
        "A tool's description is longer than some model providers accept.", "Shorten it to 1,024 characters."
    ),
    "hidden-character": CodeEntry(
        "A text that people and models read contains control, bidi or invisible characters.", "Remove them."
    ),
    "missing-hint": CodeEntry(
        "A tool does not declare whether it only reads or destroys, so every call asks a person.",
        "Declare readOnlyHint and destructiveHint in its annotations, or with @tool_metadata.",
    ),
    "contradicting-hints": CodeEntry(
        "A tool declares both that it only reads and that it destroys.", "Correct one of the two hints."
    ),
    "missing-capabilities": CodeEntry(
        "A tool does not declare its capabilities, so policy rules assume that it has all of them.",
        "Declare `capabilities`; {} declares that it has none.",
    ),
    "bad-capabilities": CodeEntry(
        "A tool's `capabilities` do not have the required form.", "Write them as the manifest's page describes."
    ),
    "bad-resources": CodeEntry(
        "A tool's `resources` do not have the required form, so its calls wait for each other more than necessary.",
        "Write them as the manifest's page describes.",
    ),
    "bad-engines": CodeEntry(
        "A tool's `engines` does not name a function of the tool's own package, so `strands doctor` cannot ask it.",
        "Write it as `module:function`, as the manifest's page describes.",
    ),
    "bad-requirement": CodeEntry(
        "A tool's `requires` has an unknown form, so it can never be met.", "Correct the requirement."
    ),
    "bad-example": CodeEntry(
        "An example of a tool does not fit the tool's own input schema.", "Correct the example or the schema."
    ),
    "no-py-typed": CodeEntry(
        "A plugin's package has no py.typed, so type checkers ignore its types.", "Add an empty file py.typed."
    ),
    "import-failed": CodeEntry("A plugin cannot be imported, or ends the process.", "Correct what the message names."),
    "import-hangs": CodeEntry(
        "Importing a plugin takes longer than allowed.", "Only define names while a module is imported."
    ),
    "import-slow": CodeEntry(
        "Importing a plugin takes more than a second.", "Import slow modules inside the functions that need them."
    ),
    "import-prints": CodeEntry("A plugin prints while it is imported.", "Print nothing; use logging instead."),
    "import-leaves-thread": CodeEntry(
        "A plugin starts a thread while it is imported.", "Start it with the first call, or do not start it."
    ),
    "import-changes-process": CodeEntry(
        "Importing a plugin changes the current directory, sys.path or the environment.",
        "Leave them as they are: other tools run in the same process.",
    ),
    # -- planning (planning/)
    "bad-var": CodeEntry("A --var is not of the form NAME=VALUE.", "Write --var NAME=VALUE.", 2),
    "bad-input": CodeEntry(
        "An input's value does not have its declared type, or is not in its enum.",
        "Give a value of the reported type or enum.",
        2,
    ),
    "missing-input": CodeEntry("A required input has no value.", "Give it with --var NAME=VALUE.", 2),
    "unknown-input": CodeEntry(
        "A value is given for an input that the workflow does not declare.",
        "Correct the name, or declare the input.",
        2,
    ),
    "undefined-variable": CodeEntry(
        "A template uses a variable that nothing defines for this run.",
        "Declare it under `inputs`, or give it with --var.",
        2,
    ),
    "tool-cycle": CodeEntry(
        "A tool contains itself, or contains tools too many levels deep.",
        "Remove one of them; give an agent that is a tool a list of `tools`.",
    ),
    "no-exporter": CodeEntry(
        "`telemetry.otel` sends traces by OTLP, and the OTLP exporter is not installed.",
        "pip install 'strands-cli[otel]', or run without traces: OTEL_SDK_DISABLED=true",
        18,
    ),
    "missing-secret": CodeEntry(
        "A secret of `env.secrets` has no value: its variable, file, program, keyring or service does not have it.",
        "Set the value at the source that the message names; see docs/how-to/secrets.md.",
        18,
    ),
    "unnamed-secret": CodeEntry(
        "A tool declares a secret that `env.secrets` does not name, so the tool runs without it.",
        "Name it under `env.secrets`, or ignore this if the tool works without it.",
    ),
    "risky-combination": CodeEntry(
        "One agent reads untrusted text, reads private data and can send data out: the text may make it do so.",
        "Give the tasks to two agents, or name the hosts that a tool may reach: docs/explanation/security-model.md.",
    ),
    "plain-credential": CodeEntry(
        "A header that usually carries a credential has its value in the workflow, where every reader sees it.",
        "Declare the value under `env.secrets`, and write `${secrets.NAME}` in its place.",
    ),
    "unknown-secret": CodeEntry(
        "The configuration of a tool names a secret that `env.secrets` does not have.",
        "Correct the name, or name the secret under `env.secrets`.",
    ),
    "written-secret": CodeEntry(
        "The value of a secret is written in the workflow, its files or the run's inputs, which the journal stores.",
        "Remove the value and let a tool name the secret; replace the secret if others can read the file.",
        3,
    ),
    "missing-mount": CodeEntry(
        "A directory that `env.mounts` names does not exist.", "Create the directory, or correct the path.", 18
    ),
    "unmatched-rule": CodeEntry(
        "A rule names a tool, or an argument of a tool, that does not exist, so it has no effect.", "Correct the name."
    ),
    "tool-denied": CodeEntry(
        "The workflow names a tool that policy denies, or a step calls a tool that the workflow itself denies.",
        "Remove the tool, or have the rule changed: strands explain policy REF",
        21,
    ),
    "unnamed-policy": CodeEntry(
        "A `strands-policy.yaml` beside the workflow allows something; a file that is found there can only restrict.",
        "Read it, then name it: --policy FILE. Or move the rule into your own policy file.",
        21,
    ),
    "hook-missing": CodeEntry(
        "A policy file enables a hook plugin that is not installed, or that declares no hooks.",
        "Install it, or remove it from `hooks:`; until then nothing runs.",
        21,
    ),
    "hook-failed": CodeEntry(
        "A hook plugin cannot be used, or returns a value that its hook does not allow.",
        "Upgrade it, or remove it from `hooks:` of the policy file.",
        21,
    ),
    "bad-policy": CodeEntry(
        "A policy file cannot be read, or is not valid; nothing runs until it is corrected.",
        "Correct the error at the reported place; see docs/reference/policy.md.",
        21,
    ),
    "unsafe-policy-file": CodeEntry(
        "Other users can change a policy file of the operator or of this person.",
        "Give the file and its folder to the right owner, and remove the write permission of others.",
        21,
    ),
    "lock-missing": CodeEntry(
        "A lock is required (`--locked`, or `locked: true` of a policy file) and does not exist.",
        "Read what the workflow uses, then create the lock with: strands lock",
        21,
    ),
    "lock-broken": CodeEntry(
        "A strands.lock cannot be read, or was changed by hand; nothing runs.",
        "Restore it from version control, or write a new one with: strands lock",
        21,
    ),
    "lock-changed": CodeEntry(
        "An installed distribution differs from the lock: its version, its files or the definition of a tool.",
        "Read the change, then accept it with: strands lock --update NAME",
        21,
    ),
    "lock-unlisted": CodeEntry(
        "A tool is used, or comes with a used distribution, that the lock does not list.",
        "Read its definition, then accept it with: strands lock --update NAME",
        21,
    ),
    "custom-tool-denied": CodeEntry(
        "The workflow names its own Python code, which is not allowed.",
        "After reading it, add it to STRANDS_CUSTOM_TOOL_ALLOWLIST, or allow it by name in a policy file.",
        21,
    ),
    "twin-tool-names": CodeEntry(
        "Two tools of one agent have the same name for the model.", "Rename one of them with `as:`."
    ),
    "shadowed-tool": CodeEntry(
        "A name that the workflow defines hides an installed tool.",
        "Rename it, or write native:NAME for the installed one.",
    ),
    "legacy-tool": CodeEntry("A tool's name has the form of an older tool collection.", "Write native:NAME."),
    "tool-input": CodeEntry(
        "The input of a tool-call step does not fit the tool's schema.", "Correct the name or the value."
    ),
    "tool-config": CodeEntry(
        "A tool's `config` does not fit its schema, or the tool has no config.", "Correct the setting."
    ),
    "replay-needs-recording": CodeEntry(
        "Provider `replay` needs a recording.",
        "Set runtime.recording, or choose a live model with --provider and --model.",
    ),
    # -- models (providers.py)
    "unknown-provider": CodeEntry("A model provider that does not exist.", "Use one of docs/reference/providers.md."),
    "missing-extra": CodeEntry(
        "The provider's client package is not installed, or is too old.",
        "Install the extra that the fix names.",
        18,
    ),
    "missing-api-key": CodeEntry(
        "The provider's API key or credentials are not in the environment.",
        "Set the variable that the fix names.",
        18,
    ),
    "provider-needs": CodeEntry(
        "A setting is missing that the provider needs, or else chooses itself.", "Add the setting beside `provider`."
    ),
    "unknown-option": CodeEntry(
        "A key under `options` that the provider does not know and would ignore or refuse.",
        "Correct or remove the key.",
    ),
    "option-type": CodeEntry("An option must be a mapping.", "Write its keys below it."),
    "setting-out-of-range": CodeEntry(
        "A model setting is outside the range that the provider accepts.", "Use a value in the range."
    ),
    "field-without-effect": CodeEntry(
        "A field is accepted but has no effect with the chosen provider.", "Remove the field."
    ),
    "bad-host": CodeEntry("The model's host is not an address that its client can use.", "Write it as the fix shows."),
    "literal-key": CodeEntry(
        "An API key is written in the workflow file, where every reader sees it.",
        "Remove it, revoke it, and set the environment variable.",
    ),
    "key-to-other-host": CodeEntry(
        "The workflow sends the provider's key from your environment to a host that is not the provider's.",
        "Check that the key was made for that host.",
    ),
    # -- prices (prices.py, planning/)
    "bad-prices": CodeEntry(
        "The file that STRANDS_PRICES names is not a table of prices.", "Correct it, or unset STRANDS_PRICES.", 18
    ),
    "unknown-price": CodeEntry(
        "`max_cost_usd` limits a model whose price is unknown, so the limit cannot be enforced.",
        "Add the model's price to a file and name it in STRANDS_PRICES, or limit max_tokens.",
        18,
    ),
    # -- running (engine/, agents/, outputs/)
    "artifact-exists": CodeEntry(
        "An output file of the run already exists; only --force overwrites it.",
        "Pass --force to overwrite it, or --out DIR to write elsewhere.",
        12,
    ),
    "artifact-twice": CodeEntry("Two artifacts of one run have the same path.", "Give each artifact its own path.", 12),
    "cannot-write": CodeEntry(
        "The output path is not a directory, or cannot be written to.",
        "Choose another directory, or correct its permissions.",
        12,
    ),
    "artifact-outside": CodeEntry(
        "An artifact's path is absolute, has '..', or leaves the output directory through a link.",
        "Use a path inside the output directory and choose that directory with --out.",
        12,
    ),
    "notes-outside": CodeEntry(
        "The notes file of `context_policy.notes` is not inside the working directory.",
        "Use a relative path without '..'.",
    ),
    "stateful-memory": CodeEntry(
        "An agent with `memory: run` has a model that stores the conversation on its provider's server.",
        "Remove the option `stateful`, or use `memory: step`.",
    ),
    "bad-recording": CodeEntry(
        "A recording for provider `replay` does not have the required form.",
        "Correct it at the reported place, or create one with `strands run --record FILE`.",
    ),
}
