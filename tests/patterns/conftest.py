"""A site directory with the tool `mark`, and an API key that the model server does not look at."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import certifi
import pytest

from tests.agents.kit import forget_modules
from tests.patterns.kit import install_counting_tool


@pytest.fixture(autouse=True)
def _machine(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    site: Path = tmp_path_factory.mktemp("site")
    install_counting_tool(site)
    monkeypatch.setattr(sys, "path", [str(site), *sys.path])
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    before = set(sys.modules)
    yield
    forget_modules(before)


@pytest.fixture(scope="module")
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let clients know one authority: none is needed here, and reading all takes most of a run's time."""
    whole = Path(certifi.where()).read_text(encoding="utf-8")
    first = whole[whole.index("-----BEGIN") :].partition("-----END CERTIFICATE-----")
    file = tmp_path_factory.mktemp("authorities") / "one.pem"
    file.write_text("".join(first[:2]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield
