"""The tool `file_write`: create, overwrite or append to a text file of the workspace."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import secrets
import stat
import time
from typing import IO, Any

from strands_tool_files._directory import Directory
from strands_tool_files._spec import path
from strands_tool_files._text import require_encoding
from strands_tool_files._workspace import Workspace, WorkspacePath
from strands_tool_kit import CallContext, ToolError, answer, read_input
from strands_tool_kit.spec import boolean, capabilities, choice, for_programs, hints, inputs, integer, outputs, string

TOOL_SPEC: dict[str, Any] = {
    "name": "file_write",
    "description": (
        "Write a text file inside the workspace. Mode 'create' refuses an existing file, 'overwrite' replaces it at "
        "once, 'append' adds to its end. The content is written exactly as given. Protected files are refused: "
        "credentials, .git, CI and policy files, the workflow itself."
    ),
    "inputSchema": inputs(
        {
            "path": path("Path relative to the workspace, for example 'reports/may.md', or '@mount/path'."),
            "content": string("The text to write."),
            "mode": choice(["create", "overwrite", "append"], "What to do when the file exists.", default="overwrite"),
            "encoding": string("Text encoding.", length=(1, 40), default="utf-8"),
            "create_dirs": boolean("Make missing parent directories.", default=True),
        },
        required=["path", "content"],
    ),
    "outputSchema": outputs(
        {
            **for_programs(
                path=string(), bytes_written=integer(), size=integer("Bytes of the file afterwards."), mode=string()
            ),
            "created": boolean("Whether the file is new."),
        }
    ),
    "annotations": hints("Write a file", reads_only=False, destructive=True, idempotent=False),
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": capabilities(filesystem="write"),
        "resources": {"reads": [], "writes": ["file:{path}"]},
        "timeout_s": 30,
        "max_output_bytes": 16384,
    },
}

_TEMPORARY = re.compile(r"\.strands-[0-9a-f]{16}\.tmp")
# Far longer than a call may take.
_MAX_AGE = 3600
_MAX_ENTRIES = 10_000
_LOOKED_AT: set[tuple[int, int]] = set()
_DEFAULT_CAP = 4_194_304
_BOMMED = {"utf-16": "utf-16-le", "utf-32": "utf-32-le", "utf-8-sig": "utf-8"}


def file_write(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Write the file of one call.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli` may carry `workspace` (a path, or root, mounts and protected
            paths; the current directory by default) and `config["max_write_bytes"]`.

    Returns:
        A Strands tool result: one sentence and a JSON block, or an error after which the file is as it was.
    """
    context = CallContext.of(kwargs)

    def work() -> tuple[str, dict[str, Any]]:
        values = read_input(tool, TOOL_SPEC)
        encoded = _encode(values["content"], values["encoding"], context.config.get("max_write_bytes", _DEFAULT_CAP))
        workspace = Workspace.of(context.workspace)
        context.require_time()
        if values["create_dirs"]:
            workspace.make_parents(values["path"])
        with workspace.at(values["path"], writing=True) as target:
            return _write(target, encoded, values["mode"], values["encoding"])

    return answer(tool, work)


def _encode(content: str, encoding: str, cap: int) -> bytes:
    """Encode the content, or raise `invalid_input` when a character does not fit or the result is too long."""
    name = require_encoding(encoding)
    try:
        encoded = content.encode(name)
    except UnicodeEncodeError as error:
        character = content[error.start]
        raise ToolError(
            "invalid_input", f"{character!a} at character {error.start} has no form in {encoding}", reason="encoding"
        ) from None
    if len(encoded) > cap:
        raise ToolError(
            "invalid_input", f"the content has {len(encoded)} bytes; the limit is {cap}", reason="too-large"
        )
    return encoded


def _write(target: WorkspacePath, encoded: bytes, mode: str, encoding: str) -> tuple[str, dict[str, Any]]:
    directory, name = target.place.parent, target.place.name
    before = _existing(target)
    if before is not None and mode == "create":
        raise ToolError(
            "invalid_input", f"{target.shown} exists already; use mode 'overwrite' or 'append'", reason="exists"
        )
    if mode == "append":
        size = _append(directory, target, encoded, encoding)
    else:
        _publish(directory, name, encoded, before, replace=mode == "overwrite")
        size = len(encoded)
    verb = {"append": "Appended", "create": "Wrote", "overwrite": "Wrote"}[mode]
    whole = f" (now {size} bytes)" if mode == "append" else ""
    return f"{verb} {len(encoded)} bytes to {target.shown}{whole}", {
        "path": target.shown,
        "bytes_written": len(encoded),
        "size": size,
        "mode": mode,
        "created": before is None,
    }


def _existing(target: WorkspacePath) -> os.stat_result | None:
    """Return the status of the present file, None without one; raise if it may not be replaced."""
    if not target.place.name:
        raise ToolError("invalid_input", f"{target.shown} is a directory", reason="is-a-directory")
    try:
        status = target.place.parent.lstat(target.place.name)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode):
        raise ToolError("invalid_input", f"{target.shown} is a directory", reason="is-a-directory")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError("invalid_input", f"{target.shown} is not a regular file", reason="not-a-file")
    if not status.st_mode & 0o222:
        # A rename would get past the mode of the file: it needs only the directory's.
        raise ToolError("denied", f"{target.shown} is marked read-only", reason="permission")
    return status


def _publish(directory: Directory, name: str, encoded: bytes, before: os.stat_result | None, *, replace: bool) -> None:
    """Write a file without a name and give it the target's, so that no reader sees a part and no end leaves one.

    Where a file needs a name from the start, and for the moment of a replacement, it has that of a temporary file.
    """
    _remove_old(directory)
    temporary = f".strands-{secrets.token_hex(8)}.tmp"
    try:
        if not _named(directory, (name, temporary), encoded, before, replace=replace):
            descriptor = directory.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            _fill(descriptor, encoded, before).close()
            directory.publish(temporary, name, replace=replace)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            directory.unlink(temporary)
        raise
    directory.sync()


def _named(
    directory: Directory, names: tuple[str, str], encoded: bytes, before: os.stat_result | None, *, replace: bool
) -> bool:
    """Write a file without a name until it is complete; return False where there is none, or it can get no name."""
    name, temporary = names
    descriptor = directory.open_unnamed()
    if descriptor is None:
        return False
    with _fill(descriptor, encoded, before):
        try:
            if before is None:
                with contextlib.suppress(*([FileExistsError] if replace else [])):
                    directory.name(descriptor, name)
                    return True
            directory.name(descriptor, temporary)
        except FileExistsError:
            raise
        except OSError:  # no hard links here
            return False
    directory.publish(temporary, name, replace=replace)
    return True


def _fill(descriptor: int, encoded: bytes, before: os.stat_result | None) -> IO[bytes]:
    """Write the content to a new file and to the disk; return the file, for its owner to close."""
    stream = os.fdopen(descriptor, "wb", buffering=0)
    try:
        _write_all(stream.fileno(), encoded)
        if before is not None:
            _take_over(stream.fileno(), before)
        os.fsync(stream.fileno())
    except BaseException:
        stream.close()
        raise
    return stream


def _remove_old(directory: Directory) -> None:
    """Remove, once per process and directory, temporary files that killed processes of the same user have left."""
    status = directory.lstat(".")
    if (status.st_dev, status.st_ino) in _LOOKED_AT or not hasattr(os, "geteuid"):
        return
    _LOOKED_AT.add((status.st_dev, status.st_ino))
    with contextlib.suppress(OSError):  # a directory may be one that cannot be listed
        for entry in itertools.islice(directory.entries(), _MAX_ENTRIES):
            if _TEMPORARY.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                entry_stat = directory.lstat(entry.name)
                if entry_stat.st_uid == os.geteuid() and time.time() - entry_stat.st_mtime > _MAX_AGE:
                    directory.unlink(entry.name)


def _take_over(descriptor: int, before: os.stat_result) -> None:
    """Give a new file the permissions of the old one, and its owner where we may."""
    if not hasattr(os, "fchmod"):
        return
    with contextlib.suppress(PermissionError):
        os.fchown(descriptor, before.st_uid, before.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(before.st_mode) & 0o777)


def _append(directory: Directory, target: WorkspacePath, encoded: bytes, encoding: str) -> int:
    """Add to the end of the file itself, so that two writers at once lose nothing, and return the new size."""
    descriptor = directory.open(target.place.name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ToolError("invalid_input", f"{target.shown} is not a regular file", reason="not-a-file")
        if status.st_nlink > 1:
            raise ToolError(
                "sandbox_violation",
                f"{target.shown} has several hard links, so appending may change a file elsewhere;"
                " use mode 'overwrite'",
                reason="hard-link",
            )
        if status.st_size and require_encoding(encoding) in _BOMMED:
            plain = _BOMMED[require_encoding(encoding)]
            raise ToolError(
                "invalid_input",
                f"{encoding} would put a byte-order mark in the middle of the file; append with {plain} if it fits",
                reason="encoding",
            )
        _write_all(descriptor, encoded)
        os.fsync(descriptor)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, encoded: bytes) -> None:
    left = memoryview(encoded)
    while left:
        written = os.write(descriptor, left)
        if not written:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        left = left[written:]
