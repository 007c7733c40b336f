"""Load models into this process, each once, and answer for them.

llama.cpp answers on a port of this machine alone, which the runtime always opens; requests need a key of this process
alone. Over that connection an abandoned request ends at once, also while the prompt is read.
"""

from __future__ import annotations

import importlib
import os
import secrets
import sys
import threading
from dataclasses import dataclass
from typing import Any

from strands_cli.api import InvalidInput, NotEquipped
from strands_cli_local.gguf_header import GgufHeader
from strands_cli_local.memory_check import available, require_memory

RUNTIME = "xllamacpp"
# The tokens of a prompt that llama.cpp reads before it looks whether the request was given up.
BATCH = 256
LOOPBACK = "127.0.0.1"
# No pages, no other addresses, no downloads, no log; a sign of life each second, by which a lost reader is noticed.
UNNEEDED = {
    "ui": False,
    "endpoint_slots": False,
    "endpoint_props": False,
    "offline": True,
    "warmup": False,
    "verbosity": -1,
    "sse_ping_interval": 1,
}
# Threads of a runtime that wait for work spin otherwise, and take the cores of everything else.
WAITING = ("OMP_WAIT_POLICY", "passive")


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a model is loaded.

    `context` are the tokens of one conversation, of which `parallel` are answered at a time; `threads` and `gpu_layers`
    None leave it to the runtime.
    """

    header: GgufHeader
    context: int
    parallel: int
    threads: int | None
    gpu_layers: int | None
    check_memory: bool


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model that answers at `address` those who have the key; `server` holds it in memory."""

    address: str
    key: str
    server: object


_lock = threading.Lock()
_loaded: dict[LoadOptions, LoadedModel] = {}


def load(request: LoadOptions) -> LoadedModel:
    """Return a model, loaded by the first call; takes seconds, or minutes for a large file.

    Raises:
        NotEquipped: The runtime is not installed, or the model does not fit into memory.
        InvalidInput: The runtime cannot load the file.
    """
    with _lock:
        if request not in _loaded:
            _loaded[request] = _load(request)
        return _loaded[request]


def require_room(request: LoadOptions) -> None:
    """Check that an unloaded model fits into the free memory.

    Raises:
        NotEquipped: It does not.
    """
    if request.check_memory and not request.gpu_layers and request not in _loaded:
        require_memory(request.header, request.context * request.parallel, available())


def require_runtime() -> Any:
    """Return the module of the runtime.

    Raises:
        NotEquipped: It is not installed, or cannot be imported.
    """
    os.environ.setdefault(*WAITING)
    try:
        return importlib.import_module(RUNTIME)
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == RUNTIME
        problem = "is not installed" if absent else f"cannot be imported: {error}"
        raise NotEquipped(
            f"{RUNTIME}, which runs local models, {problem}", fix=f"{sys.executable} -m pip install {RUNTIME}"
        ) from error


def _load(request: LoadOptions) -> LoadedModel:
    runtime = require_runtime()
    require_room(request)
    key = secrets.token_urlsafe(32)
    try:
        server = runtime.Server(_settings(runtime.CommonParams(), request, key))
    except AttributeError as error:
        fix = f"{sys.executable} -m pip install --upgrade {RUNTIME}"
        raise NotEquipped(f"this version of {RUNTIME} has other settings: {error}", fix=fix) from error
    except (RuntimeError, ValueError) as error:
        architecture = request.header.architecture or "unknown"
        raise InvalidInput(
            f"{RUNTIME} cannot load {request.header.path} (architecture: {architecture}): {error}",
            fix=f"{sys.executable} -m pip install --upgrade {RUNTIME}, or download the file again",
        ) from error
    return LoadedModel(server.listening_address, key, server)


def _settings(settings: Any, request: LoadOptions, key: str) -> Any:
    """Fill the runtime's settings: a port of this machine that asks for the key, and no unneeded part."""
    settings.model.path = str(request.header.path)
    settings.n_ctx, settings.n_parallel = request.context * request.parallel, request.parallel
    settings.n_batch = settings.n_ubatch = BATCH
    settings.port, settings.api_keys = 0, [key]
    # Versions of spring 2026 have one name.
    if hasattr(settings, "hostnames"):
        settings.hostnames = [LOOPBACK]
    else:
        settings.hostname = LOOPBACK
    for name, value in UNNEEDED.items():
        if hasattr(settings, name):
            setattr(settings, name, value)
    if request.threads is not None:
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = request.threads
    if request.gpu_layers is not None:
        settings.n_gpu_layers = request.gpu_layers
    return settings
