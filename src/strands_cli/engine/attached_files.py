"""The attachments of steps: read and stored in the journal once, and taken from it afterwards."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.effect import EffectSpec
from strands_cli.errors import RunRecordError
from strands_cli.planning.attachments import (
    ATTACHMENT_OUTSIDE,
    TEXTS,
    Attachment,
    AttachmentError,
    NamedFile,
    named_files,
    require_few_together,
)
from strands_cli.planning.plan_values import FilePlaces
from strands_cli.texts.canonical_json import digest_of

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.engine.ports import Ports
    from strands_cli.planning.plan_values import Plan
    from strands_cli.workflow.steps import AgentStep


@dataclass(frozen=True, slots=True)
class StepFile:
    """One attachment of a step: the input of its row, its content, and whether the journal has it."""

    key: str
    input: dict[str, Any]
    attachment: Attachment
    is_stored: bool

    @property
    def facts(self) -> dict[str, Any]:
        """Its path, type, size and digest, for the rows of it and of its step."""
        data = self.attachment.data
        sha256 = hashlib.sha256(data).hexdigest()
        return {"path": self.attachment.path, "type": self.attachment.type, "size": len(data), "sha256": sha256}


class AttachedFiles:
    """Gives steps their attachments: the stored bytes where an earlier process has read them, else those on disk."""

    def __init__(self, plan: Plan, ports: Ports, warn: Callable[[str], None]) -> None:
        self._files = FilePlaces.of(plan.spec, plan.base_dir, ports.beside, plan.places)
        self._journal = ports.journal
        self._redactor = ports.redactor
        self._warn = warn

    def of_step(self, scope: StepScope, step: AgentStep, render: Callable[[str], Any]) -> list[StepFile]:
        """Return the attachments of a step, whose paths `render` gives.

        Raises:
            AttachmentError: One cannot be read or sent.
        """
        named = (file for attached in step.attachments for file in named_files(attached, "", render))
        files = [self._file(scope, f"{scope.key}/attachment.{number}", file) for number, file in enumerate(named)]
        require_few_together([len(file.attachment.data) for file in files], scope.key)
        return files

    def _file(self, scope: StepScope, key: str, named: NamedFile) -> StepFile:
        row, effect_input = self._journal.row(key), {"path": named.path, "type": named.said}
        if row is None or row.status != "done" or row.digest != digest_of(effect_input):
            return StepFile(key, effect_input, self._read(named), is_stored=False)
        file = StepFile(key, effect_input, Attachment(named.path, row.detail["type"], _bytes_in(row.output)), True)
        step_row = self._journal.row(scope.key)
        if step_row is None or step_row.status != "done":
            self._warn_of_change(scope, named, file.attachment)
        return file

    def _warn_of_change(self, scope: StepScope, named: NamedFile, stored: Attachment) -> None:
        try:
            is_changed = self._read(named).data != stored.data
        except AttachmentError:  # it is not needed any more
            return
        if is_changed:
            again = f"for the new one: strands runs rerun {scope.run_id} --from {shlex.quote(scope.key)}"
            self._warn(f"the attachment {named.path} has changed; the run goes on with the stored one; {again}")

    def _read(self, named: NamedFile) -> Attachment:
        """Return a file without secrets: hidden in a text, and refused where nothing can be hidden."""
        attachment = named.read(self._files)
        if attachment.warning:
            self._warn(attachment.warning)
        if attachment.type in TEXTS:
            text = attachment.data.decode("utf-8")
            hidden = self._redactor.text(text)
            return attachment if hidden == text else replace(attachment, data=hidden.encode())
        if self._redactor.without_personal_data.may_hide_in(attachment.data.decode("latin-1")):
            message = f"the attachment {named.path} has the value of a secret"
            raise AttachmentError(ATTACHMENT_OUTSIDE, message, "remove it from the file: what is sent has no secrets")
        return attachment

    async def store(self, scope: StepScope, files: Sequence[StepFile]) -> None:
        """Write the bytes of files that the journal does not have; a store of files keeps equal ones once."""
        for file in files:
            if not file.is_stored:
                effect = scope.run.effect(EffectSpec(file.key, "attachment", file.input, is_void=lambda _row: True))
                await effect.start()
                data = base64.b64encode(file.attachment.data).decode("ascii")
                await effect.finish({"data": data}, detail=file.facts)

    def stored(self, sha256: str) -> bytes:
        """Return the bytes of an attachment that the run has stored.

        Raises:
            RunRecordError: It has none of this digest.
        """
        for row in self._journal.rows("attachment"):
            if row.status == "done" and row.detail.get("sha256") == sha256:
                return _bytes_in(row.output)
        raise RunRecordError("the journal lacks an attachment of a conversation", fix="start a new run")


def _bytes_in(output: Any) -> bytes:
    return base64.b64decode(output["data"])
