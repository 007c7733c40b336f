"""Run Python code in a child process that the kernel keeps from files, network, processes and signals."""

from __future__ import annotations

__version__ = "0.1.0"
