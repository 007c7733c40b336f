"""Whether a person has allowed the uses of a workflow: by a rule, by a required lock, or by an answer."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from strands_cli.config import user_data_dir
from strands_cli.errors import ArtifactError
from strands_cli.planning.data_flow.planned_authority import (
    Authority,
    authority_of,
    foreign_place,
    foreign_reason,
    is_installed,
)
from strands_cli.planning.plan_values import all_workflows_in, with_parts
from strands_cli.planning.planned_tool import PythonTool, request_of
from strands_cli.policy.decision import grant_of
from strands_cli.system.atomic_file import write_atomically
from strands_cli.texts.canonical_json import canonical_json, digest_of

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan
    from strands_cli.policy.rule import Rule

# How a rule names the file of a workflow: `allow: workflow:/srv/flows/*`.
WORKFLOW = "workflow:"
FOLDER = "trusted"
# The prefix in `plan.locked` of a reference to custom Python that a required lock has unchanged.
LOCKED_PYTHON = "python:"

Standing = Literal["allowed", "unanswered", "denied"]


@dataclass(frozen=True, slots=True)
class Trust:
    """A plan with its uses, and the answer of a person to them, which holds until they change."""

    plan: Plan
    authority: Authority

    @classmethod
    def of(cls, plan: Plan, *, whole: bool = False) -> Trust:
        """Return the trust in a plan; with `whole` also in uses of no step."""
        return cls(plan, authority_of(plan, whole=whole))

    @staticmethod
    def is_about_packages(plan: Plan) -> bool:
        """Return whether an upgrade changes a plan: it is a packaged workflow, or one's own with such a tool."""
        parts = list(all_workflows_in(plan))
        is_mixed = not foreign_place(plan) and any(map(foreign_place, parts))
        return is_mixed or any(part.packaged for part in (plan, *parts))

    @property
    def standing(self) -> Standing:
        """Return whether the workflow may have its uses; a rule that denies beats an answer."""
        if not self.authority.asked_uses:
            return "allowed"
        if "deny" in self._effects:
            return "denied"
        return "allowed" if self._is_vouched_for or self.answer.is_file() else "unanswered"

    @property
    def is_of_others(self) -> bool:
        """Return whether others wrote the workflow and neither a rule nor a required lock vouches for it.

        An answer holds for the addresses as written, not for the targets of a name. A worker has other folders than the
        person who submitted the workflow, so that it is decided there; but the content of a package is that of others
        wherever it runs.
        """
        if self.plan.of_others is not None and not (self.plan.packaged or is_installed(Path(self.plan.file))):
            return self.plan.of_others
        return bool(foreign_reason(self.plan, self.authority.digest)) and not self._is_vouched_for

    @property
    def _effects(self) -> set[str]:
        return {rule.effect for rule in self.plan.rules if self._is_named_by(rule)}

    @property
    def _is_vouched_for(self) -> bool:
        name = self.plan.packaged or Path(self.plan.file).name
        return "allow" in self._effects or locked_workflow(name, self.authority.digest) in self.plan.locked

    @property
    def unconfirmed_python(self) -> tuple[tuple[str, str], ...]:
        """Return the modules of the workflow's folders allowed by their names alone, each with its folder.

        Such a name may have been meant for another folder.
        """
        return tuple(pair for pair in self._python_by_name() if not _answer_about_python(*pair).is_file())

    def _python_by_name(self) -> list[tuple[str, str]]:
        tools = [tool for tool in with_parts(self.plan.called()) if isinstance(tool, PythonTool)]
        return sorted({(str(tool.record.module), str(tool.folder)) for tool in tools if self._is_by_name(tool)})

    def _is_by_name(self, tool: PythonTool) -> bool:
        is_locked = f"{LOCKED_PYTHON}{tool.reference}" in self.plan.locked
        if tool.folder is None or tool.decision.grant is not None or is_locked:
            return False
        rule = grant_of(self.plan.rules, request_of(tool))
        return rule is None or rule.folder is None

    @property
    def answer(self) -> Path:
        """Return the file that exists where a person has answered yes for this folder and all that its files say.

        It covers the targets of their paths on this machine too: a moved link, or another program of that name found
        first, has no answer.
        """
        authority = self.authority
        folder, places = os.path.realpath(self.plan.base_dir), list(authority.places)
        about = {"folder": folder, "authority": authority.digest, "places": places}
        if self.plan.packaged:  # one answer for each folder in which it is used, and after it is installed again
            about = {"package": self.plan.packaged, "authority": authority.digest, "places": places}
        if authority.foreign:
            about["whole"] = authority.whole
        run_in = os.path.realpath(self.plan.spec.folder_of_servers(self.plan.base_dir))
        if self.plan.spec.tools.mcp and run_in != folder and not self.plan.packaged:
            about["directory"] = run_in
        return user_data_dir(os.environ) / FOLDER / f"{digest_of(about)}.json"

    def keep(self) -> None:
        """Store that a person has answered yes, readable for that person alone.

        Raises:
            ArtifactError: It cannot be written.
        """
        if self.authority.asked_uses:
            _store(self.answer, {"workflow": os.path.realpath(self.plan.file), **self.authority.as_dict()})
        for module, folder in self.unconfirmed_python:
            _store(_answer_about_python(module, folder), {"module": module, "folder": folder})

    def forget(self) -> None:
        """Remove the answer, so that the next run asks."""
        for file in (self.answer, *(_answer_about_python(*pair) for pair in self._python_by_name())):
            file.unlink(missing_ok=True)

    def _is_named_by(self, rule: Rule) -> bool:
        """Return whether a rule names the file, or `DIST/NAME`; `*` and rules of the workflow do not."""
        if not rule.tools.startswith(WORKFLOW) or rule.level == "workflow" or self.plan.file.startswith("<"):
            return False
        is_typed = rule.level == "command line"
        patterns = [_path_of(pattern, is_typed=is_typed) for pattern in (rule.tools, *rule.unless)]
        fits = [fnmatch.fnmatchcase(os.path.realpath(self.plan.file), pattern) for pattern in patterns]
        if self.plan.packaged:
            written = [pattern.removeprefix(WORKFLOW) for pattern in (rule.tools, *rule.unless)]
            named = [fnmatch.fnmatchcase(self.plan.packaged, pattern) for pattern in written]
            fits = [by_file or by_name for by_file, by_name in zip(fits, named, strict=True)]
        return fits[0] and not any(fits[1:])


def locked_workflow(name: str, authority: str) -> str:
    """Return the entry of `plan.locked` where a required lock has a workflow with this digest of its uses."""
    return f"{WORKFLOW}{name}@{authority}"


def _answer_about_python(module: str, folder: str) -> Path:
    return user_data_dir(os.environ) / FOLDER / f"{digest_of({'module': module, 'folder': folder})}.json"


def _store(file: Path, about: Mapping[str, Any]) -> None:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_atomically(file, f"{canonical_json(about)}\n".encode(), force=True, mode=0o600)
    except OSError as error:
        message = f"the answer cannot be stored in {file.parent}: {error.strerror or error}"
        raise ArtifactError(message, fix="correct its permissions, or set XDG_DATA_HOME") from error


def _path_of(pattern: str, *, is_typed: bool) -> str:
    """Return the path in a rule; a typed one starts from the working directory."""
    path = os.path.expanduser(pattern.removeprefix(WORKFLOW))  # noqa: PTH111 - it may be a glob
    return os.path.realpath(path) if is_typed else path
