"""What the tests of the standard tests share: none leaves its plugins to the next."""

from tests.conftest import _imports_are_given_back
from tests.wordings import wording

__all__ = ["_imports_are_given_back", "wording"]
