"""The words of this project are those of `[tool.strands-words]`: none of the banned ones is in its prose or names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts import check_words

BANNED: dict[str, Any] = {"prose": ["anew", "is no"], "phrases": ["there is no", "is no longer"], "names": ["kept"]}
MODULE = '''"""Made anew."""

# Whatever is
# here.


class Kept:
    def _kept(self) -> str:
        kept = anew = "which is no longer here"
        """A text that is
        no text, and there
        is no other."""
        return f"{kept} anew {anew}"

    def made_anew(self) -> None: ...
'''


def tree(root: Path) -> Path:
    for name, text in {
        "src/a.py": MODULE,
        "src/cli/templates/module/tool.py.txt": '"""Anew."""\n',
        "src/cli/__init__.pyi": '"""Anew."""\n',
        "packages/one/src/one/_kept.py": "",
        "packages/one/src/one/strands_tools.json": '{"tools": [\n{"description": "Made anew."}]}\n',
        "packages/one/tests/test_one.py": '"""Anew."""\n\nDATA = "anew"  # Anew.\n',
        "docs/how-to/page.md": "One\n\nis\nno page, kept.\n",
        "examples/one.yaml": "# Anew.\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_words_are_found_in_prose_names_and_pages_and_nowhere_else(tmp_path: Path) -> None:
    assert list(check_words.uses(tree(tmp_path), BANNED)) == [
        ("docs/how-to/page.md", 3, "is no"),
        ("examples/one.yaml", 1, "Anew"),
        ("packages/one/src/one/_kept.py", 1, "_kept"),
        ("packages/one/src/one/strands_tools.json", 2, "anew"),
        ("packages/one/tests/test_one.py", 1, "Anew"),
        ("packages/one/tests/test_one.py", 3, "Anew"),
        ("src/a.py", 1, "anew"),
        ("src/a.py", 7, "Kept"),
        ("src/a.py", 8, "_kept"),
        ("src/a.py", 10, "is no"),
        ("src/a.py", 13, "anew"),
        ("src/a.py", 15, "made_anew"),
        ("src/cli/__init__.pyi", 1, "Anew"),
        ("src/cli/templates/module/tool.py.txt", 1, "Anew"),
    ]


def test_an_allowance_holds_for_its_file_and_word_and_must_be_needed(tmp_path: Path) -> None:
    def allowing(file: str, word: str) -> list[str]:
        allowed = [{"file": file, "word": word, "reason": "quoted"}]
        return check_words.problems(tree(tmp_path), {**BANNED, "allowed": allowed})

    assert len(allowing("src/a.py", "anew")) == 12
    assert len(allowing("src/a.py", "whoever")) == 15


@pytest.mark.docs
def test_no_banned_word_is_in_the_tree() -> None:
    assert check_words.main([]) == 0


@pytest.mark.docs
def test_a_word_of_the_command_line_is_looked_for_instead() -> None:
    assert check_words.main(["workflow"]) == 1
