"""The hidden alias `sessions` of `runs`, with the words of version 0."""

from __future__ import annotations

from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.running.resume_command import resume
from strands_cli.cli.commands.stored.runs_group import ABOUT, VERBS

sessions_app = group(ABOUT, {**VERBS, "cleanup": VERBS["prune"], "resume": resume}, hidden=True)
