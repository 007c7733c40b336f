"""The template holds placeholders, so its tests are collected only once it is filled in."""

from __future__ import annotations

collect_ignore = ["_template"]
