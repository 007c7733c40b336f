"""The inputs of the earlier format: those with a default need not be given, and an orchestrator gets all of them."""

from __future__ import annotations

from typing import Any

from strands_cli_migrate.earlier.steps import CONFIG
from strands_cli_migrate.earlier.tokens import Template
from strands_cli_migrate.earlier.values import items, mapping, texts_in, token


def names_of_inputs(document: dict[str, Any]) -> list[str]:
    """Return the names of the inputs: fixed values first, then those that may and those that must be given."""
    inputs = mapping(document.get("inputs"))
    parts = (mapping(inputs.get(part)) for part in ("values", "optional", "required"))
    return list(dict.fromkeys(name for part in parts for name in part))


def described_inputs(document: dict[str, Any]) -> list[str]:
    """Return the names of the inputs that the `input_schema` of the only agent of a single step describes."""
    agents, pattern = mapping(document.get("agents")), mapping(document.get("pattern"))
    steps = items(mapping(pattern.get("config")).get("steps"))
    if pattern.get("type") != "chain" or len(agents) != 1 or len(steps) != 1:
        return []
    schema = mapping(mapping(next(iter(agents.values()))).get("input_schema"))
    return [
        *mapping(schema.get("properties")),
        *(name for name in items(schema.get("required")) if isinstance(name, str)),
    ]


def let_defaults_count(document: dict[str, Any], places: dict[str, str]) -> None:
    """Move each required input with a default to those that may be given."""
    inputs = mapping(document.get("inputs"))
    required = inputs.get("required")
    if not isinstance(required, dict) or not isinstance(inputs.get("optional") or {}, dict):
        return
    usual = {name: spec for name, spec in required.items() if mapping(spec).get("default") is not None}
    if not usual:
        return
    inputs["optional"] = {**usual, **mapping(inputs.get("optional"))}
    inputs["required"] = {name: spec for name, spec in required.items() if name not in usual}
    if not inputs["required"]:
        del inputs["required"]
    places |= {f"/inputs/optional/{token(name)}": f"/inputs/required/{token(name)}" for name in usual}


def write_texts(document: dict[str, Any]) -> None:
    """Write a number or a boolean for an input of text as the text that it was: `1.10` was 1.1."""
    inputs = mapping(document.get("inputs"))
    values, texts = inputs.get("values"), set[str]()
    for part in ("required", "optional"):
        for name, declared in mapping(inputs.get(part)).items():
            kind = mapping(declared).get("type", "string" if "default" not in mapping(declared) else None)
            if (declared or "string") == "string" or (isinstance(declared, dict) and kind == "string"):
                texts.add(name)
            if isinstance(declared, dict) and kind == "string":
                if "default" in declared:
                    declared["default"] = _as_text(declared["default"])
                if isinstance(declared.get("enum"), list):
                    declared["enum"] = [_as_text(choice) for choice in declared["enum"]]
    if isinstance(values, dict):
        inputs["values"] = {name: _as_text(value) if name in texts else value for name, value in values.items()}


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def tell_the_orchestrator(document: dict[str, Any], places: dict[str, str]) -> str | None:
    """Add the inputs to the message of an orchestrator where neither that nor its prompt names one.

    Returns:
        The pointer of the orchestrator where the prompt is in another file, so that nothing is known of it.
    """
    pattern, names = mapping(document.get("pattern")), names_of_inputs(document)
    step = mapping(mapping(pattern.get("config")).get("orchestrator"))
    if pattern.get("type") != "orchestrator_workers" or not step or not names:
        return None
    agent = mapping(mapping(document.get("agents")).get(str(step.get("agent"))))
    prompt, message = agent.get("prompt"), step.get("input")
    texts = [prompt_or_message for prompt_or_message in (prompt, message) if isinstance(prompt_or_message, str)]
    texts += [str(holder[key]) for holder, key, _ in texts_in(step.get("vars"), "")]
    templates = [Template(text) for text in texts]
    read = {template.tokens[name].text for template in templates for name in template.free_names()}
    if read & {*names}:
        return None
    pointer = f"{CONFIG}/orchestrator"
    if not isinstance(prompt, str) and (not isinstance(message, str) or "$ref" in agent):
        return pointer if "$ref" in agent else None
    if not isinstance(message, str):
        places[f"{pointer}/input"] = f"/agents/{token(str(step['agent']))}/prompt"
        message = prompt if "{{" in str(prompt) else f"{{% raw %}}{prompt}{{% endraw %}}"
    step["input"] = f"{message}{_listed(names, _may_be_absent(document))}"
    return None


def _may_be_absent(document: dict[str, Any]) -> set[str]:
    inputs = mapping(document.get("inputs"))
    optional = mapping(inputs.get("optional"))
    without = {name for name, spec in optional.items() if mapping(spec).get("default") is None}
    return without - {*mapping(inputs.get("values"))}


def _listed(names: list[str], absent: set[str]) -> str:
    """Return the template of a list of inputs; one that need not be given is in it if it has a value."""
    lines = []
    for name in names:
        line = f"\n- {name}: {{{{ {name} if {name} is string else {name} | tojson }}}}"
        lines.append(f"{{% if {name} is defined %}}{line}{{% endif %}}" if name in absent else line)
    has_any = " or ".join(f"{name} is defined" for name in names)
    listed = "\n\nInputs:" + "".join(lines)
    return listed if absent != {*names} else f"{{% if {has_any} %}}{listed}{{% endif %}}"
