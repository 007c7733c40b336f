"""What is none of an attack's business: a tree of files, a listener and a process, watched for any change."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECRET = "canary-in-the-mine"


@dataclass
class Outside:
    """Everything outside of a sandbox that an attack could reach.

    Attributes:
        tree: A folder beside the workspace, with one file that holds `SECRET`.
        port: Where something listens on 127.0.0.1.
        heard: One entry for each connection that came there.
        process: Waits to be attacked.
    """

    tree: Path
    port: int
    process: subprocess.Popen[bytes]
    heard: list[bytes] = field(default_factory=list)

    @property
    def victim(self) -> Path:
        """The file that no attack may read or change."""
        return self.tree / "victim.txt"

    @property
    def words(self) -> dict[str, str]:
        """What an attack is written with."""
        return {"TREE": str(self.tree), "PORT": str(self.port), "PID": str(self.process.pid)}

    def aimed(self, text: str) -> str:
        """Return an attack with the real targets in it."""
        for word, value in self.words.items():
            text = text.replace(f"<{word}>", value)
        return text

    def state(self) -> dict[str, object]:
        """Return everything that an attack could have changed; compare two of them."""
        files = {
            str(path.relative_to(self.tree)): (
                str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None,
                path.lstat().st_mode,
                path.lstat().st_mtime_ns,
                path.lstat().st_nlink,
            )
            for path in self.tree.rglob("*")
        }
        return {"files": files, "connections": len(self.heard), "alive": self.process.poll() is None}


@contextlib.contextmanager
def standing(folder: Path) -> Iterator[Outside]:
    """Put everything up in `folder/outside`, and take it down again."""
    (tree := folder / "outside").mkdir()
    (tree / "victim.txt").write_text(SECRET)
    (tree / "inner").mkdir()
    with (
        socket.socket() as listener,
        subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as process,
    ):
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        outside = Outside(tree, listener.getsockname()[1], process)
        answering = threading.Thread(target=_answer, args=(listener, outside.heard), daemon=True)
        answering.start()
        try:
            yield outside
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            process.kill()
            answering.join(120)


def _answer(listener: socket.socket, heard: list[bytes]) -> None:
    """Answer every request, so that one that should not have been made succeeds."""
    body = SECRET.encode()
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            heard.append(b"")
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                heard[-1] = connection.recv(65536)
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body
                )
