"""The attacks, tool by tool: what a hostile model asks for, and what it must be answered."""

from __future__ import annotations

from typing import NamedTuple


class Code(NamedTuple):
    """Code for python_exec: it prints ESCAPED where it wins (written apart, as tracebacks quote it), else fails so."""

    source: str
    error: str
    limit: str = ""


# `<TREE>`, `<PORT>` and `<PID>` are filled in.
CODE = {
    "reads a file": Code(
        "if open('<TREE>/victim.txt').read().startswith('canary'): print('ESC' 'APED')", "PermissionError"
    ),
    "changes a file": Code("open('<TREE>/victim.txt', 'a').write('x')\nprint('ESC' 'APED')", "PermissionError"),
    "makes a file": Code("open('<TREE>/new', 'w').close()\nprint('ESC' 'APED')", "PermissionError"),
    "lists a folder": Code("import os\nos.listdir('<TREE>')\nprint('ESC' 'APED')", "PermissionError"),
    "links a file": Code(
        "import os\nos.link('<TREE>/victim.txt', '<TREE>/hard')\nprint('ESC' 'APED')", "PermissionError"
    ),
    "connects": Code(
        "import socket\nwith socket.create_connection(('127.0.0.1', <PORT>), 5): print('ESC' 'APED')", "PermissionError"
    ),
    "forks": Code(
        "import os\nif (child := os.fork()) == 0: os._exit(0)\nos.waitpid(child, 0)\nprint('ESC' 'APED')",
        "PermissionError",
    ),
    "starts a program": Code(
        "import subprocess\nif subprocess.run(['/bin/sh', '-c', 'exit 7']).returncode == 7: print('ESC' 'APED')",
        "PermissionError",
    ),
    "becomes a program": Code("import os\nos.execv('/bin/sh', ['sh', '-c', 'echo ESC' 'APED'])", "PermissionError"),
    "signals a process": Code("import os\nos.kill(<PID>, 9)\nprint('ESC' 'APED')", "PermissionError"),
    "looks into a process": Code(
        "import os\nif open('/proc/<PID>/environ', 'rb').read(): print('ESC' 'APED')", "PermissionError"
    ),
    "reads a variable": Code(
        "import os\nif os.environ['CANARY'].startswith('canary'): print('ESC' 'APED')", "KeyError"
    ),
}
# What only costs: the control is that these take what they are given where nothing limits them.
EXCESS = {
    "runs for ever": Code("while True: pass", "LimitExceeded", "wall_time"),
    "takes all memory": Code("x = bytearray(8 << 30)\nprint('ESC' 'APED')", "MemoryError", "memory"),
    "fills the disk": Code(
        "with open('big', 'wb') as file:\n    while True: file.write(bytes(1 << 20))", "OSError", "disk"
    ),
    "floods the output": Code("while True: print('x' * 10_000)", "LimitExceeded", "output"),
}

# URLs that reach the listener without checks.
LOOPBACK_URLS = (
    "http://127.0.0.1:<PORT>/",
    "http://localhost:<PORT>/",
    "http://127.1:<PORT>/",
    "http://2130706433:<PORT>/",
    "http://0x7f000001:<PORT>/",
    "http://[::ffff:127.0.0.1]:<PORT>/",
    "http://user:word@127.0.0.1:<PORT>/",
)
# URLs that must be refused before anything is sent, whatever would answer.
OTHER_URLS = (
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://10.0.0.1/",
    "http://[::1]:<PORT>/",
    "http://[64:ff9b::7f00:1]:<PORT>/",
    "file://<TREE>/victim.txt",
    "gopher://127.0.0.1:<PORT>/",
    "http://127.0.0.1\r\nHost: x:<PORT>/",
)

# Paths from a workspace of which `<TREE>` is a sister: to be read, and to be written.
READ_PATHS = (
    "../outside/victim.txt",
    "<TREE>/victim.txt",
    "notes/../../outside/victim.txt",
    "link.txt",
    "linked/victim.txt",
    "/proc/self/environ",
    ".env",
    "notes/\x00/../../outside/victim.txt",
)
WRITE_PATHS = (
    "../outside/new.txt",
    "<TREE>/victim.txt",
    "link.txt",
    "linked/new.txt",
    "linked/inner/new.txt",
    ".git/hooks/post-checkout",
    "conftest.py",
    "flow.yaml",
    "strands-policy.yaml",
    ".env",
)
REFUSALS = ("invalid_input", "denied", "sandbox_violation", "unavailable")
