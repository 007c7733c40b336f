"""Somebody who follows a tutorial: types what it says, block by block, and compares what is printed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import Block, blocks

# Far more than any command takes, so that only what hangs runs out of it, however busy the machine is.
SECONDS = 300
# What ends it is in the line that is printed whenever it waits for a change.
READY = "Ctrl-C"


@dataclass
class Reader:
    """Somebody who types what the page says, block by block, in one shell."""

    scripts: Path
    here: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        path = os.pathsep.join([str(self.scripts), os.defpath])
        # What a build needs lies in the environment: nothing is downloaded.
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        return {**kept, **offline, "HOME": str(self.home), "PATH": path, "NO_COLOR": "1"}

    def start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.here,
            env=self.environment,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def type(self, command: str, expected: int = 0) -> str:
        """Run a command; the directory it ends in is that of the next one."""
        left = self.home / "left-in"
        process = self.start(f"trap 'pwd > {left}' EXIT\n{command}")
        printed, _ = process.communicate(timeout=SECONDS)
        assert process.returncode == expected, f"$ {command}\nexit {process.returncode}:\n{printed}"
        self.here = Path(left.read_text(encoding="utf-8").strip())
        return printed

    def follow(self, block: Block) -> None:
        """Do what a block says."""
        expected = int(block.marks.get("exits", "0"))
        if "file" in block.marks:
            path = self.here / block.marks["file"]
            path.parent.mkdir(exist_ok=True)
            text = block.text if block.language != "diff" else edited(path.read_text(encoding="utf-8"), block.text)
            path.write_text(text, encoding="utf-8")
        elif block.language == "console":
            for command, shown in commands_of(block):
                require_shown(command, shown, self.type(command, expected))
        else:
            assert block.language == "sh", f"{block}: no way to follow this"
            self.type(block.text, expected)

    def follow_page(self, page: Path) -> None:
        """Do what every block of a page says, in their order."""
        todo = [block for block in blocks(page) if "not run" not in block.marks]
        while todo:
            block = todo.pop(0)
            beside = int(block.marks.get("beside", "0"))
            if beside:
                self.follow_beside(block, [todo.pop(0) for _ in range(beside)])
            else:
                self.follow(block)

    def follow_beside(self, block: Block, others: list[Block]) -> None:
        """Leave a command running while the next blocks are followed; it must say what the page shows."""
        ((command, shown),) = commands_of(block)
        process = self.start(f"exec {command}")
        guard = threading.Timer(SECONDS, process.kill)
        guard.start()
        try:
            printed = until_ready(process)
            for other in others:
                self.follow(other)
                printed += until_ready(process)
            process.send_signal(signal.SIGINT)
            printed += process.communicate()[0]
        finally:
            guard.cancel()
        assert process.returncode == 0, printed
        require_shown(command, shown, printed)


def edited(text: str, diff: str) -> str:
    """Do by hand what a diff shows: its lines are once in the file."""
    lines = diff.splitlines(keepends=True)
    old = "".join(line[1:] for line in lines if not line.startswith("+"))
    assert text.count(old) == 1, diff
    return text.replace(old, "".join(line[1:] for line in lines if not line.startswith("-")))


def commands_of(block: Block) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ ", block.text, flags=re.M)[1:]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


def require_shown(command: str, shown: str, printed: str) -> None:
    pattern = r".*?".join(re.escape(piece) for piece in shown.strip().split("..."))
    assert re.fullmatch(pattern, printed.strip(), re.S), f"$ {command}\n{printed}"


def until_ready(process: subprocess.Popen[str]) -> str:
    """Read until the command waits for a change."""
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if READY in line:
            return "".join(lines)
    raise AssertionError("".join(lines))
