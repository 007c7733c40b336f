"""The fixtures of the agents' tests serve the tests of tools too."""

from tests.agents.conftest import site

__all__ = ["site"]
