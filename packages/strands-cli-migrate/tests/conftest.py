"""What the tests of single agents share."""

from tests.cli.conftest import folder
from tests.wordings import wording

__all__ = ["folder", "wording"]
