"""What the tests of this distribution share: none leaves its plugins to the next."""

from tests.cli.conftest import folder
from tests.conftest import _imports_are_given_back
from tests.wordings import wording

__all__ = ["_imports_are_given_back", "folder", "wording"]
