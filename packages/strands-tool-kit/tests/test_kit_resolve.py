"""The system's resolver is asked in a thread that nothing waits for."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from strands_tool_kit import resolve


def test_the_systems_resolver_gives_every_address_once() -> None:
    answers = asyncio.run(resolve.look_up("localhost", 80))
    assert "127.0.0.1" in answers
    assert len(answers) == len(set(answers))


@pytest.mark.parametrize("name", ["a" * 70 + ".invalid", "\udcff", ""])
def test_a_name_that_no_resolver_takes_is_an_os_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **more: object) -> list[object]:
        str(given[0]).encode("idna")
        raise OSError("not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(OSError):
        asyncio.run(resolve.look_up(name, 80))


@pytest.mark.filterwarnings("error")
def test_a_lookup_that_hangs_holds_up_neither_the_loop_nor_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **more: release.wait(120) and [])

    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await resolve.look_up("slow.test", 80)

    asyncio.run(impatient())
    [thread] = [one for one in threading.enumerate() if one.name == "resolve slow.test"]
    assert thread.daemon
    release.set()
    thread.join(120)
    assert not thread.is_alive()
