"""What strands-cli finds: the provider `local`, and a line for `strands doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from strands_cli.hooks import Check, HookContext, hookimpl

RUNTIME = "xllamacpp"


@hookimpl
def strands_register_providers() -> Mapping[str, str]:
    """Return the provider: its name, and the class that takes the settings of a workflow."""
    return {"local": "strands_cli_local.local_model:LocalModel"}


@hookimpl
def strands_doctor_checks(context: HookContext) -> Iterator[Check]:
    """Yield whether the runtime is installed; it is not imported."""
    try:
        yield Check("local models", "ok", f"{RUNTIME} {version(RUNTIME)}")
    except PackageNotFoundError:
        yield Check("local models", "failed", f"{RUNTIME} is not installed", f"pip install {RUNTIME}")
