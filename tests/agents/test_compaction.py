"""Conversations are kept small: what the server receives gets shorter, and notes go from step to step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.agents.compaction import SUMMARY, split_point, tokens_in, transcript, with_summary
from strands_cli.errors import ArtifactError, BudgetExceeded, InvalidInput, RunFailed
from strands_cli.events import Event, ModelCallFinished, ModelText
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.agent_sections import Compaction
from tests.agents.kit import Site
from tests.agents.resumable import RECORD, going, lines_of, rows, system, workflow
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

AGENT = "{one: {prompt: be one, tools: [native:echo]}}"
ONE = "{agent: one, input: count to six}"
OVERFLOW = Turn(
    status=400,
    body={"error": {"message": "This model's maximum context length is 9 tokens.", "code": "context_length_exceeded"}},
)


pytestmark = pytest.mark.usefixtures("echo_and_key")


def compaction(**fields: Any) -> str:
    policy = {"when_tokens_over": 120, "preserve_recent_messages": 4, "summarization_model": "small", **fields}
    return f"context_policy: {{compaction: {json.dumps(policy)}}}"


def counting(turns: int, *, summary: Turn | None = None) -> Callable[[dict[str, Any]], Turn]:
    """Return a script: so many tool calls with a long argument, then an answer; `small` sums up."""
    left = iter([*(Turn(calls=[("echo", {"text": f"number {n} " + "x" * 80})]) for n in range(turns)), Turn("counted")])

    def answer(request: dict[str, Any]) -> Turn:
        return (summary or Turn("the digest")) if request["model"] == "small" else next(left)

    return answer


def asked(server: ModelServer, model: str) -> list[dict[str, Any]]:
    return [request for request in server.model_requests if request["model"] == model]


def paired(request: dict[str, Any]) -> bool:
    """Tell whether each tool result directly follows the calls it answers, and no call is without one."""
    open_calls: list[str] = []
    for message in request["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return False
            open_calls.remove(message["tool_call_id"])
        elif open_calls:
            return False
        open_calls += [call["id"] for call in message.get("tool_calls") or ()]
    return not open_calls


# -- compaction


def test_the_requests_that_the_server_receives_get_shorter_and_calls_keep_their_results(site: Site) -> None:
    with ModelServer(counting(6)) as server:
        result = going(site, workflow(server.url, ONE, agents=AGENT, rest=compaction()))
        main, summaries = asked(server, "m"), asked(server, "small")
    assert result.response == "counted"
    assert len(main) == 7
    assert summaries
    assert max(len(lines_of(request)) for request in main) < 8
    assert all(paired(request) for request in main)
    assert lines_of(main[0]) == ["user: count to six"]
    assert lines_of(main[-1])[0] == f"user: {SUMMARY}the digest"
    assert lines_of(main[-1])[-1].startswith("tool: said number 5")


def test_without_the_policy_nothing_is_cut(site: Site) -> None:
    with ModelServer(counting(6)) as server:
        going(site, workflow(server.url, ONE, agents=AGENT))
        assert [len(lines_of(request)) for request in asked(server, "m")] == [1, 3, 5, 7, 9, 11, 13]


def test_a_policy_that_is_switched_off_does_nothing(site: Site) -> None:
    with ModelServer(counting(6)) as server:
        going(site, workflow(server.url, ONE, agents=AGENT, rest=compaction(enabled=False)))
        assert len(lines_of(asked(server, "m")[-1])) == 13


def test_what_is_summed_up_is_what_then_is_missing(site: Site) -> None:
    with ModelServer(counting(3)) as server:
        going(site, workflow(server.url, ONE, agents=AGENT, rest=compaction()))
        (summary,) = asked(server, "small")
        last = json.dumps(asked(server, "m")[-1])
    (line,) = lines_of(summary)
    assert "user: count to six" in line
    assert 'assistant calls echo: {"text": "number 0' in line
    assert "tool answers (success): said number 0" in line
    assert "number 1" not in line
    assert "number 0" not in last
    assert "number 1" in last
    assert not summary.get("tools")


def test_a_summary_is_a_model_call_of_the_step_that_counts_and_is_recorded(site: Site) -> None:
    events: list[Event] = []
    with ModelServer(counting(3)) as server:
        result = going(site, workflow(server.url, ONE, agents=AGENT, rest=compaction()), events=events)
    models = [key for key, row in rows().items() if row.kind == "model"]
    assert models == [f"steps.0/{name}" for name in ("model.0", "model.1", "model.2", "summary.3", "model.4")]
    assert rows()["steps.0/summary.3"].detail["model"] == "openai/small"
    assert result.model_calls == 5
    finished = [event.key for event in events if isinstance(event, ModelCallFinished)]
    assert finished == models
    assert not [event for event in events if isinstance(event, ModelText) and "summary" in event.key]


def test_without_a_model_for_it_the_agents_own_sums_up(site: Site) -> None:
    text = "{agent: one, input: go}"
    turns = [*(Turn(calls=[("echo", {"text": "x" * 100})]) for _ in range(3)), Turn("own digest"), Turn("done")]
    with ModelServer(turns) as server:
        going(site, workflow(server.url, text, agents=AGENT, rest=compaction(summarization_model=None)))
        assert lines_of(server.model_requests[-1])[0] == f"user: {SUMMARY}own digest"
    assert rows()["steps.0/summary.3"].detail["model"] == "openai/m"


def test_a_resumed_run_takes_the_summary_from_its_record(site: Site) -> None:
    broken: list[int] = []

    def answer(request: dict[str, Any]) -> Turn:
        last = request["messages"][-1]
        if "number 2" in json.dumps(last) and not broken:
            broken.append(1)
            return Turn(status=400)
        return answers(request)

    answers = counting(3)
    with ModelServer(answer) as server:
        text = workflow(server.url, ONE, agents=AGENT, rest=compaction())
        with pytest.raises(RunFailed):
            going(site, text)
        assert going(site, text).response == "counted"
        assert len(asked(server, "small")) == 1
        assert lines_of(asked(server, "m")[-1]) == lines_of(asked(server, "m")[-2])


def test_a_summary_counts_for_the_budget_before_it_is_made(site: Site) -> None:
    rest = compaction()
    with ModelServer(counting(3)) as server:
        text = workflow(server.url, ONE, agents=AGENT, rest=rest).replace(
            "model_id: m,", "model_id: m, budgets: {max_model_calls: 3},"
        )
        with pytest.raises(BudgetExceeded):
            going(site, text)
        assert asked(server, "small") == []


@pytest.mark.parametrize(
    "turn",
    [
        Turn(" "),
        Turn("half a dig", finish="length"),
        Turn(status=401),
        OVERFLOW,
    ],
    ids=["empty", "cut off", "refused", "too long"],
)
def test_a_summary_that_fails_ends_the_step_and_says_which_model_it_was(
    site: Site, turn: Turn, wording: Wording
) -> None:
    with ModelServer(counting(6, summary=turn)) as server:
        with pytest.raises(RunFailed) as raised:
            going(site, workflow(server.url, ONE, agents=AGENT, rest=compaction()))
        wording(raised.value)
        assert len(asked(server, "small")) == 1


def test_a_recording_plays_the_summaries_too(site: Site) -> None:
    options = RunRequest(out_dir=Path("out"))
    with ModelServer(counting(3)) as server:
        text = workflow(server.url, ONE, agents=AGENT, rest=compaction())
        going(site, text)
    from strands_cli.engine.journal.recording_writer import write_recording
    from strands_cli.engine.run_facts import recorded_calls

    calls = [row for row in rows().values() if row.kind == "model"]
    write_recording(Path("r.yaml"), recorded_calls(calls), force=False)
    first = list(rows())
    RECORD.rename("first")
    text = text.replace("provider: openai", "provider: replay, recording: r.yaml")
    assert going(site, text, options=options).response == "counted"
    assert list(rows()) == first


def test_the_conversation_of_an_agent_that_keeps_it_stays_summed_up_in_the_next_step(site: Site) -> None:
    steps = f"{ONE}, {{agent: one, input: and now}}"
    agents = AGENT.replace("tools:", "memory: run, tools:")
    answers = counting(3)

    def answer(request: dict[str, Any]) -> Turn:
        return Turn("now") if lines_of(request)[-1] == "user: and now" else answers(request)

    with ModelServer(answer) as server:
        text = workflow(server.url, steps, agents=agents, rest=compaction(when_tokens_over=200))
        assert going(site, text).response == "now"
        before, last = [lines_of(request) for request in asked(server, "m")[-2:]]
        assert len(asked(server, "small")) == 1
    assert before[0] == last[0] == f"user: {SUMMARY}the digest"
    assert last == [*before, "assistant: counted", "user: and now"]
    assert rows()["steps.0"].output["restated"] is True
    assert "restated" not in rows()["steps.1"].output


def test_a_summary_made_in_a_later_step_takes_the_place_of_the_earlier_steps_messages(site: Site) -> None:
    steps = f"{ONE}, {{agent: one, input: and now}}, {{agent: one, input: the end}}"
    agents = AGENT.replace("tools:", "memory: run, tools:")
    answers = counting(3)
    broken: list[int] = []

    def answer(request: dict[str, Any]) -> Turn:
        last = lines_of(request)[-1]
        if last == "user: the end" and not broken:
            broken.append(1)
            return Turn(status=400)
        return Turn(last[6:]) if last in ("user: and now", "user: the end") else answers(request)

    with ModelServer(answer) as server:
        rest = compaction(when_tokens_over=212, preserve_recent_messages=3)
        text = workflow(server.url, steps, agents=agents, rest=rest)
        with pytest.raises(RunFailed):
            going(site, text)
        assert going(site, text).response == "the end"
        second, *third = [lines_of(request) for request in asked(server, "m")[-3:]]
        assert len(asked(server, "small")) == 1
    assert [key for key, row in rows().items() if row.kind == "step" and "restated" in row.output] == ["steps.1"]
    assert second[0] == f"user: {SUMMARY}the digest"
    assert third == [[*second, "assistant: and now", "user: the end"]] * 2


# -- what a provider says is too long


def test_a_request_that_was_too_long_is_tried_once_more_after_a_summary(site: Site) -> None:
    answers = counting(3)

    def answer(request: dict[str, Any]) -> Turn:
        return OVERFLOW if request["model"] == "m" and len(lines_of(request)) > 5 else answers(request)

    with ModelServer(answer) as server:
        text = workflow(server.url, ONE, agents=AGENT, rest=compaction(when_tokens_over=None))
        assert going(site, text).response == "counted"
        assert [len(lines_of(request)) for request in asked(server, "m")] == [1, 3, 5, 7, 5]
    assert [key for key, row in rows().items() if row.kind == "model" and row.status == "failed"] == ["steps.0/model.3"]


def test_a_request_that_is_still_too_long_fails_with_advice_and_not_in_a_circle(site: Site, wording: Wording) -> None:
    answers = counting(9)

    def answer(request: dict[str, Any]) -> Turn:
        return OVERFLOW if request["model"] == "m" and "number 2" in json.dumps(request) else answers(request)

    with ModelServer(answer) as server:
        with pytest.raises(RunFailed) as caught:
            going(site, workflow(server.url, ONE, agents=AGENT, rest=compaction(when_tokens_over=None)))
        assert (len(asked(server, "m")), len(asked(server, "small"))) == (5, 1)
    wording([caught.value, caught.value.fix])


@pytest.mark.parametrize("rest", ["", compaction(preserve_recent_messages=40)], ids=["no policy", "nothing to spare"])
def test_where_nothing_may_be_summed_up_too_long_is_a_failure_at_once(site: Site, rest: str) -> None:
    with ModelServer([OVERFLOW]) as server:
        with pytest.raises(RunFailed) as caught:
            going(site, workflow(server.url, ONE, agents=AGENT, rest=rest))
        assert len(server.requests) == 1
    assert "openai/m" in caught.value.message
    assert "context_policy.compaction" in (caught.value.fix or "")


# -- where a conversation is cut


def call(n: int, text: str = "") -> list[Any]:
    return [
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": str(n), "name": "t", "input": {"x": text}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": str(n), "status": "success", "content": []}}]},
    ]


def words(role: str, text: str) -> list[Any]:
    return [{"role": role, "content": [{"text": text}]}]


TURN = st.one_of(
    st.builds(call, st.integers(0, 9), st.text(max_size=200)),
    st.builds(lambda a, b: [*words("user", a), *words("assistant", b)], st.text(max_size=99), st.text(max_size=99)),
)
CONVERSATIONS = st.lists(TURN, max_size=12).map(lambda turns: [m for turn in turns for m in turn])
POLICIES = st.builds(Compaction, preserve_recent_messages=st.integers(0, 15), summary_ratio=st.floats(0.01, 0.99))


@given(CONVERSATIONS, POLICIES, st.none() | st.integers(1, 500))
def test_a_cut_parts_no_pair_keeps_the_latest_and_leaves_roles_alternating(
    messages: list[Any], policy: Compaction, limit: int | None
) -> None:
    point = split_point(messages, policy, limit)
    assert 0 <= point <= len(messages)
    if point:
        assert point >= 2
        assert len(messages) - point >= max(1, policy.preserve_recent_messages)
        rest = with_summary(messages, point, "s")
        assert rest[0]["role"] == "user"
        roles = [message["role"] for message in rest[:2]]
        assert roles in (["user"], ["user", "assistant"])
        assert not any("toolResult" in block for block in rest[0]["content"])
        assert rest[-1]["content"][-1:] == messages[-1]["content"][-1:]
        assert len(rest) <= len(messages)


def test_a_summary_replaces_at_least_the_share_and_as_much_more_as_the_limit_needs() -> None:
    messages = [*words("user", "task"), *(m for n in range(10) for m in call(n, "y" * 400))]
    policy = Compaction(preserve_recent_messages=2, summary_ratio=0.3)
    whole = tokens_in(messages)
    assert split_point(messages, policy, whole - 10) == 7
    assert split_point(messages, policy, whole // 5) > 15
    assert split_point(messages, policy, None) == 19


def test_a_summary_that_would_save_next_to_nothing_is_not_made() -> None:
    messages = [*words("user", "a"), *words("assistant", "b"), *words("user", "c" * 4000)]
    policy = Compaction(preserve_recent_messages=1)
    assert split_point(messages, policy, 500) == 0
    assert split_point(messages, policy, None) == 2


@given(CONVERSATIONS, POLICIES)
def test_after_a_summary_of_all_that_may_be_summed_up_nothing_is_left_to(
    messages: list[Any], policy: Compaction
) -> None:
    point = split_point(messages, policy, None)
    if point:
        assert split_point(with_summary(messages, point, "s"), policy, None) == 0


def test_a_summary_before_the_users_words_is_in_their_message() -> None:
    messages = [*words("user", "a"), *words("assistant", "b"), *words("user", "c")]
    assert with_summary(messages, 2, "s") == [{"role": "user", "content": [{"text": SUMMARY + "s"}, {"text": "c"}]}]


def test_tokens_are_estimated_without_a_tokenizer() -> None:
    assert tokens_in("x" * 400) == 100
    assert tokens_in("ü" * 400) == 200
    assert tokens_in(words("user", "x" * 40)) == 14 + 1
    image = {"role": "user", "content": [{"image": {"format": "png", "source": {"bytes": b"x" * 9_000_000}}}]}
    assert 1000 < tokens_in([image]) < 3000
    assert tokens_in({**image, "tracking_id": "x" * 400, "metadata": {"a": "x" * 400}}) == tokens_in(image)


def test_a_transcript_has_everything_but_what_only_machines_read() -> None:
    blocks: list[Any] = [{"text": "see"}, {"image": {"source": {"bytes": b"x"}}}, {"reasoningContent": {}}]
    result = {"toolUseId": "1", "status": "error", "content": [{"text": "no"}, {"json": {"code": 1}}]}
    messages = [{"role": "user", "content": blocks}, {"role": "user", "content": [{"toolResult": result}]}]
    assert transcript(messages) == 'user: see\n\nuser gives: image\n\ntool answers (error): no {"json": {"code": 1}}'


# -- notes


def notes(**fields: Any) -> str:
    return f"context_policy: {{notes: {json.dumps({'file': 'notes.md', **fields})}}}"


CHAIN = (
    "{agent: one, input: a}, {tool: 'native:echo', input: {text: x}}, {agent: one, input: b}, {agent: one, input: c}"
)
SAID = [Turn("said a"), Turn("said b\n## with a heading"), Turn("said c")]


def test_each_step_of_an_agent_leaves_its_answer_and_the_next_sees_the_latest(site: Site, wording: Wording) -> None:
    with ModelServer(SAID) as server:
        going(site, workflow(server.url, CHAIN, agents=AGENT, rest=notes(include_last=1)))
        first, second, third = map(system, server.model_requests)
    assert first == "be one"
    prompt, heading, *_ = second.split("\n\n")
    assert prompt == "be one"
    wording(heading.partition("\n")[0])
    assert "said a" in second
    assert "said b\n## with a heading" in third
    assert "said a" not in third
    written = Path("notes.md").read_text()
    assert [written.count(text) for text in ("said a", "said b", "said c", "said x", "<!-- note ")] == [1, 1, 1, 0, 3]
    assert "## one, steps.2, " in written


def test_json_notes_are_one_object_a_line(site: Site) -> None:
    with ModelServer(SAID) as server:
        going(site, workflow(server.url, CHAIN, agents=AGENT, rest=notes(file="a/notes.jsonl", format="json")))
        assert "one, steps.0: said a" in system(server.model_requests[-1])
    lines = [json.loads(line) for line in Path("a/notes.jsonl").read_text().split("\n")[:-1]]
    assert [(line["agent"], line["step"], line["text"]) for line in lines] == [
        ("one", "steps.0", "said a"),
        ("one", "steps.2", "said b\n## with a heading"),
        ("one", "steps.3", "said c"),
    ]


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_what_is_in_the_file_already_is_kept_and_seen(site: Site, form: str) -> None:
    Path("notes.md").write_text("By hand: mind the gap", encoding="utf-8")
    with ModelServer(SAID) as server:
        going(site, workflow(server.url, "{agent: one, input: a}", agents=AGENT, rest=notes(format=form)))
        assert "By hand: mind the gap" in system(server.model_requests[0])
    assert Path("notes.md").read_text().startswith("By hand: mind the gap\n")


def test_none_are_shown_where_none_are_wanted(site: Site) -> None:
    Path("notes.md").write_text("By hand", encoding="utf-8")
    with ModelServer(SAID) as server:
        going(site, workflow(server.url, "{agent: one, input: a}", agents=AGENT, rest=notes(include_last=0)))
        assert system(server.model_requests[0]) == "be one"
    assert "said a" in Path("notes.md").read_text()


def test_a_resumed_run_neither_writes_a_note_twice_nor_sees_others_than_before(site: Site) -> None:
    with ModelServer([SAID[0], Turn(calls=[("echo", {"text": "x"})]), Turn(status=400), *SAID[1:]]) as server:
        text = workflow(server.url, CHAIN, agents=AGENT, rest=notes())
        with pytest.raises(RunFailed):
            going(site, text)
        with Path("notes.md").open("a") as file:
            file.write("written meanwhile\n")
        going(site, text)
        before, again, third = map(system, server.model_requests[2:])
    assert before == again
    assert "written meanwhile" in third
    assert Path("notes.md").read_text().count("said a") == 1


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_a_note_that_was_written_just_before_the_process_died_is_not_written_again(
    site: Site, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    from strands_cli.outputs.notes import NotesFile

    class Died(BaseException):
        """Simulates a process that is killed."""

    append = NotesFile.append

    def then_die(self: NotesFile, note: Any) -> None:
        append(self, note)
        raise Died

    with ModelServer([SAID[0]]) as server:
        text = workflow(server.url, "{agent: one, input: a}", agents=AGENT, rest=notes(format=form))
        with monkeypatch.context() as patch:
            patch.setattr(NotesFile, "append", then_die)
            with pytest.raises(Died):
                going(site, text)
        assert going(site, text).response == "said a"
    assert Path("notes.md").read_text().count("said a") == 1


def test_a_failing_step_leaves_no_note(site: Site) -> None:
    with ModelServer([Turn("")]) as server, pytest.raises(RunFailed):
        going(site, workflow(server.url, "{agent: one, input: a}", agents=AGENT, rest=notes()))
    assert not Path("notes.md").exists()


def test_a_very_long_note_is_cut_in_the_prompt_and_whole_in_the_file(site: Site) -> None:
    with ModelServer([Turn("y" * 20_000), Turn("b")]) as server:
        going(site, workflow(server.url, "{agent: one, input: a}, {agent: one, input: b}", agents=AGENT, rest=notes()))
        assert len(system(server.model_requests[1])) < 6000
    assert "y" * 20_000 in Path("notes.md").read_text()


def test_secrets_do_not_get_into_the_notes(site: Site) -> None:
    with ModelServer([Turn("the key is sk-test-0123456789abcdef")]) as server:
        going(site, workflow(server.url, "{agent: one, input: a}", agents=AGENT, rest=notes()))
    assert "sk-test" not in Path("notes.md").read_text()


@pytest.mark.parametrize("file", ["../notes.md", "/tmp/notes.md", "a/../../b.md", ".", " ", "link/notes.md"])
def test_notes_outside_the_working_directory_are_refused_before_the_run(site: Site, file: str, tmp_path: Path) -> None:
    Path("link").symlink_to(tmp_path)
    with pytest.raises(InvalidInput) as caught:
        going(site, workflow("http://127.0.0.1:9/v1", ONE, agents=AGENT, rest=notes(file=file)))
    codes = {finding.code for finding in caught.value.findings if finding.severity == "error"}
    assert codes == {"notes-outside"}


@pytest.mark.parametrize("spoil", ["directory", "bytes"])
def test_a_notes_file_that_cannot_be_used_is_named(site: Site, spoil: str, wording: Wording) -> None:
    Path("notes.md").mkdir() if spoil == "directory" else Path("notes.md").write_bytes(b"\xff\xfe\x00")
    with ModelServer(SAID) as server:
        with pytest.raises(ArtifactError) as raised:
            going(site, workflow(server.url, ONE, agents=AGENT, rest=notes()))
        wording(raised.value)
        assert server.requests == []
