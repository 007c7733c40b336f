"""The engine `monty`: an interpreter of a subset of Python, in a process of its own, for where no other holds."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from strands_tool_python_exec import _scratch
from strands_tool_python_exec._answer import Answer, files_of, over
from strands_tool_python_exec._process import Request

NAME = "monty"
VERSION = "1.4.0"
LAYERS = {"interpreter": f"pydantic-monty {VERSION}", "process": "of its own", "limits": "enforced"}
_MISSING = f"pydantic-monty {VERSION} is not installed: pip install 'strands-tool-python-exec[monty]'"
_SUBSET = (
    " (the engine 'monty' runs a subset of Python: no yield, del, inheritance, decorated methods or numpy, and few "
    "modules of the standard library)"
)
_TICK = 0.05
_MAX_RESULT = 65_536
_MAX_SHOWN = 8_192
_MAX_DISCARDED = 8 << 20
_MIB = 1 << 20
# Each must be refused; `{}` is a file that this process can read.
PROBES = (
    "open({!r}).read()",
    "open({!r}, 'a').write('x')",
    "import socket\nsocket.create_connection(('127.0.0.1', 1))",
    "import os\nos.fork()",
    "import os\nos.kill(os.getppid(), 0)",
    "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (1, 1))",
    "import os\nos.environ['PATH']",
)


@functools.cache
def reason() -> str:
    """Return why the engine is not to be used here, after a test of its refusals; empty when it holds."""
    try:
        import pydantic_monty
    except ImportError:
        return _MISSING
    if pydantic_monty.__version__ != VERSION:
        return f"pydantic-monty {VERSION} is needed, {pydantic_monty.__version__} is installed"
    try:
        return _tested(pydantic_monty)
    except Exception as error:  # noqa: BLE001 - a missing worker program, a platform it does not know
        return f"monty cannot be started: {type(error).__name__}: {error}"


def _tested(monty: Any) -> str:
    with tempfile.TemporaryDirectory(prefix="python-exec-test-") as folder:
        outside = Path(folder) / "outside"
        outside.write_text("outside", encoding="utf-8")
        with monty.Monty(request_timeout=10.0) as pool:
            if _outcome(monty, pool, "1 + 1") != 2:
                return "monty does not compute here"
            broken = [probe for probe in PROBES if _outcome(monty, pool, probe.format(str(outside))) != "refused"]
    return f"monty does not hold here: {broken[0].splitlines()[-1]}" if broken else ""


def _outcome(monty: Any, pool: Any, code: str) -> Any:
    with pool.checkout(limits={"max_feed_duration_secs": 5.0}) as session:
        try:
            return session.feed_run(code)
        except monty.MontyRuntimeError:
            return "refused"


def run(request: Request, is_cancelled: Callable[[], bool]) -> Answer | None:
    """Run a program; None when it was cancelled.

    A worker serves one call. It has limits of its own; a deadline of the pool holds if they fail, and a thread of
    ours if both fail, which also ends a cancelled call.
    """
    import pydantic_monty

    output = _Output(request.max_output)
    grown: Answer = {}
    stopped: list[str] = []
    with (
        _scratch_of(request) as folder,
        pydantic_monty.MountDir(
            host_path=folder,
            virtual_path="/scratch",
            mode="read-write",
            write_bytes_limit=request.settings.disk_mb * _MIB,
        ) as mount,
        pydantic_monty.Monty(request_timeout=request.timeout_s + 1.0, max_processes=1) as pool,
        open_session(pool, request) as session,
    ):
        with _watched(session.worker_pid, request, lambda: is_cancelled() or output.is_flood, stopped):
            try:
                value = session.feed_run(request.code, print_callback=output.take, mount=mount)
                grown = {} if value is None else {"result": _jsonable(value)}
            except pydantic_monty.MontyError as error:
                grown = _failed(error, output, request)
        if stopped and not output.is_flood:
            return None
        grown |= files_of(_left_in(folder, request.max_output), request.files)
    limits = [*(["output"] if output.is_cut else []), *grown.pop("limits", [])]
    texts = {name: bytes(stream_bytes).decode(errors="replace") for name, stream_bytes in output.kept.items()}
    grown["stderr"] = texts["stderr"] + grown.get("stderr", "")
    value_of: Answer = {"stdout": texts["stdout"], "engine": NAME, "layers": LAYERS}
    return {**value_of, **grown, "limits_hit": list(dict.fromkeys(limits))}


@contextlib.contextmanager
def open_session(pool: Any, request: Request) -> Iterator[Any]:
    """Check out the one worker; one that was killed has nothing to give back."""
    import pydantic_monty

    limits = {
        "max_feed_duration_secs": float(request.timeout_s),
        "max_memory": request.settings.memory_mb * _MIB,
        "max_recursion_depth": 1000,
    }
    # `sleep` would wait in this process, where the worker's clock does not run.
    checkout = pool.checkout(limits=limits, os_policy={"sleep": "zero", "timezone": "utc"}, script_name="code.py")
    with contextlib.ExitStack() as stack:
        session = stack.enter_context(checkout)
        try:
            yield session
        finally:
            with contextlib.suppress(pydantic_monty.MontyError):
                stack.close()


@contextlib.contextmanager
def _scratch_of(request: Request) -> Iterator[Path]:
    with _scratch.folder_for_a_while() as folder:
        for name, content in request.files.items():
            (folder / name).write_bytes(content)
        yield folder


def _left_in(folder: Path, budget: int) -> dict[str, bytes | None]:
    if os.listdir not in os.supports_fd:  # Windows; the worker, which could change files there, waits
        paths = [path for path in sorted(folder.iterdir()) if path.is_file() and not path.is_symlink()]
        return {path.name: path.read_bytes() if path.stat().st_size <= budget else None for path in paths}
    directory = os.open(folder, os.O_RDONLY)
    try:
        return dict(_scratch.read_files(directory, budget))
    finally:
        os.close(directory)


@contextlib.contextmanager
def _watched(worker: int | None, request: Request, is_to_end: Callable[[], bool], stopped: list[str]) -> Iterator[None]:
    """Kill the worker when it is to end, or when neither of its own clocks has ended it."""
    is_over = threading.Event()

    def watch() -> None:
        for _ in range(math.ceil((request.timeout_s + 2) / _TICK)):
            if is_over.wait(_TICK):
                return
            if is_to_end():
                stopped.append("stopped")
                break
        if worker is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, getattr(signal, "SIGKILL", signal.SIGTERM))

    thread = threading.Thread(target=watch, name="python-exec-monty", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


class _Output:
    """The output, up to the limit."""

    def __init__(self, limit: int) -> None:
        self.kept = {"stdout": bytearray(), "stderr": bytearray()}
        self.is_cut = False
        self.is_flood = False
        self._limit = limit
        self._discarded = 0

    def take(self, stream: str, text: str) -> None:
        chunk = text.encode(errors="replace")
        stream_bytes = self.kept[stream]
        space = self._limit - len(stream_bytes)
        stream_bytes += chunk[:space]
        self.is_cut = self.is_cut or len(chunk) > space
        self._discarded += max(0, len(chunk) - space)
        self.is_flood = self._discarded > _MAX_DISCARDED


def _failed(error: Any, output: _Output, request: Request) -> Answer:
    """Return the fields that an exception of the code, or the end of its worker, adds to the answer."""
    import pydantic_monty

    if output.is_flood:
        return {"error": over("output", request), "limits": ["output"]}
    inner = error.exception()
    frames = error.traceback() if hasattr(error, "traceback") else []
    timed_out = type(inner) is TimeoutError and not frames
    if isinstance(error, pydantic_monty.MontyCrashedError) or timed_out:
        if timed_out or error.timed_out:
            return {"error": over("wall_time", request), "limits": ["wall_time"]}
        return {"error": {"type": "Killed", "message": str(error)[:2000], "line": None}}
    if type(inner) is SystemExit and inner.code in (None, 0):
        return {}
    kind, message = type(inner).__name__, str(inner)[:2000]
    if kind in ("NotImplementedError", "ModuleNotFoundError", "ImportError", "AttributeError"):
        message += _SUBSET
    failure: Answer = {"error": {"type": kind, "message": message, "line": frames[0].line if frames else None}}
    failure["stderr"] = error.display() + "\n"
    limit = "memory" if kind == "MemoryError" else "disk" if "disk write limit" in message else ""
    return failure | ({"limits": [limit]} if limit else {})


def _jsonable(value: Any) -> Any:
    """Return a value if it is small JSON, else its text."""
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) <= _MAX_RESULT:
            return json.loads(text.encode(errors="replace"))
    except (TypeError, ValueError, RecursionError):
        pass
    representation = repr(value)
    remark = f"... [{len(representation)} characters in all]" if len(representation) > _MAX_SHOWN else ""
    return f"{representation[:_MAX_SHOWN]}{remark}".encode(errors="replace").decode()
