"""The sandboxed process: read one request from stdin, put on every layer, run the code, report.

Run as `python -I -S -B _child.py CHANNEL`. Whatever is said on the channel after the layers are on comes from code
that nobody trusts.
"""

from __future__ import annotations

import _ast
import json
import os
import socket
import sys
import types
from typing import Any

_FILENAME = "<code>"
_MAX_RESULT = 65_536


def main() -> None:
    """Serve the one request of this process."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    request = json.loads(_read(int.from_bytes(_read(8), "big")))
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is slow to import
    sys.path.insert(0, top)
    from strands_tool_python_exec._layers import put_on

    sys.path[:] = [entry for entry in sys.path if entry != top] + request["import_from"]
    try:
        layers = put_on(request)
    except OSError as error:
        channel.sendall(json.dumps({"refused": error.strerror or str(error)}).encode() + b"\n")
        sys.exit(1)
    _say(channel, layers)
    for name, text in request["files"].items():
        _write(name, text)
    channel.sendall(json.dumps(_run(request["code"])).encode() + b"\n")


def _read(size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = os.read(0, size - len(data))
        if not chunk:
            sys.exit(1)
        data += chunk
    return data


def _say(channel: socket.socket, layers: dict[str, str]) -> None:
    """Tell the parent what is in force, and hand it the scratch, which it may be unable to see by path."""
    scratch = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    socket.send_fds(channel, [json.dumps({"layers": layers}).encode() + b"\n"], [scratch])
    os.close(scratch)


def _write(name: str, text: str) -> None:
    with open(name, "w", encoding="utf-8", errors="replace", newline="") as file:  # noqa: PTH123 - as above
        file.write(text)


def _run(code: str) -> dict[str, Any]:
    """Run code as a module named `__main__`, the value of a last expression being its result."""
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    module.__dict__["__builtins__"] = __builtins__
    sys.argv[:] = [""]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        return {"result": _jsonable(_execute(code, module.__dict__))}
    except SystemExit as error:
        return {} if error.code in (None, 0) else {"error": _describe(error)}
    except BaseException as error:  # noqa: BLE001 - everything the code may raise is its own
        return {"error": _explain(error, code)}


def _execute(code: str, names: dict[str, Any]) -> Any:
    tree: Any = compile(code, _FILENAME, "exec", _ast.PyCF_ONLY_AST)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, _ast.Expr):
        tree.body.pop()
    exec(compile(tree, _FILENAME, "exec"), names)  # noqa: S102 - what this process is for
    if not isinstance(last, _ast.Expr):
        return None
    return eval(compile(_ast.Expression(last.value), _FILENAME, "eval"), names)  # noqa: S307 - as above


def _jsonable(value: Any) -> Any:
    """Return a value if it is small JSON, else its text."""
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) <= _MAX_RESULT:
            return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        pass
    return repr(value)[: _MAX_RESULT // 8]


def _explain(error: BaseException, code: str) -> dict[str, Any]:
    """Print the traceback as Python would, without our own frames, and describe the error."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != _FILENAME:
        trace = trace.tb_next
    # A child that is out of memory has little left for explanations; and most programs need none, so it is late.
    try:
        import linecache
        import traceback

        linecache.cache[_FILENAME] = (len(code), None, code.splitlines(keepends=True), _FILENAME)
        traceback.print_exception(type(error), error.with_traceback(trace), trace, limit=-20)
    except (MemoryError, OSError):
        pass
    return _describe(error)


def _describe(error: BaseException) -> dict[str, Any]:
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == _FILENAME else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    number = error.errno if isinstance(error, OSError) else None
    return {"type": type(error).__name__, "message": _words(error), "line": line, "errno": number}


def _words(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except Exception:  # noqa: BLE001 - the code's own `__str__` may do anything
        return ""


if __name__ == "__main__":
    main()
