"""Draw the first minute of the README: the quickstart is really run at a terminal, and what it prints becomes an SVG.

`python -m scripts.first_minute` writes `docs/pictures/first-minute.svg`. The picture tells time by its own clock, and
the id and the durations of the run are replaced by fixed ones, so that the same output is the same picture.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from html import escape
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
PICTURE = CLONE / "docs" / "pictures" / "first-minute.svg"
COLUMNS, ROWS = 80, 40
_COMMAND = re.compile(r"<!-- command: quickstart -->\n```sh\n(.+)\n```")
# Frames of the progress below the lines; the first line of one, for the time before the run begins.
_FRAME = re.compile(r"\x1b\[\?7l\r(?P<line>.*?)\x1b\[J.*?\x1b\[\?7h", re.DOTALL)
_STEADY = (
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{6}\b"), "20260401-090000-a1b2c3"),
    (re.compile(r"(?<=completed in )[\d.]+ m?s"), "0.4 s"),
    (re.compile(r"(?<=[( ])\d[\d.]* m?s(?=[,)])"), "0.1 s"),
)
_CHAR, _LINE, _MARGIN = 7.8, 19, 16
_TYPED_S, _READ_S, _LINE_S = 0.05, 1.2, 0.35

_STYLE = """
svg{--paper:#ffffff;--ink:#1f2328;--soft:#59636e;--line:#d1d9e0;--done:#1a7f37}
@media(prefers-color-scheme:dark){svg{--paper:#0d1117;--ink:#e6edf3;--soft:#9198a1;--line:#3d444d;--done:#3fb950}}
.paper{fill:var(--paper);stroke:var(--line)}
.cover{fill:var(--paper);transform-box:fill-box;transform-origin:right;opacity:0}
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--ink);white-space:pre}
.soft{fill:var(--soft)}.done{fill:var(--done)}.typed{font-weight:600}.gone{opacity:0}
@media(prefers-reduced-motion:no-preference){
text{animation:come .01s both}
.typed{animation:none}
.cover{opacity:1;animation:type 1s both}
.gone{animation-name:stay;animation-fill-mode:none}
@keyframes come{from{opacity:0}}
@keyframes stay{from,to{opacity:1}}
@keyframes type{to{transform:scaleX(0)}}
}
"""


@dataclass(frozen=True, slots=True)
class Recording:
    """What a person sees of a command: as typed, while it loads, and the lines in their order."""

    command: str
    loading: str
    lines: tuple[str, ...]


def recorded() -> Recording:
    """Run the quickstart at a terminal of its own, in an empty folder beside a copy of the examples.

    Raises:
        RuntimeError: It failed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(CLONE / "examples", folder / "work" / "examples")
        shown = _at_terminal([sys.executable, "-m", "strands_cli", "run", "examples/quickstart.yaml"], folder)
    frame = _FRAME.search(shown)
    lines = _FRAME.sub("", shown).replace("\r\x1b[J", "").replace("\r\n", "\n")
    for found, by in _STEADY:
        lines = found.sub(by, lines)
    return Recording(command(), frame["line"] if frame else "", tuple(lines.rstrip("\n").split("\n")))


def command() -> str:
    """Return the command of the quickstart as the README has it."""
    found = _COMMAND.search((CLONE / "README.md").read_text(encoding="utf-8"))
    if found is None:
        raise RuntimeError("the README has no block with the mark `command: quickstart`")
    return found[1]


def _at_terminal(words: list[str], folder: Path) -> str:
    """Run a program at a terminal and return all that it has written there."""
    import fcntl
    import pty
    import struct
    import termios

    kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
    environment = {**kept, "HOME": str(folder / "home"), "TERM": "xterm-256color", "NO_COLOR": "1"}
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    with subprocess.Popen(
        words, cwd=folder / "work", env=environment, stdin=side, stdout=side, stderr=side, start_new_session=True
    ) as process:
        os.close(side)
        written = b""
        while piece := _piece(main):
            written += piece
    os.close(main)
    shown = written.decode()
    if process.returncode:
        raise RuntimeError(f"the quickstart ended with {process.returncode}:\n{shown}")
    return shown


def _piece(main: int) -> bytes:
    try:
        return os.read(main, 65536)
    except OSError:  # how Linux says that the other side is closed
        return b""


def svg_of(recording: Recording) -> str:
    """Return the picture: each line comes at its time, once; without motion all of them are there."""
    width = round(COLUMNS * _CHAR + 2 * _MARGIN)
    height = (len(recording.lines) + 1) * _LINE + 2 * _MARGIN
    typed_s = len(recording.command) * _TYPED_S
    parts = _typed(recording.command, typed_s)
    began = typed_s + 0.4
    for number, line in enumerate(recording.lines):
        parts.append(_text(line, number + 1, began + (number > 0) * _READ_S + number * _LINE_S))
    if recording.loading:
        parts.insert(2, _text(recording.loading, 2, began, gone_after=_READ_S + _LINE_S))
    described = escape("\n".join(["$ " + recording.command, *recording.lines]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img"><title>The quickstart at a terminal</title><desc>{described}</desc>\n<style>{_STYLE}</style>\n'
        f'<rect class="paper" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _typed(command: str, typed_s: float) -> list[str]:
    """Return the line with the command, and what covers the part that is not typed yet."""
    line, length = f"$ {command}", (len(command) + 2) * _CHAR
    place = f'x="{_MARGIN}" y="{_baseline(0):.1f}" textLength="{length:.1f}"'
    timing = f"animation-duration:{typed_s:.2f}s;animation-timing-function:steps({len(command)})"
    cover = f'x="{_MARGIN + 2 * _CHAR:.1f}" y="{_MARGIN}" width="{length:.1f}" height="{_LINE}"'
    return [
        f'<text class="typed" {place} xml:space="preserve">{escape(line)}</text>',
        f'<rect class="cover" {cover} style="{timing}"/>',
    ]


def _baseline(row: int) -> float:
    return _MARGIN + (row + 0.7) * _LINE


def _text(line: str, row: int, at: float, *, gone_after: float = 0.0) -> str:
    kind = _kind(line) if not gone_after else "soft gone"
    timing = f"animation-delay:{at:.2f}s" + (f";animation-duration:{gone_after:.2f}s" if gone_after else "")
    place = f'x="{_MARGIN}" y="{_baseline(row):.1f}"'
    return f'<text class="{kind}" {place} style="{timing}" xml:space="preserve">{escape(line)}</text>'


def _kind(line: str) -> str:
    """Return the class of a line: those about the run are soft, its end is green, the answer is plain."""
    if line.startswith("completed"):
        return "done"
    return "soft" if re.match(r"run \d|  (start|tool|done) |wrote ", line) else "text"


def main() -> None:
    """Write the picture."""
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(svg_of(recorded()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(CLONE)}")


if __name__ == "__main__":
    main()
