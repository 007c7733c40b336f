"""A redactor finds secrets in every form in which they usually travel, alike in texts, JSON and streams."""

from __future__ import annotations

import base64
import html
import json
import quopri
import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import jinja2
import markupsafe
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.events import ModelText
from strands_cli.secrets.redactor import HIDE_NOTHING, MARK, MIN_LENGTH, Redactor
from strands_cli.secrets.secret_forms import FormFinder
from strands_cli.tools.calls.calling_contract import Contract
from strands_cli.tools.calls.permission_check import PermissionCheck
from strands_cli.tools.mcp.toolset import ServerNeeds

SECRET = "sk-Ab+/=?&\"\\ <'>é0123456789"
LINES = "-----BEGIN KEY-----\nMIIEvQIBADAN/BgkqhkiG9w0\nBAQEFAASCBKcwggSj&AgEA\nshort\n-----END KEY-----\n"


def lowered(text: str) -> str:
    return re.sub("%..", lambda found: found[0].lower(), text)


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        quote(SECRET, safe="!'()*"),
        lowered(quote(SECRET)),
        lowered(quote(SECRET, safe="")),
        lowered(quote_plus(SECRET)),
        html.escape(SECRET),
        html.escape(SECRET, quote=False),
        str(markupsafe.escape(SECRET)),
        json.dumps(SECRET).replace("/", "\\/")[1:-1],
        jinja2.Template("{{ x|tojson }}").render(x=SECRET)[1:-1],
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        json.dumps(json.dumps(SECRET))[3:-3],
        json.dumps(json.dumps(SECRET, ensure_ascii=False))[3:-3],
        repr(SECRET)[1:-1],
        SECRET.replace('"', '""'),
        quote(quote(SECRET, safe=""), safe=""),
        "".join(f"%{byte:02X}" for byte in SECRET.encode()),
        "".join(f"%{byte:02x}" for byte in SECRET.encode()),
        "".join(f"&#{ord(one)};" for one in SECRET),
        "".join(f"&#x{ord(one):x};" for one in SECRET),
        "".join(f"\\u{ord(one):04x}" for one in SECRET),
    ],
)
def test_each_form_of_a_secret_is_found(form: str) -> None:
    assert Redactor([SECRET]).text(f"a {form} b {form}") == f"a {MARK} b {MARK}"


def escaped_in(way: int, char: str) -> str:
    """Return a character as one of the writers that people meet writes it."""
    raw = char.encode()
    return [
        char,
        "".join(f"%{byte:02X}" for byte in raw),
        "".join(f"%{byte:02x}" for byte in raw),
        "".join(f"%25{byte:02x}" for byte in raw),
        f"\\u{ord(char):04x}",
        f"\\u{ord(char):04X}",
        f"\\\\u{ord(char):04x}",
        "".join(f"\\x{byte:02x}" for byte in raw),
        "".join(f"={byte:02X}" for byte in raw),
        "".join(f"\\{byte:03o}" for byte in raw),
        f"&#{ord(char)};",
        f"&#x{ord(char):X};",
        f"&#0{ord(char)};",
        html.escape(char),
        html.escape(html.escape(char)),
        json.dumps(char)[1:-1],
        json.dumps(json.dumps(char))[3:-3],
        quote(json.dumps(char)[1:-1], safe=""),
        html.escape(json.dumps(char)[1:-1]),
        f"\\{char}" if char in "/\"'&=?" else char,
    ][way]


WAYS = st.integers(0, 19)
GAPS = st.sampled_from([""] * 20 + ["=\n", "=\r\n", "\n", "\r\n", "\n  ", "\\n", "\\r\\n", "\0"])


@st.composite
def mixtures(draw: st.DrawFn) -> str:
    """Return the secret with each character in a way of its own, and line ends in between."""
    pieces = [escaped_in(draw(WAYS), char) + draw(GAPS) for char in SECRET[:-1]]
    return "".join((*pieces, escaped_in(draw(WAYS), SECRET[-1])))


@pytest.mark.hostile
@given(mixtures(), st.integers(1, 9))
def test_every_mixture_of_escapes_is_hidden_in_texts_and_streams(form: str, size: int) -> None:
    redactor, text = Redactor([SECRET]), f"a: {form}, b"
    assert redactor.text(text) == f"a: {MARK}, b"
    stream = redactor.stream()
    assert (
        "".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size)) + stream.rest()
        == f"a: {MARK}, b"
    )


# Backslashes that are escaped in every way, before any character: JSON in JSON, in URLs, in HTML.
BEFORE = st.lists(st.sampled_from(["\\", "%5c", "%255C", "&bsol;", "&#92;", "&amp;#x5c;"]), max_size=12).map("".join)
STRANGE = ["Z1x0uU-9", "%25amp;Z", "&amp;#65;", "\\u0041Z1", "\n \tZ1x0u", "=3D=0A+_", "0x41 42Z", "é€Z1x0uU-"]


@st.composite
def begun(draw: st.DrawFn) -> tuple[str, str]:
    """Return a secret that looks like escapes, and a text of beginnings of it and then the whole."""
    secret = draw(st.sampled_from(STRANGE))

    def written(chars: str) -> str:
        return "".join((draw(BEFORE) if char.isalnum() else "") + escaped_in(draw(WAYS), char) for char in chars)

    beginnings = [written(secret[: draw(st.integers(1, 4))]) for _ in range(draw(st.integers(0, 2)))]
    return secret, "|".join((*beginnings, escaped_in(draw(WAYS), secret[0]) + written(secret[1:])))


@pytest.mark.hostile
@settings(deadline=None)
@given(begun(), st.integers(1, 40))
def test_a_secret_that_looks_like_escapes_is_hidden_after_its_own_beginnings(case: tuple[str, str], size: int) -> None:
    secret, text = case
    redactor = Redactor([secret])
    shown = redactor.text(f"{text}|")
    assert shown.endswith(f"{MARK}|")
    stream = redactor.stream()
    pieces = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert "".join((*pieces, stream.feed("|"), stream.rest())) == shown


@pytest.mark.parametrize("unit", ["%5c", "%255c", "&bsol;", "&#", "&amp;#92;"])
def test_escaped_backslashes_without_end_cost_little(unit: str) -> None:
    redactor = Redactor([SECRET, "correct horse battery", "AKIAIOSFODNN7EXAMPLE", LINES])
    text = unit * (24_000 // len(unit))
    began = time.process_time()
    assert redactor.text(text) == text
    assert time.process_time() - began < 2


@pytest.mark.parametrize("way", range(20))
def test_each_way_alone_is_hidden(way: int) -> None:
    form = "".join(escaped_in(way, char) for char in SECRET)
    assert Redactor([SECRET]).text(f"a: {form}, b") == f"a: {MARK}, b"


@pytest.mark.parametrize(
    "form",
    [
        json.dumps(SECRET).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")[1:-1],
        quote(SECRET, safe="+&=/:?'"),
        quote(SECRET, safe="").replace("%2F", "%2f"),
        html.escape(json.dumps(SECRET)[1:-1]),
        quote(json.dumps(SECRET)[1:-1]),
        quopri.encodestring(SECRET.encode(), quotetabs=True).decode(),
        SECRET.encode().hex(" "),
        SECRET.encode().hex(":").upper(),
        SECRET.encode().hex(" ", 2),
        SECRET.encode().hex("\n", 8),
        "0x" + SECRET.encode().hex(",").replace(",", ", 0x"),
        "\n".join(re.findall(".{1,9}", SECRET)),
        "\0".join(SECRET),
        base64.b64encode(base64.b64encode(b"")).decode() + SECRET,
    ],
)
def test_forms_of_other_writers_are_found(form: str) -> None:
    assert Redactor([SECRET]).text(f"a: {form}, b") in (f"a: {MARK}, b", f"a: 0x{MARK}, b")


@pytest.mark.hostile
@given(st.binary(max_size=7), st.integers(4, 76), st.sampled_from([base64.b64encode, base64.b32encode]))
def test_a_secret_inside_longer_wrapped_encodings_is_found(
    before: bytes, width: int, encode: Callable[[bytes], bytes]
) -> None:
    lines = re.findall(f".{{1,{width}}}", encode(before + SECRET.encode() + before).decode())
    for end in ("\n", "\r\n", "\\n", "=\n"):
        assert MARK in Redactor([SECRET]).text(end.join(lines))


def test_ordinary_text_is_left_and_takes_linear_time() -> None:
    pages = [path.read_text(encoding="utf-8") for path in (Path(__file__).parents[2] / "docs" / "how-to").glob("*.md")]
    redactor = Redactor(
        [SECRET, "correct horse battery", "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"]
    )
    for page in pages:
        assert redactor.text(page) == page
    for unit in ("\\", "%25", "&amp;", "\n", "=", "=\n", "s", "sk", "73 ", "\\n", "%", "'"):
        assert redactor.text(unit * 5_000) == unit * 5_000


@pytest.mark.parametrize("around", ["{}\n", "\r\n {}", "\t{} \n", "{}\u00a0\n"])
@pytest.mark.parametrize("encode", [str, quote, json.dumps, html.escape, lambda text: text.encode().hex()])
def test_a_secret_is_found_without_the_white_space_around_it(around: str, encode: Callable[[str], str]) -> None:
    redactor = Redactor([around.format(SECRET)])
    for text in (SECRET, SECRET.strip(), around.format(SECRET), f"Bearer {SECRET}."):
        redacted = redactor.text(encode(text))
        assert MARK in redacted
        assert "0123456789" not in redacted
        assert b"0123456789".hex() not in redacted


def test_every_long_line_of_a_secret_is_found() -> None:
    redactor = Redactor([LINES])
    for line in LINES.splitlines():
        wanted = line if line == "short" or line.startswith("---") else MARK
        for text in (line, f"  {line}\r", quote(line, safe=""), json.dumps(line), html.escape(line)):
            assert (wanted in redactor.text(text)) or (wanted == line and redactor.text(text) == text)
    assert redactor.text(LINES) == MARK
    assert redactor.text(json.dumps({"key": LINES})) == json.dumps({"key": MARK})
    assert "MIIEvQ" not in redactor.text("".join(LINES.split("\n"))), "as one line"


@pytest.mark.hostile
@given(st.integers(1, 7), st.sampled_from([str, quote, html.escape, json.dumps]))
def test_lines_and_stripped_secrets_are_found_in_pieces_too(size: int, encode: Callable[[str], str]) -> None:
    stream = Redactor([LINES, f"{SECRET}\n"]).stream()
    text = " ".join(encode(part) for part in (SECRET, *LINES.splitlines(), LINES))
    shown = "".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size)) + stream.rest()
    assert shown == Redactor([LINES, f"{SECRET}\n"]).text(text)
    assert MARK in shown
    assert not any(piece in shown for piece in ("0123456789", "MIIEvQ", "BAQEFA"))


@pytest.mark.hostile
@given(st.binary(max_size=5), st.text(min_size=MIN_LENGTH, max_size=60), st.binary(max_size=5))
def test_a_secret_is_found_inside_longer_base64(before: bytes, secret: str, after: bytes) -> None:
    if len(secret.encode("utf-8", "surrogatepass")) < MIN_LENGTH:
        return
    raw = before + secret.encode("utf-8", "surrogatepass") + after
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert MARK in Redactor([secret]).text(encode(raw).decode())


def test_a_basic_authorization_header_is_redacted() -> None:
    header = "Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode()
    redacted = Redactor([SECRET]).text(header).partition(" ")[2]
    assert base64.b64decode(redacted.partition("[")[0] + "==")[:5] == b"user:"[:5]
    assert SECRET.encode() not in base64.b64decode(redacted.replace(MARK, "") + "===")


@pytest.mark.hostile
@given(st.text(max_size=50), st.lists(st.text(min_size=MIN_LENGTH, max_size=20), max_size=3))
def test_no_secret_is_left(text: str, secrets: list[str]) -> None:
    redacted = Redactor(secrets).text("".join([text, *secrets, text]))
    assert all(secret not in redacted.replace(MARK, "\0") for secret in secrets)


def test_the_longer_of_two_secrets_goes_whole() -> None:
    assert Redactor(["0123456789", "0123456789abcdef"]).text("0123456789abcdef") == MARK


@pytest.mark.parametrize("short", ["", "k", "key", "1234567"])
def test_a_short_value_would_be_found_by_chance_and_is_let_be(short: str) -> None:
    assert Redactor([short]).text(f"the key k is {short}") == f"the key k is {short}"


def test_nothing_secret_changes_nothing() -> None:
    value = {"a": [1, "text", None]}
    assert HIDE_NOTHING.json(value) is value
    assert HIDE_NOTHING.text("text") == "text"


def test_json_is_redacted_in_texts_and_keys_at_any_depth() -> None:
    secret = "0123456789"
    value = {secret: [{"a": f"x{secret}"}, (secret, 5, None, True)]}
    assert Redactor([secret]).json(value) == {MARK: [{"a": f"x{MARK}"}, [MARK, 5, None, True]]}


def test_the_providers_keys_in_the_environment_are_known() -> None:
    environ = {
        "OPENAI_API_KEY": "openai-key",
        "AWS_SECRET_ACCESS_KEY": "aws-key!",
        "AWS_BEARER_TOKEN_BEDROCK": "bearer-key",
        "GROQ_API_KEY": "groq-key",
        "PATH": "/usr/local/bin",
        "OPENAI_BASE_URL": "http://x",
    }
    assert Redactor.of_environment(environ) == Redactor(["openai-key", "aws-key!", "bearer-key", "groq-key"])


# -- texts that come in pieces


@pytest.mark.hostile
@given(st.text(max_size=30), st.text(min_size=MIN_LENGTH, max_size=20), st.text(max_size=30), st.integers(1, 7))
def test_a_secret_in_pieces_is_not_let_through(before: str, secret: str, after: str, size: int) -> None:
    text = f"{before}{secret}{after}"
    stream = Redactor([secret]).stream()
    shown = "".join(stream.feed(text[start : start + size]) for start in range(0, len(text), size)) + stream.rest()
    assert shown == Redactor([secret]).text(text)


def test_only_what_may_be_the_beginning_of_a_secret_is_held_back() -> None:
    stream = Redactor(["0123456789"]).stream()
    assert [stream.feed(piece) for piece in ("so ", "01", "2x", "0123", "456789.")] == [
        "so ",
        "",
        "012x",
        "",
        f"{MARK}.",
    ]
    assert stream.rest() == ""


@pytest.mark.parametrize("unit", [r"\x41", "%2541", "&#92;", "%5c"])
def test_a_held_end_is_looked_at_again_only_after_half_as_much_more(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    beginnings = FormFinder.beginnings
    monkeypatch.setattr(FormFinder, "beginnings", lambda self, text: looks.append(len(text)) or beginnings(self, text))
    text, stream = unit * 200, Redactor(["A" * 40, "b\\" * 20]).stream()
    shown = [stream.feed(char) for char in text]
    assert "".join((*shown, stream.rest())) == Redactor(["A" * 40, "b\\" * 20]).text(text)
    assert 0 < len(looks) < len(text) / 4


def test_a_secret_that_begins_with_another_secret_goes_whole_in_pieces_too() -> None:
    stream = Redactor(["0123456789", "0123456789abcdef", "89abcdefgh"]).stream()
    assert [stream.feed(piece) for piece in ("0123456789", "abc", "def", "gh 89abcd")] == ["", "", MARK, "gh "]
    assert stream.rest() == "89abcd"


def test_without_secrets_every_piece_is_let_through_at_once() -> None:
    assert HIDE_NOTHING.stream().feed("0123") == "0123"


# -- the value


def test_what_a_redactor_hides_is_in_no_repr(tmp_path: Path) -> None:
    redactor = Redactor([SECRET, "0123456789"])
    journal = SqliteJournal.create(tmp_path / "r1")
    journal.redactor = redactor
    contract = Contract(workspace={}, secrets={"TOKEN": SECRET})
    shown = [
        redactor,
        journal,
        PermissionCheck((), contract, redactor),
        ServerNeeds(tmp_path, {"TOKEN": SECRET}, redactor),
    ]
    journal.close()
    for text in (f"{one!r} {one}" for one in (*shown, shown, redactor.stream())):
        assert not redactor.may_hide_in(text)
    assert "2 secrets" in repr(redactor)


def test_a_union_hides_what_each_of_its_parts_hides() -> None:
    first, second, third = Redactor(["0123456789"]), Redactor(["abcdefghij"]), Redactor(personal=True)
    union = first.union(second, third)
    assert union == third.union(second, first) == Redactor(["abcdefghij", "0123456789"], personal=True)
    assert union.text("0123456789 abcdefghij bob@example.com") == f"{MARK} {MARK} [e-mail]"
    assert union.union(first, third) is union
    assert first.text("abcdefghij") == "abcdefghij"
    with pytest.raises(AttributeError):
        first.personal = True  # type: ignore[misc]


SECRETS = ["s3cr3t-value", "s3cr3t-value word", "t-value 0123", "01234567"]
PARTS = ["s3cr3t-value", "01234567", "[secret]", "bob@example.com", "+49 30 1234567", "4111111111111111", "word", "\n"]


@pytest.mark.hostile
@settings(deadline=None)
@given(
    st.lists(st.sampled_from(PARTS) | st.text(max_size=5), max_size=6).map(" ".join),
    st.lists(
        st.sampled_from(SECRETS) | st.text(min_size=MIN_LENGTH, max_size=12),
        max_size=3,
    ),
    st.booleans(),
    st.integers(1, 20),
)
def test_text_json_stream_and_record_agree(text: str, secrets: list[str], personal: bool, size: int) -> None:
    redactor = Redactor(secrets, personal=personal)
    redacted = redactor.text(text)
    assert redactor.json({"a": [text, 5, None]}) == {"a": [redacted, 5, None]}
    assert redactor.record(ModelText(1.5, text, text)) == ModelText(1.5, redacted, redacted)
    stream = redactor.stream()
    pieces = [stream.feed(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join([*pieces, stream.rest()]) == redacted
    assert redacted == text or redactor.may_hide_in(json.dumps(text, ensure_ascii=False))
    assert HIDE_NOTHING.union(redactor) == redactor
