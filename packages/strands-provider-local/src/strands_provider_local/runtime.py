"""Load models into this process, each once, and answer for them.

llama.cpp answers on a port of this machine alone, which the runtime always opens; requests need a key that only this
process has. Over that connection a request that is given up ends at once, also while the prompt is read.
"""

from __future__ import annotations

import importlib
import os
import secrets
import sys
import threading
from dataclasses import dataclass
from typing import Any

from strands_cli.errors import InvalidInput, NotEquipped
from strands_provider_local.gguf_header import GgufHeader
from strands_provider_local.memory_check import available, require_memory

RUNTIME = "xllamacpp"
# What is read of a prompt before llama.cpp looks whether the request was given up.
BATCH = 256
# Threads of a runtime that wait for work spin otherwise, and take the cores of everything else.
WAITING = ("OMP_WAIT_POLICY", "passive")


@dataclass(frozen=True, slots=True)
class Loading:
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
class Loaded:
    """A model that answers at `address` those who have the key; `server` holds it in memory."""

    address: str
    key: str
    server: object


_lock = threading.Lock()
_loaded: dict[Loading, Loaded] = {}


def load(wanted: Loading) -> Loaded:
    """Return a model, which is loaded by the first call; takes seconds, or minutes for a large file.

    Raises:
        NotEquipped: The runtime is not installed, or the model does not fit into memory.
        InvalidInput: The runtime cannot load the file.
    """
    with _lock:
        if wanted not in _loaded:
            _loaded[wanted] = _load(wanted)
        return _loaded[wanted]


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


def _load(wanted: Loading) -> Loaded:
    runtime, tokens = require_runtime(), wanted.context * wanted.parallel
    if wanted.check_memory and not wanted.gpu_layers:
        require_memory(wanted.header, tokens, available())
    key = secrets.token_urlsafe(32)
    settings = runtime.CommonParams()
    settings.model.path = str(wanted.header.path)
    settings.n_ctx, settings.n_parallel = tokens, wanted.parallel
    settings.n_batch = settings.n_ubatch = BATCH
    settings.hostnames, settings.port, settings.api_keys = ["127.0.0.1"], 0, [key]
    settings.ui = settings.endpoint_slots = settings.endpoint_props = False
    settings.warmup, settings.verbosity, settings.sse_ping_interval = False, -1, 1
    if wanted.threads is not None:
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = wanted.threads
    if wanted.gpu_layers is not None:
        settings.n_gpu_layers = wanted.gpu_layers
    try:
        server = runtime.Server(settings)
    except (RuntimeError, ValueError) as error:
        architecture = wanted.header.architecture or "unknown"
        raise InvalidInput(
            f"{RUNTIME} cannot load {wanted.header.path} (architecture: {architecture}): {error}",
            fix=f"{sys.executable} -m pip install --upgrade {RUNTIME}, or download the file again",
        ) from error
    return Loaded(server.listening_address, key, server)
