"""What the program says where the distribution is not installed."""

from __future__ import annotations

from pathlib import Path

from tests.without import without


def test_the_option_says_what_to_install(tmp_path: Path) -> None:
    bare = without("strands-cli-lsp", tmp_path)
    for option in ("--fix", "--diff"):
        ran = bare.strands("validate", "flow.yaml", option)
        assert ran.returncode == 18, ran.stdout + ran.stderr
        assert "pip install 'strands-cli[lsp]'" in ran.stderr
