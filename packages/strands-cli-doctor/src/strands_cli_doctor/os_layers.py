"""The protection layers of operating systems: those of each platform, and those that a probe finds on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Strength = Literal["enforced", "best effort", "not available"]
PROBE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Layer:
    """One protection layer and its strength on each platform, without a probe of this machine.

    `probe` is its name in the answer of the probe.
    """

    name: str
    prevents: str
    linux: Strength
    macos: Strength
    windows: Strength
    probe: str

    def on(self, platform: str) -> Strength:
        """Return the strength on a platform, named as in `sys.platform`."""
        strengths: dict[str, Strength] = {"linux": self.linux, "darwin": self.macos, "win32": self.windows}
        return strengths.get(platform, "not available")


@dataclass(frozen=True, slots=True)
class LayerState:
    """A layer as it is on this machine: its strength, and details from the probe."""

    layer: Layer
    here: Strength
    detail: str = ""


# docs/explanation/security-model.md has this table; a test compares the two.
LAYERS = (
    Layer(
        "landlock",
        "access of a sandbox to other files and TCP",
        "enforced",
        "not available",
        "not available",
        "landlock",
    ),
    Layer("seccomp", "other kernel calls of a sandbox", "enforced", "not available", "not available", "seccomp"),
    Layer(
        "resource limits",
        "use of the whole machine by a child process",
        "enforced",
        "best effort",
        "not available",
        "rlimits",
    ),
    Layer(
        "parent-death signal",
        "child processes that outlive this one",
        "enforced",
        "not available",
        "not available",
        "death",
    ),
    Layer(
        "namespaces",
        "access of a sandbox to what processes share",
        "best effort",
        "not available",
        "not available",
        "spaces",
    ),
    Layer("openat2", "paths that leave their folder", "enforced", "not available", "not available", "openat2"),
    Layer("walk without links", "paths that leave their folder", "enforced", "enforced", "not available", "walk"),
    Layer("process groups", "processes that a child leaves behind", "enforced", "enforced", "not available", "groups"),
    Layer("file modes", "access of other users to stored runs", "enforced", "enforced", "not available", "modes"),
)

# Runs in a child, as it limits and separates itself. Numbers: asm-generic/unistd.h (one for every architecture),
# linux/prctl.h, linux/sched.h. A filter that cannot be read is refused with EFAULT where there are filters at all.
_PROBE = r"""
import ctypes, errno, json, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
found = {}
def failed():
    return os.strerror(ctypes.get_errno())
version = libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
found["landlock"] = [version > 0, f"version {version}" if version > 0 else failed()]
refused = libc.prctl(22, 2, None, 0, 0)
found["seccomp"] = [ctypes.get_errno() == errno.EFAULT, "" if ctypes.get_errno() == errno.EFAULT else failed()]
found["death"] = [libc.prctl(1, 9, 0, 0, 0) == 0, ""]
how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_DIRECTORY | os.O_CLOEXEC, 0, 0x08 | 0x02))
place = libc.syscall(437, os.open("/", os.O_RDONLY), b".", how, ctypes.c_size_t(24))
found["openat2"] = [place >= 0, "" if place >= 0 else failed()]
try:
    import resource
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        soft, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (soft, soft))
    found["rlimits"] = [True, ""]
except (ImportError, OSError, ValueError) as error:
    found["rlimits"] = [False, str(error)]
apart = libc.unshare(0x10000000 | 0x20000 | 0x40000000 | 0x08000000 | 0x04000000) == 0
found["spaces"] = [apart, "user, mount, net, ipc, uts" if apart else failed()]
print(json.dumps(found))
"""


def find_layers(platform: str = sys.platform) -> list[LayerState]:
    """Return every layer as it is on this machine; only Linux is probed, other platforms use the table."""
    if platform != "linux":
        return [LayerState(layer, layer.on(platform)) for layer in LAYERS]
    answers = _probe()
    return [_state_of(layer, answers) for layer in LAYERS]


def _state_of(layer: Layer, answers: Mapping[str, Any] | str) -> LayerState:
    if layer.probe in ("walk", "groups", "modes"):  # every supported kernel has these
        return LayerState(layer, layer.linux)
    if isinstance(answers, str):
        return LayerState(layer, "not available", answers)
    works, detail = answers.get(layer.probe, (False, "the probe did not answer"))
    return LayerState(layer, "enforced" if works else "not available", detail)


def _probe() -> Mapping[str, Any] | str:
    """Return the answers of the kernel to a probe in a child process, or the reason why the probe failed."""
    try:
        ran = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-I", "-S", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
        answers = json.loads(ran.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return f"the probe did not answer: {type(error).__name__}"
    return answers if isinstance(answers, dict) else "the probe did not answer"
