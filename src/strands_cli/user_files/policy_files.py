"""The policy files in force for one command: managed, user, and project or `--policy`, read once."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from strands_cli.config import PROJECT_POLICY, Settings
from strands_cli.errors import Code, Denied, Finding, StrandsCliError, Where
from strands_cli.policy.decision import Policy, joined
from strands_cli.policy.rule import Level

UNNAMED_POLICY = Code(
    "unnamed-policy",
    "A `strands-policy.yaml` that is only found beside the workflow allows something.",
    "Read it, then name it (--policy FILE), or move the rule into your own policy file.",
    21,
)


def read_policies(
    settings: Settings, folder: Path | None, named: Path | None = None, package: Path | None = None
) -> Policy:
    """Read every policy file there is; where there is none, only its place is looked at.

    Args:
        settings: This machine's settings, which name the places of the managed and the user file.
        folder: Where the project's file may be: beside the workflow.
        named: A file that replaces the project's (`--policy`).
        package: Where a packaged workflow is, whose file counts beside that of the project.

    Raises:
        Denied: a file cannot be read or is wrong; the findings are those of all files.
    """
    policies: list[Policy] = []
    findings: list[Finding] = []
    of_package: list[tuple[Level, Path]] = [("project", package / PROJECT_POLICY)] if package is not None else []
    for level, path in (*policy_places(settings, folder, named), *of_package):
        if path != named and not _exists(path):
            continue
        from strands_cli.user_files.policy_file import check_ownership, read_policy

        try:
            read = read_policy(path, level)
            policies.append(read if level != "project" or path == named else narrowing(read, path))
        except StrandsCliError as error:
            findings += error.findings
        if level in ("managed", "user"):
            policies.append(Policy(findings=tuple(check_ownership(path, level))))
    if findings:
        raise _nothing_runs(findings)
    return joined(*policies)


def narrowing(policy: Policy, path: Path) -> Policy:
    """Return a project's policy without its permissions, and a warning for them.

    A folder from another person must not allow its own Python: only a person who names the file trusts it.
    """
    allowing = [rule for rule in policy.rules if rule.effect == "allow"]
    if not allowing:
        return policy
    message = f"{allowing[0].origin} allows '{allowing[0].tools}', which counts only where the file is named"
    finding = Finding(UNNAMED_POLICY, message, Where(str(path)), f"pass --policy {shlex.quote(str(path))}", "warning")
    rules = tuple(rule for rule in policy.rules if rule.effect != "allow")
    return replace(policy, rules=rules, findings=(*policy.findings, finding))


def policy_places(settings: Settings, folder: Path | None, named: Path | None = None) -> Iterator[tuple[Level, Path]]:
    """Yield where policy files may be, the strongest first."""
    if settings.managed_policy is not None:
        yield "managed", settings.managed_policy
    if settings.user_policy is not None:
        yield "user", settings.user_policy
    if named is not None:
        yield "project", named
    elif folder is not None:
        yield "project", folder / PROJECT_POLICY


def _exists(path: Path) -> bool:
    """Return whether a path exists; one that cannot be looked at counts, and so does a dead link."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _nothing_runs(findings: list[Finding]) -> Denied:
    files = sorted({str(finding.where.file) for finding in findings if finding.where})
    return Denied(f"nothing runs before this is corrected: {', '.join(files)}", findings=findings)
