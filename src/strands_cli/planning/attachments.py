"""Attachments of steps: where each file is, its type by its bytes, and why one is not sent."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Code, Finding, RunFailed
from strands_cli.planning.plan_values import PlannedAttachment
from strands_cli.provider_table import known_provider
from strands_cli.quick_dataclass import dataclass
from strands_cli.system.protected_names import secret_in
from strands_cli.workflow.steps import DOCUMENTS, IMAGES, AttachedFile
from strands_cli.workflow.templates.plugin_filters import TemplateError

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import FilePlaces, Plan, PlannedAgent, PlannedStep
    from strands_cli.yaml_files.document import Document

ATTACHMENT_MISSING = Code(
    "attachment-missing",
    "An attachment is not a file that can be read.",
    "Correct the path: it begins in the folder of the workflow; that of a template also in the working directory.",
    2,
)
ATTACHMENT_OUTSIDE = Code(
    "attachment-outside",
    "An attachment may hold credentials, or a template leads out of the folders of the workflow.",
    "Copy the file into the folder of the workflow, or mount its folder with `env.mounts`.",
    21,
)
ATTACHMENT_TOO_LARGE = Code(
    "attachment-too-large",
    "An attachment, or those of a step together, have more bytes than models take.",
    "Attach a smaller file, or let a tool read parts of it.",
    2,
)
ATTACHMENT_TYPE = Code(
    "attachment-type",
    "The bytes of an attachment have no type that models read, or another type than its name or `type` says.",
    "Attach a png, jpeg, gif, webp, pdf, doc, docx, xls, xlsx, or a text in UTF-8.",
    2,
)
ATTACHMENT_UNREAD = Code(
    "attachment-unread",
    "The provider of an agent's model does not read an attachment of this type.",
    "Choose a model of another provider, or attach the content as text.",
)
OF_ATTACHMENTS = (ATTACHMENT_MISSING, ATTACHMENT_OUTSIDE, ATTACHMENT_TOO_LARGE, ATTACHMENT_TYPE, ATTACHMENT_UNREAD)

# The most bytes of one file, and of all files in one request: providers take 20 to 32 MB.
MOST_BYTES = 20_000_000
MOST_TOGETHER = 32_000_000
# Documents that are texts: only their names distinguish them, and every model reads them.
TEXTS = ("csv", "html", "txt", "md")
_SUFFIXES = {"jpg": "jpeg", "htm": "html", "markdown": "md", **{kind: kind for kind in (*IMAGES, *DOCUMENTS)}}
_SIGNS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"GIF87a": "gif", b"GIF89a": "gif"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# The name of a part that only files of this type have; both containers have names uncompressed.
_PARTS = {
    b"PK\x03\x04": {"docx": b"word/document.xml", "xlsx": b"xl/workbook.xml"},
    _OLE: {"doc": "WordDocument".encode("utf-16-le"), "xls": "Workbook".encode("utf-16-le")},
}


class AttachmentError(RunFailed):
    """A file cannot be attached; a resumed run looks at it again."""

    def __init__(self, code: Code, message: str, fix: str) -> None:
        super().__init__(message, fix=fix)
        self.code = code


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file with its bytes as they are sent; `path` is as the workflow or its inputs name it."""

    path: str
    type: str
    data: bytes
    warning: str = ""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.replace("\\", "/").rstrip("/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class NamedFile:
    """An attachment that a step names: the rendered path, the type that it must have, and its pointer.

    `is_written` says that the workflow has the path itself: it begins in the workflow's folder, and a person was asked
    about one elsewhere.
    """

    path: str
    said: str | None
    pointer: str
    is_written: bool

    def read(self, files: FilePlaces) -> Attachment:
        """Return the attachment, from the first of the folders that has it; a large file is refused unread.

        Raises:
            AttachmentError: It is not a readable file, is too large, in no place of the workflow, or of another type.
        """
        data = _bytes_of(self._located(files), self.path)
        name = Path(self.path).suffix.lstrip(".").lower()
        expected, actual = self.said or _SUFFIXES.get(name), type_of(data)
        if actual == "txt" and expected in TEXTS:
            return Attachment(self.path, expected, data)
        source = "its `type`" if self.said else "its name"
        if actual and expected in (None, actual):
            return Attachment(self.path, actual, data)
        if not actual:
            message = f"the bytes of the attachment {self.path} have no type that models read"
            fix = "attach a png, jpeg, gif, webp, pdf, doc, docx, xls, xlsx, or a text in UTF-8"
            raise AttachmentError(ATTACHMENT_TYPE, message, fix)
        message = f"the attachment {self.path} is {actual} by its bytes, and {source} says {expected}"
        if self.said is None and actual in IMAGES and expected in IMAGES:
            return Attachment(self.path, actual, data, message)
        fix = (
            f"write `type: {actual}`, or attach the other file" if self.said else "rename it, or attach the other file"
        )
        raise AttachmentError(ATTACHMENT_TYPE, message, fix)

    def _located(self, files: FilePlaces) -> str:
        """Return the real path of the file, which may be nowhere."""
        path = os.path.expanduser(self.path)  # noqa: PTH111 - `~unknown` is a name, not an error
        places = [os.path.join(folder, path) for folder in files.folders[: 1 if self.is_written else None]]  # noqa: PTH118
        real = os.path.realpath(next((place for place in places if os.path.lexists(place)), places[0]))
        if secret := secret_in((*Path(self.path).parts, *Path(real).parts)):
            message = f"the attachment {self.path} is protected, since '{secret}' may hold credentials"
            raise AttachmentError(ATTACHMENT_OUTSIDE, message, "attach another file")
        roots = [os.path.realpath(root) for root in (*map(str, files.folders), *files.mounts)]
        if not self.is_written and not any(Path(real).is_relative_to(root) for root in roots):
            message = f"the attachment {self.path}, which a template names, leads out of {roots[0]}"
            fix = "copy it there, or name its folder in the workflow: `env: {mounts: {files: /FOLDER}}`"
            raise AttachmentError(ATTACHMENT_OUTSIDE, message, fix)
        return real


def named_files(attached: AttachedFile, pointer: str, render: Callable[[str], Any]) -> Iterator[NamedFile]:
    """Yield the files that an attachment of a step names: one, or those of a list; none where it has no value.

    Args:
        pointer: Its JSON pointer.
        render: Returns the value of a template.

    Raises:
        AttachmentError: A template gives neither a path nor a list of paths.
    """
    is_written = "{{" not in attached.path and "{%" not in attached.path
    value = attached.path if is_written else render(attached.path)
    for path in value if isinstance(value, (list, tuple)) else [] if value is None else [value]:
        if not isinstance(path, str) or not path.strip() or "\0" in path:
            message = f"the attachment {attached.path} is not a path: {path!r}"
            raise AttachmentError(ATTACHMENT_MISSING, message, "give a path; an empty list attaches nothing")
        yield NamedFile(path, attached.type, pointer, is_written)


def picture_type(data: bytes) -> str:
    """Return the type of a picture that models read, by its first bytes; empty for any other file."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for sign, kind in _SIGNS.items() if data.startswith(sign)), "")


def type_of(data: bytes) -> str:
    """Return the type of a file by its bytes, `txt` for every text; empty for any other."""
    if picture := picture_type(data):
        return picture
    if b"%PDF-" in data[:1024]:
        return "pdf"
    for begin, parts in _PARTS.items():
        if data.startswith(begin):
            return next((kind for kind, part in parts.items() if part in data), "")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text else "txt"


def _bytes_of(real: str, path: str) -> bytes:
    try:
        found = Path(real).stat()
        if stat.S_ISREG(found.st_mode):
            _require_few(found.st_size, MOST_BYTES, f"the attachment {path} has")
            with Path(real).open("rb") as stream:
                data = stream.read(MOST_BYTES + 1)  # it may grow
            _require_few(len(data), MOST_BYTES, f"the attachment {path} has at least")
            if data:
                return data
        reason = "it is empty" if stat.S_ISREG(found.st_mode) else "it is not a regular file"
    except OSError as error:
        reason = error.strerror or str(error)
    fix = "check the path: it begins in the folder of the workflow; that of a template also in the working directory"
    if path.startswith(("http://", "https://")):
        fix = "download it first: an attachment is a file"
    raise AttachmentError(ATTACHMENT_MISSING, f"the attachment {path} cannot be read: {reason}", fix)


def _require_few(size: int, most: int, subject: str) -> None:
    if size > most:
        fix = "attach a smaller file, or let a tool read parts of it"
        raise AttachmentError(ATTACHMENT_TOO_LARGE, f"{subject} {size:,} bytes, and {most:,} are the most", fix)


def require_few_together(sizes: Sequence[int], key: str) -> None:
    """Refuse attachments that are too large for one request.

    Raises:
        AttachmentError: They are.
    """
    _require_few(sum(sizes), MOST_TOGETHER, f"the attachments of {key} have together")


# Attachments before a run: those whose paths follow from the inputs.


def planned_attachments(
    attached: AttachedFile, pointer: str, render: Callable[[str], Any], files: FilePlaces
) -> Iterator[PlannedAttachment]:
    """Yield the files of an attachment, each looked at; see `named_files` and `NamedFile.read`."""
    path = attached.path
    try:
        for named in named_files(attached, pointer, render):
            path = named.path
            attachment = named.read(files)
            size = len(attachment.data)
            yield PlannedAttachment(path, pointer, attachment.type, size, warning=attachment.warning)
    except TemplateError:
        yield PlannedAttachment(path, pointer)
    except AttachmentError as error:
        yield PlannedAttachment(path, pointer, fault=(error.code, error.message, error.fix))


def check_attachments(
    steps: Sequence[PlannedStep], agents: Mapping[str, PlannedAgent], document: Document
) -> Iterator[Finding]:
    """Yield a finding for each attachment of planned steps that cannot be sent, or that a model does not read."""
    for step in steps:
        for attachment in step.attachments:
            where = document.where(attachment.pointer)
            if attachment.fault is not None:
                code, message, fix = attachment.fault
                yield Finding(code, message, where, fix)
            elif attachment.warning:
                yield Finding(ATTACHMENT_TYPE, attachment.warning, where, "rename it", "warning")
            models = agents[step.who].models if step.who in agents else ()
            for provider in dict.fromkeys(model.provider for model in models):
                if reads := unread(provider, attachment.type):
                    message = f"the provider {provider} of '{step.who}' reads no {attachment.type}: {attachment.path}"
                    fix = f"it reads {', '.join(reads)}; choose another model, or attach the content as text"
                    yield Finding(ATTACHMENT_UNREAD, message, where, fix)
        try:
            require_few_together([attachment.size or 0 for attachment in step.attachments], step.key)
        except AttachmentError as error:
            yield Finding(error.code, error.message, document.where(step.attachments[0].pointer), error.fix)


def unread(provider_name: str, kind: str | None) -> tuple[str, ...]:
    """Return what a provider reads, if a type is certainly not among it; a text is then sent as such."""
    provider = known_provider(provider_name)
    reads = provider.reads if provider is not None else None
    if kind is None or reads is None or kind in TEXTS or kind in reads:
        return ()
    return tuple(name for name in (*IMAGES, *DOCUMENTS) if name in reads or name in TEXTS)


def without_stored(plan: Plan, has_row: Callable[[str], bool]) -> Plan:
    """Return the plan of a stored run without findings about attachments that the run has read already.

    Args:
        has_row: Returns whether the journal of the run has a row with a key.
    """
    if not any(finding.code in OF_ATTACHMENTS for finding in plan.findings):
        return plan
    placed = [step for step in plan.spec.pattern.placed if has_row(f"{step.key}/attachment.0")]
    read = tuple(f"{step.at('attachments')}/" for step in placed)
    findings = (
        finding
        for finding in plan.findings
        if finding.where is None or not f"{finding.where.pointer}/".startswith(read) or not read
    )
    return replace(plan, findings=tuple(findings))
