"""The sandboxed process: put on every layer, say so, wait for one program, run it, report.

It is sent as compiled code to a bare interpreter and imports little, because a call waits for its start. Bytes on the
channel after the layers are on come from untrusted code.
"""

from __future__ import annotations

import _ast
import _json
import _socket
import marshal
import os
import sys

from strands_tool_python_exec._layers import put_on

TYPE_CHECKING = False  # `typing` takes as long to import as everything else here
if TYPE_CHECKING:
    from typing import Any

_FILENAME = "<code>"
_MAX_RESULT = 65_536
_MAX_SHOWN = 8_192
# Released when code fails, so that exhausted memory can still be reported.
_RESERVE = [bytearray(1 << 20)]


def serve(channel: int) -> None:
    """Serve the one request of this process; leave without a word when the other side is gone."""
    setup = marshal.loads(_message(channel))  # noqa: S302 - from our own parent
    sys.path[:] += setup["import_from"]
    try:
        layers = put_on(setup)
    except OSError as error:
        os.write(channel, f'{{"refused": {_quoted(error.strerror or str(error))}}}\n'.encode())
        os._exit(1)
    _say(channel, layers)
    for name in [name for name in sys.modules if name.startswith("strands_tool_python_exec")]:
        del sys.modules[name]
    code, files = marshal.loads(_message(channel))  # noqa: S302 - as above
    for name, content in files.items():
        with open(name, "wb") as file:  # noqa: PTH123 - pathlib is slow to import
            file.write(content)
    _report(channel, _run(code))


def _message(channel: int) -> bytes:
    """Read one message: eight bytes of its length, and as many as they say."""
    return _read(channel, int.from_bytes(_read(channel, 8), "big"))


def _read(channel: int, size: int) -> bytes:
    parts = []
    while size:
        chunk = os.read(channel, min(size, 1 << 20))
        if not chunk:
            os._exit(1)
        parts.append(chunk)
        size -= len(chunk)
    return b"".join(parts)


def _say(channel: int, layers: dict[str, str]) -> None:
    """Tell the parent the layers in force, and hand it the scratch, which it may be unable to see by path."""
    scratch = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    text = ", ".join(f"{_quoted(name)}: {_quoted(word)}" for name, word in layers.items())
    handed = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, scratch.to_bytes(4, sys.byteorder))]
    end = _socket.socket(fileno=channel)
    end.sendmsg([f'{{"layers": {{{text}}}}}\n'.encode()], handed)
    end.detach()
    os.close(scratch)


def _report(channel: int, text: str) -> None:
    left = text.encode(errors="replace")
    while left:
        left = left[os.write(channel, left) :]


def _run(code: str) -> str:
    """Run code as a module named `__main__`, the value of a last expression being its result; return JSON."""
    module = type(sys)("__main__")
    sys.modules["__main__"] = module
    module.__dict__["__builtins__"] = __builtins__
    sys.argv[:] = [""]
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        return f'{{"result": {_jsonable(_execute(code, module.__dict__))}}}'
    except SystemExit as error:
        return "{}" if error.code in (None, 0) else _describe(error)
    except BaseException as error:  # noqa: BLE001 - everything the code may raise is its own
        return _explain(error, code)


def _execute(code: str, names: dict[str, Any]) -> Any:
    tree: Any = compile(code, _FILENAME, "exec", _ast.PyCF_ONLY_AST)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, _ast.Expr):
        tree.body.pop()
    exec(compile(tree, _FILENAME, "exec"), names)  # noqa: S102 - the purpose of this process
    if not isinstance(last, _ast.Expr):
        return None
    return eval(compile(_ast.Expression(last.value), _FILENAME, "eval"), names)  # noqa: S307 - as above


def _quoted(text: str) -> str:
    return str(_json.encode_basestring_ascii(text))


def _jsonable(value: Any) -> str:
    """Return the JSON of a value if it is small JSON, else of its text."""
    if value is None:
        return "null"
    try:
        if type(value) is str:
            text = _quoted(value)
        elif type(value) is int:
            text = str(value)
        else:
            import json  # as slow to import as a small program takes; most have no such result

            text = json.dumps(value, allow_nan=False)
        if len(text) <= _MAX_RESULT:
            return text
    except (TypeError, ValueError, RecursionError):
        pass
    text = repr(value)
    remark = f"... [{len(text)} characters in all]" if len(text) > _MAX_SHOWN else ""
    return _quoted(f"{text[:_MAX_SHOWN]}{remark}")


def _explain(error: BaseException, code: str) -> str:
    """Print the traceback as Python would, without our own frames, and describe the error."""
    _RESERVE.clear()
    described, trace = _describe(error), error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != _FILENAME:
        trace = trace.tb_next
    # A child out of memory has little left for explanations; and most programs need none, so it is late.
    try:
        import linecache
        import traceback

        linecache.cache[_FILENAME] = (len(code), None, code.splitlines(keepends=True), _FILENAME)
        traceback.print_exception(type(error), error.with_traceback(trace), trace, limit=-20)
    except (MemoryError, OSError):
        pass
    return described


def _describe(error: BaseException) -> str:
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == _FILENAME else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == _FILENAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    number = error.errno if isinstance(error, OSError) else None
    values = (_quoted(type(error).__name__), _quoted(_words(error)), _number(line), _number(number))
    return '{{"error": {{"type": {}, "message": {}, "line": {}, "errno": {}}}}}'.format(*values)


def _number(value: Any) -> str:
    return str(value) if type(value) is int else "null"


def _words(error: BaseException) -> str:
    try:
        return str(str(error)[:2000])
    except Exception:  # noqa: BLE001 - the code's own `__str__` may do anything
        return ""
