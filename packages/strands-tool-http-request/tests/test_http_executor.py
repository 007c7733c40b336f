"""An executor reaches its own service and nothing else: no path leaves it, and its headers go nowhere else."""

from __future__ import annotations

import json
import posixpath
from urllib.parse import unquote, urljoin

import httpx
import pytest

from strands_tool_http_request import http_executor

PATH = ("invalid_input", "path")
# Each path, and why it is refused. `{other}` is the second server's host and port.
HOSTILE = [
    "/../admin",
    "/..",
    "/a/../../admin",
    "/./../admin",
    "/a/./b",
    "/.",
    "/...",
    "/a/..;/..;/admin",
    "/..;x=1/admin",
    "/..%3b/admin",
    "/.. /admin",
    "/..%20/admin",
    "/%2e%2e/admin",
    "/%2E%2e/admin",
    "/.%2e/admin",
    "/%2e./admin",
    "/%2e%2e%2fadmin",
    "/..%2fadmin",
    "/..%5cadmin",
    "/%5c..%5cadmin",
    "/%252e%252e/admin",
    "/%25252e%25252e/admin",
    "/%252e%252e%252fadmin",
    "/%2525252525252e",
    "/%c0%ae%c0%ae/admin",
    "/%e0%80%ae./admin",
    "/%u002e%u002e/admin",
    "/%zz",
    "/100%",
    "/..\\admin",
    "/\\{other}/admin",
    "\\\\{other}\\admin",
    "//{other}/admin",
    "///{other}/admin",
    "/%2f%2f{other}/admin",
    "/%2f{other}/admin",
    "/a//b",
    "http://{other}/admin",
    "HTTP://{other}/admin",
    "https:/{other}/admin",
    "@{other}/admin",
    ":80@{other}/admin",
    ".{other}/admin",
    "?@{other}/admin",
    "#@{other}/admin",
    "admin",
    "",
    "/a#b",
    "/../admin?a=1",
    "/a?b=1#/../admin",
    "/\uff0e\uff0e/admin",
    "/\u2025/admin",
    "/\uff0e\uff0e\uff0fadmin",
    "/\u2024\u2024/admin",
    "/..\u2215admin",
    "/..\uff3cadmin",
    "/%ef%bc%8e%ef%bc%8e/admin",
    "/\u3002\u3002/admin",
    "/.\u200b./admin",
    "/.\u00ad./admin",
    "/\u202e/admin",
    "/a\r\nX-Evil: 1",
    "/a%0d%0aX-Evil:%201",
    "/a\tb",
    "/a b",
    "/a\x00",
    "/a%00.html",
    "/..%00/admin",
    "/\ud800",
    "/" + "x" * 5000,
]
KEY = {"Authorization": "Bearer executor-key", "X-Team": "bees"}


@pytest.fixture
def service(room):
    """A room whose config is that of an executor below /v1 of the first server."""
    room.config = {"base_url": room.server.url("/v1/"), "headers": dict(KEY)}
    room.server.answers |= {
        "/v1/users": room.reply('{"users": []}', content_type="application/json"),
        "/admin": room.reply("the keys of the house", content_type="text/plain"),
    }
    room.other.answers["/admin"] = room.reply("elsewhere", content_type="text/plain")
    return room


def send(room, path: str = "/users", **given):
    return room.call(http_executor.http_executor, path=path, **given)


def test_a_request_goes_below_the_base_url_with_the_services_headers(service) -> None:
    answer = send(service, query={"limit": 5, "q": "a b&c=../.."}, headers={"Accept": "application/json"})
    assert (answer.status, answer.value["json"]) == ("success", {"users": []})
    (asked,) = service.server.asked
    assert (asked.method, asked.target) == ("GET", "/v1/users?limit=5&q=a+b%26c%3D..%2F..")
    assert (asked.headers["authorization"], asked.headers["x-team"]) == ("Bearer executor-key", "bees")
    assert asked.headers["accept"] == "application/json"
    assert asked.headers["host"] == f"127.0.0.1:{service.server.port}"


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/", "/v1/"),
        ("/users/", "/v1/users/"),
        ("/group%2Fproject/x", "/v1/group%2Fproject/x"),
        ("/städte/Köln", "/v1/st%C3%A4dte/K%C3%B6ln"),
        ("/v1.0/file.tar.gz", "/v1/v1.0/file.tar.gz"),
        ("/..hidden/a..b/x.", "/v1/..hidden/a..b/x."),
        ("/a%20b;v=1/c:d@e", "/v1/a%20b;v=1/c:d@e"),
        ("/100%25", "/v1/100%25"),
        ("/%3Fnot-a-query", "/v1/%3Fnot-a-query"),
    ],
)
def test_ordinary_paths_arrive_as_they_are(service, path: str, target: str) -> None:
    assert send(service, path).status == "success"
    assert [asked.target for asked in service.server.asked] == [target]


@pytest.mark.parametrize(
    ("path", "query", "target"),
    [
        ("/users?limit=5&q=a+b%26c", None, "/v1/users?limit=5&q=a+b%26c"),
        ("/users?limit=5", {"q": "x"}, "/v1/users?q=x&limit=5"),
        ("/users?flag", None, "/v1/users?flag="),
        ("/users?../../admin", None, "/v1/users?..%2F..%2Fadmin="),
        ("/users?", None, "/v1/users"),
    ],
)
def test_a_query_in_the_path_is_a_query(service, path: str, query: dict | None, target: str) -> None:
    assert send(service, path, query=query).status == "success"
    assert [asked.target for asked in service.server.asked] == [target]


@pytest.mark.parametrize(
    ("path", "query"),
    [("/users?a=1&a=2", None), ("/users?a=1", {"a": 2}), ("/users?a=%ff", None), ("/users?" + "&" * 1001, None)],
    ids=["twice", "in both", "not UTF-8", "many"],
)
def test_a_query_in_the_path_that_has_no_one_meaning_is_refused(service, path: str, query: dict | None) -> None:
    assert send(service, path, query=query).error == PATH
    assert service.server.asked == []


def test_the_earlier_words_of_a_request_are_read(service) -> None:
    send(service, method="POST", json_data={"kg": 3}, headers_override={"X-Hive": "7"})
    (asked,) = service.server.asked
    assert (json.loads(asked.body), asked.headers["x-hive"]) == ({"kg": 3}, "7")


@pytest.mark.parametrize("name", ["Authorization", "cookie", "X-Team"])
def test_an_earlier_word_sets_no_header_that_the_service_is_known_by(service, name: str) -> None:
    assert send(service, headers_override={name: "mine"}).error == ("denied", "header")
    assert service.server.asked == []


@pytest.mark.parametrize("path", HOSTILE)
def test_no_path_leaves_the_service(service, path: str) -> None:
    text = path.format(other=f"127.0.0.1:{service.other.port}")
    code, reason = send(service, text).error
    assert code == "invalid_input"
    assert reason in ("path", "url", "length")
    assert (service.server.asked, service.other.asked) == ([], [])


def test_the_same_paths_do_leave_it_without_the_check(service) -> None:
    """The control: a plain client that joins base URL and path, and a server that decodes as some do."""
    left = 0
    with httpx.Client(trust_env=False, timeout=120) as client:
        for path in HOSTILE:
            text = path.format(other=f"127.0.0.1:{service.other.port}")
            service.server.asked.clear()
            service.other.asked.clear()
            try:
                client.get(urljoin(service.config["base_url"], text))
            except (httpx.HTTPError, httpx.InvalidURL, ValueError):
                continue
            left += bool(service.other.asked) or any(map(_is_outside, service.server.asked))
    assert left >= 30


def _is_outside(asked) -> bool:
    target = asked.target.partition("?")[0]
    for _ in range(3):
        target = unquote(target).replace("\\", "/")
    plain = "/".join(part.partition(";")[0].strip() for part in target.split("/"))
    return not f"{posixpath.normpath(plain)}/".startswith("/v1/")


@pytest.mark.parametrize("path", ["/users", "/v2/users"])
def test_a_base_url_that_is_a_whole_origin_holds_every_path_of_it(service, path: str) -> None:
    service.config["base_url"] = service.server.url("")
    assert send(service, path).status == "success"
    assert send(service, "/../x").error == PATH
    assert [asked.target for asked in service.server.asked] == [path]


def test_a_path_that_only_begins_like_the_base_is_outside(service) -> None:
    service.server.answers["/v1/go"] = service.moved("/v1evil")
    answer = send(service, "/go")
    assert (answer.status, answer.value["status"]) == ("success", 302)
    assert service.config["base_url"].rstrip("/") in answer.value["notices"][0]
    assert len(service.server.asked) == 1


# -- redirects


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1:{other}/admin",
        "//127.0.0.1:{other}/admin",
        "http://localhost:{other}/admin",
        "http://169.254.169.254/latest/meta-data/",
        "https://127.0.0.1:{own}/v1/users",
        "/admin",
        "../admin",
        "/v1/%2e%2e/admin",
        "/v1//users",
    ],
)
def test_a_redirect_away_from_the_service_is_the_answer(service, location: str, method: str, status: int) -> None:
    target = location.format(other=service.other.port, own=service.server.port)
    service.server.answers["/v1/go"] = service.moved(target, f"{status} Moved")
    answer = send(service, "/go", method=method)
    assert (answer.status, answer.value["status"]) == ("success", status)
    assert service.config["base_url"].rstrip("/") in answer.value["notices"][0]
    assert ([asked.target for asked in service.server.asked], service.other.asked) == (["/v1/go"], [])


@pytest.mark.parametrize("location", ["javascript:alert(1)", "http://a@127.0.0.1/", "http://0x7f.1/", "\\\\evil"])
def test_a_redirect_to_no_sound_url_is_an_error(service, location: str) -> None:
    service.server.answers["/v1/go"] = service.moved(location)
    assert send(service, "/go").error[0] == "invalid_input"
    assert len(service.server.asked) == 1


def test_a_redirect_within_the_service_is_followed_with_its_headers(service) -> None:
    service.server.answers["/v1/go"] = service.moved("/v1/users", "307 Again")
    assert send(service, "/go", method="POST", json={"a": 1}).value["json"] == {"users": []}
    assert [asked.headers["authorization"] for asked in service.server.asked] == ["Bearer executor-key"] * 2
    assert json.loads(service.server.asked[1].body) == {"a": 1}


# -- headers and secrets


@pytest.mark.parametrize(
    "name",
    [
        "Authorization",
        "authorization",
        "AUTHORIZATION",
        "Cookie",
        "X-Team",
        "x-team",
        "Host",
        "Content-Length",
        "Transfer-Encoding",
        "Proxy-Authorization",
        "X-Forwarded-Host",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-HTTP-Method-Override",
    ],
)
def test_a_call_sets_no_header_of_the_service(service, name: str) -> None:
    assert send(service, headers={name: "mine"}).error == ("denied", "header")
    assert not service.server.asked


@pytest.mark.parametrize("value", ["1\r\nHost: evil", "1\nAuthorization: x", "\0", "ü", 5])
def test_a_malformed_header_is_refused(service, value) -> None:
    assert send(service, headers={"X-A": value}).error == ("invalid_input", "header")
    assert not service.server.asked


def test_a_call_cannot_name_a_secret(service) -> None:
    service.extra = {"secrets": {"API_TOKEN": "t0p-s3cret"}}
    named = "${secrets.API_TOKEN}"
    send(service, "/users", method="POST", headers={"X-A": named}, query={"a": named}, json={"a": named})
    (asked,) = service.server.asked
    assert asked.headers["x-a"] == named
    assert "s3cret" not in str(asked)


def test_a_secret_is_put_into_its_header_and_shown_nowhere(service) -> None:
    service.config["headers"] = {"Authorization": "Bearer ${secrets.API_TOKEN}", "X-Both": "${secrets.A}-${secrets.A}"}
    service.extra = {"secrets": {"API_TOKEN": "t0p-s3cret", "A": "a-s3cret"}}
    answer = send(service)
    (asked,) = service.server.asked
    assert (asked.headers["authorization"], asked.headers["x-both"]) == ("Bearer t0p-s3cret", "a-s3cret-a-s3cret")
    assert "s3cret" not in str(answer)


def test_a_user_with_a_password_is_sent_as_one_header_and_shown_nowhere(service) -> None:
    service.config["headers"] = {"X-Team": "bees"}
    service.config["basic"] = {"username": "ada", "password": "${secrets.API_TOKEN}"}
    service.extra = {"secrets": {"API_TOKEN": "t0p-s3cret"}}
    answer = send(service)
    (asked,) = service.server.asked
    assert (asked.headers["authorization"], asked.headers["x-team"]) == ("Basic YWRhOnQwcC1zM2NyZXQ=", "bees")
    assert "s3cret" not in str(answer)
    assert send(service, headers={"Authorization": "mine"}).error == ("denied", "header")


@pytest.mark.parametrize(
    ("secrets", "reason"), [({}, "secret"), ({"USER": "a:b", "API_TOKEN": "t0p-s3cret"}, "config")]
)
def test_a_user_that_cannot_be_sent_is_reported(service, secrets: dict, reason: str) -> None:
    service.config["basic"] = {"username": "${secrets.USER}", "password": "${secrets.API_TOKEN}"}
    service.extra = {"secrets": secrets}
    assert send(service).error == ("unavailable", reason)
    assert not service.server.asked


@pytest.mark.parametrize("secrets", [{}, {"API_TOKEN": ""}, {"API_TOKEN": "a\r\nHost: x"}, {"API_TOKEN": "schlüssel"}])
def test_a_secret_that_cannot_be_sent_is_reported_without_its_value(service, secrets: dict) -> None:
    service.config["headers"] = {"Authorization": "Bearer ${secrets.API_TOKEN}"}
    service.extra = {"secrets": secrets}
    answer = send(service)
    assert answer.error == ("unavailable", "secret")
    assert not service.server.asked
    assert not secrets.get("API_TOKEN") or secrets["API_TOKEN"] not in str(answer)


def test_a_secret_never_goes_over_plain_http_to_another_machine(service) -> None:
    service.names["api.test"] = ["127.0.0.1"]
    private = [f"127.0.0.1:{service.server.port}"]
    service.config |= {"base_url": service.server.url("/v1", host="api.test"), "allow_private": private}
    assert send(service).status == "success"
    service.config["headers"] = {"X-Key": "${secrets.API_TOKEN}"}
    service.extra = {"secrets": {"API_TOKEN": "t0p-s3cret"}}
    service.server.asked.clear()
    assert send(service).error == ("unavailable", "secret")
    assert not service.server.asked


# -- what the base URL opens


def test_a_name_that_leads_to_a_private_network_is_not_opened_by_being_the_base(service) -> None:
    service.names["api.test"] = ["127.0.0.1"]
    service.config["base_url"] = service.server.url("/v1", host="api.test")
    assert send(service).error == ("denied", "address")
    service.config["allow_private"] = [f"127.0.0.1:{service.server.port}"]
    assert send(service).status == "success"
    service.names["api.test"] = ["127.0.0.1", "10.0.0.1"]
    assert send(service).error == ("denied", "address")


def test_localhost_is_this_machine_and_nothing_that_the_name_may_lead_to(service) -> None:
    service.config["base_url"] = service.server.url("/v1", host="localhost")
    service.names["localhost"] = ["127.0.0.1"]
    assert send(service).status == "success"
    service.names["localhost"] = ["10.0.0.1"]
    assert send(service).error == ("denied", "address")


@pytest.mark.parametrize("host", ["169.254.169.254", "100.100.100.200", "[fd00:ec2::254]", "0.0.0.0", "[::]"])
def test_metadata_services_stay_closed_even_as_the_base(service, host: str) -> None:
    service.config["base_url"] = f"http://{host}/latest"
    assert send(service).error == ("denied", "address")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"base_url": ""},
        {"base_url": "ftp://api.test"},
        {"base_url": "https://user:pw@api.test"},
        {"base_url": "https://api.test/v1?key=1"},
        {"base_url": "https://api.test/v1#x"},
        {"base_url": "https://api.test/a/../b"},
        {"base_url": "https://api.test/%2e%2e"},
        {"base_url": "https://2130706433/"},
        {"base_url": "https://api.test", "headers": {"Host": "x"}},
        {"base_url": "https://api.test", "headers": {"X": "a\nb"}},
        {"base_url": "https://api.test", "allow_private": ["10.0.0.0/8"]},
    ],
)
def test_a_wrong_configuration_is_the_operators_problem(service, config: dict) -> None:
    service.config = config
    assert send(service).error == ("unavailable", "config")


# -- what a call may say, and how answers are read


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"method": "CONNECT"}, ("invalid_input", "enum")),
        ({"body": "x"}, ("invalid_input", "body")),
        ({"method": "POST", "body": "x", "json": {}}, ("invalid_input", "body")),
        ({"query": {"a": {"b": 1}}}, ("invalid_input", "type")),
        ({"url": "http://127.0.0.1/"}, ("invalid_input", "unknown")),
        ({"base_url": "http://127.0.0.1/"}, ("invalid_input", "unknown")),
    ],
)
def test_other_input_is_refused_with_its_reason(service, given: dict, error: tuple[str, str]) -> None:
    assert send(service, **given).error == error
    assert not service.server.asked


@pytest.mark.parametrize(
    ("form", "kind", "body", "text", "parsed"),
    [
        (None, "application/json", '{"a": 1}', "", {"a": 1}),
        (None, "text/plain", '{"a": 1}', '{"a": 1}', None),
        ("json", "text/plain", '{"a": 1}', "", {"a": 1}),
        ("json", "text/html", "<h1>no", "<h1>no", None),
        ("text", "application/json", '{"a": 1}', '{"a": 1}', None),
    ],
)
def test_an_answer_is_read_as_the_service_is_known_to_answer(service, form, kind, body, text, parsed) -> None:
    service.config["response_format"] = form
    service.server.answers["/v1/users"] = service.reply(body, content_type=kind)
    answer = send(service)
    assert (answer.text, answer.value.get("json")) == (text, parsed)
    assert bool(answer.value["notices"]) == (form == "json" and parsed is None)


def test_the_time_of_the_executor_is_kept(service) -> None:
    async def drip(asked, writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while not await asked.hung_up_within(0.02):
            writer.write(b"x")
            await writer.drain()

    service.server.answers["/v1/users"] = drip
    service.config["timeout_ms"] = 200
    assert send(service).error == ("timeout", "deadline")
