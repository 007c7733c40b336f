from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from strands_cli.api import InvalidInput, NotEquipped
from strands_cli_local.gguf_header import read_header
from strands_cli_local.memory_check import available, needed, require_memory

Write = Callable[..., Path]
TOOL_TEMPLATE = "{% for tool in tools %}{{ tool }}{% endfor %}"


def test_a_header_says_what_decides_whether_a_model_runs_here(gguf: Write) -> None:
    header = read_header(str(gguf()))
    assert (header.architecture, header.trained_context, header.calls_tools) == ("llama", 8192, False)
    # Keys and values of 30 layers, each with 3 heads of 64 numbers of 2 bytes.
    assert header.token_bytes == 30 * 3 * 64 * 2 * 2
    assert read_header(str(gguf("tools.gguf", template=TOOL_TEMPLATE))).calls_tools


def test_a_missing_file_is_named_with_those_beside_it(tmp_path: Path, gguf: Write) -> None:
    gguf("beside.gguf")
    with pytest.raises(InvalidInput, match=r"no file .*absent\.gguf") as raised:
        read_header(str(tmp_path / "absent.gguf"))
    assert "beside.gguf" in str(raised.value.fix)
    with pytest.raises(InvalidInput, match="folder"):
        read_header(str(tmp_path))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip", b"\x80\x02pickle", b"GGM"])
def test_another_format_is_seen_by_its_first_bytes(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(InvalidInput, match="not a GGUF file"):
        read_header(str(tmp_path / "model.gguf"))


def test_a_download_that_ended_early_is_seen(gguf: Write) -> None:
    path = gguf(tensor_at=10_000_000)
    with pytest.raises(InvalidInput, match="not complete") as raised:
        read_header(str(path))
    assert "10,000," in raised.value.message


def test_any_damage_of_a_header_is_an_error_with_a_fix(tmp_path: Path, gguf: Write) -> None:
    whole = gguf("whole.gguf").read_bytes()
    chance = random.Random(14)
    damaged = [whole[:cut] for cut in range(4, len(whole) - 32, 7)]
    for _ in range(200):
        changed = bytearray(whole)
        changed[chance.randrange(4, 200)] ^= 1 << chance.randrange(8)
        damaged.append(bytes(changed))
    refused = 0
    for number, content in enumerate(damaged):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(content)
        fix: str | None = "read"
        try:
            read_header(str(path))
        except InvalidInput as error:
            fix, refused = error.fix, refused + 1
        assert fix
    assert refused > len(damaged) // 2


def test_a_count_that_no_file_has_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + (3).to_bytes(4, "little") + (2**60).to_bytes(8, "little") + bytes(8))
    with pytest.raises(InvalidInput, match="limit"):
        read_header(str(path))


def test_a_model_larger_than_the_free_memory_is_refused_with_the_numbers(gguf: Write) -> None:
    header = read_header(str(gguf()))
    wanted = needed(header, 4096)
    assert wanted > 4096 * 30 * 3 * 64 * 2 * 2
    require_memory(header, 4096, wanted)
    require_memory(header, 4096, None)
    with pytest.raises(NotEquipped, match=r"GiB .*4,096 tokens.* free") as raised:
        require_memory(header, 4096, wanted - 1)
    assert "check_memory: false" in str(raised.value.fix)
    assert available() is None or available() > 0


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    with pytest.raises(InvalidInput, match="pipe or a device"):
        read_header(str(tmp_path / "pipe.gguf"))
    with pytest.raises(InvalidInput, match="no file") as raised:
        read_header(str(tmp_path / "absent.gguf"))
    assert "pipe.gguf" not in str(raised.value.fix)


def test_a_header_that_ends_early_is_described_in_words(tmp_path: Path, gguf: Write) -> None:
    whole = gguf("whole.gguf").read_bytes()
    for cut in (8, 17, 26, 33, 60, 200):
        path = tmp_path / f"cut{cut}.gguf"
        path.write_bytes(whole[:cut])
        with pytest.raises(InvalidInput, match="ends in the middle"):
            read_header(str(path))
