"""Teaching the memory from the shell: episodes, feedback, refinement, and what was learned."""

from dataclasses import dataclass

import pytest

from tests.cli.conftest import Fluxmem

SEPARATOR = "The separator of that file is a semicolon."


@dataclass(frozen=True)
class Run:
    """An episode whose only step was shown some of many facts, and not the one that it needs."""

    episode: str
    shown: list[str]
    needed: str


@pytest.fixture
def run(fluxmem: Fluxmem) -> Run:
    for number in range(6):
        fluxmem("add", f"Medals are counted in table {number}.")
    needed = fluxmem("add", SEPARATOR).out.strip()
    episode = fluxmem("episode", "start", "Count the medals.").out.strip()
    step = fluxmem("episode", "step", episode, "How are medals counted?", "--top-k", 3, "--json").json
    shown = step["context"]["cited"]
    assert needed not in shown
    return Run(episode, shown, needed)


def test_an_episode_is_started_stepped_ended_and_shown(fluxmem: Fluxmem) -> None:
    fact = fluxmem("add", "Tea is hot.").out.strip()
    episode = fluxmem("episode", "start", "-", "--meta", "cups=3", stdin=b"Make tea.").out.strip()
    running = fluxmem("episode", "show", episode, "--json").json
    assert (running["id"], running["task"], running["status"]) == (episode, "Make tea.", "candidate")
    assert running["metadata"] == {"cups": 3}
    stepped = fluxmem("episode", "step", episode, "How hot is tea?", "--action", "boil", "--json").json
    assert stepped["context"]["cited"] == [fact]
    assert "Tea is hot." in stepped["context"]["text"]
    ended = fluxmem("episode", "end", episode, "--success", 1, "--outcome", "a cup", "--json").json
    assert ended == {"episode": episode, "ended": True}
    shown = fluxmem("episode", "show", episode, "--json").json
    assert (shown["status"], shown["success"], shown["outcome"]) == ("active", 1.0, "a cup")
    assert [(s["observation"], s["action"]) for s in shown["steps"]] == [("How hot is tea?", "boil")]
    printed = fluxmem("episode", "show", episode).out
    assert all(text in printed for text in ("Make tea.", "How hot is tea?", "boil", "a cup"))
    assert fluxmem("activate", "How hot is tea?", "--json").json["episodes"][0]["id"] == episode


def test_a_step_prints_the_context_for_a_prompt_and_nothing_else(fluxmem: Fluxmem) -> None:
    fact = fluxmem("add", "Tea is hot.").out.strip()
    episode = fluxmem("episode", "start", "Make tea.").out.strip()
    stepped = fluxmem("episode", "step", episode, "How hot is tea?")
    assert stepped.out == fluxmem("context", "How hot is tea?").out
    assert fact in stepped.out
    assert stepped.err == ""


def test_feedback_prints_what_it_changed_and_links_and_explain_show_it(fluxmem: Fluxmem, run: Run) -> None:
    used, other, noise = run.shown
    given = fluxmem(
        *("feedback", run.episode, "--success", 1, "--used", used, "--used", other, "--unused", noise),
        "--json",
    ).json
    assert given["episode"] == run.episode
    assert (given["refinement"]["success"], given["refinement"]["blame"]) == (1.0, [])
    links = fluxmem("links", "--json").json["links"]
    kinds = {(link["type"], link["id"], link["other_id"], link["successes"]) for link in links}
    assert ("SUPPORTS", used, run.episode, 1.0) in kinds
    assert links[-1]["id"] == noise
    assert fluxmem("links", "--order", "weakest", "--top", 1, "--json").json["links"][0]["id"] == noise
    explained = fluxmem("explain", noise, "--json").json
    assert explained["id"] == noise
    [reason] = [link for link in explained["links"] if link["type"] == "SUPPORTS"]
    [vote] = reason["feedback"]
    assert (vote["kind"], vote["gain"], vote["loss"], vote["actor"]) == ("feedback", 0.0, 1.0, "cli")
    operation = fluxmem("log", noise, "--json").json["operations"][0]
    assert vote["operation"] == operation["id"]
    printed = fluxmem("explain", noise).out
    assert all(text in printed for text in ("SUPPORTS", run.episode, f"feedback {vote['seq']} +0 -1"))
    fluxmem("undo", operation["id"])
    assert fluxmem("links", "--json").json == {"links": []}


def test_a_failure_tells_what_it_is_put_down_to(fluxmem: Fluxmem, run: Run) -> None:
    printed = fluxmem("feedback", run.episode, "--success", 0, "--missing", SEPARATOR).out
    assert "missing link" in printed
    assert run.needed in printed
    operation = fluxmem("log", run.needed, "--json").json["operations"][0]
    assert (operation["kind"], operation["reason"]) == ("expand", SEPARATOR)


def test_a_long_list_of_changes_is_cut_and_json_has_all(fluxmem: Fluxmem) -> None:
    for number in range(15):
        fluxmem("add", f"The semicolon stands in file {number}.")
    fluxmem("add", "Tea is hot.")
    episode = fluxmem("episode", "start", "Count the medals.").out.strip()
    fluxmem("episode", "step", episode, "How?")
    printed = fluxmem("feedback", episode, "--success", 0, "--text", "the semicolon").out
    assert "more; --json lists all" in printed


def test_refine_gives_the_feedback_and_prints_a_context_that_holds_what_was_missing(
    fluxmem: Fluxmem, run: Run
) -> None:
    refined = fluxmem("refine", run.episode, "--text", "the separator is a semicolon", "--top-k", 3)
    assert refined.code == 0
    assert run.needed in refined.out
    assert "missing link" in refined.err
    assert "missing link" not in refined.out
    again = fluxmem("refine", run.episode, "--text", "not yet", "--json").json
    assert "missing link" in again["refinement"]["blame"]
    steps = fluxmem("episode", "show", run.episode, "--json").json["steps"]
    assert [step["observation"] for step in steps] == ["How are medals counted?"] * 3
    assert [step["feedback"] for step in steps] == ["the separator is a semicolon", "not yet", None]


def test_refine_after_a_success_has_no_next_round(fluxmem: Fluxmem, run: Run) -> None:
    refined = fluxmem("refine", run.episode, "--success", 1, "--json").json
    assert (refined["refinement"]["success"], refined["step"], refined["context"]) == (1.0, None, None)
    assert len(fluxmem("episode", "show", run.episode, "--json").json["steps"]) == 1
    assert fluxmem("episode", "end", run.episode).code == 0


def test_an_answer_is_checked_in_place_of_a_success(fluxmem: Fluxmem, run: Run) -> None:
    given = fluxmem("feedback", run.episode, "--answer", "counted in table 1", "--json").json
    assert given["refinement"]["success"] == 1.0
    assert "verified by rules" in given["refinement"]["by"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["feedback", "some-id"],
        ["feedback", "some-id", "--success", "2"],
        ["feedback", "some-id", "--success", "good"],
        ["refine", "some-id", "--success", "-1"],
        ["links", "--order", "loudest"],
        ["links", "--top", "0"],
        ["explain"],
        ["episode"],
        ["episode", "step", "some-id"],
        ["episode", "end", "some-id", "--success", "7"],
        ["episode", "start", "x", "--meta", "=3"],
    ],
)
def test_wrong_usage_is_told_before_a_server_starts(offline: Fluxmem, arguments: list[str]) -> None:
    done = offline(*arguments)
    assert done.code == 2
    assert done.error


@pytest.mark.parametrize(
    "arguments",
    [
        ["feedback", "no-such-id", "--success", "1"],
        ["refine", "no-such-id"],
        ["explain", "no-such-id"],
        ["episode", "step", "no-such-id", "seen"],
        ["episode", "end", "no-such-id"],
        ["episode", "show", "no-such-id"],
    ],
)
def test_an_unknown_id_is_a_failure_that_names_it(fluxmem: Fluxmem, arguments: list[str]) -> None:
    done = fluxmem(*arguments)
    assert done.code == 1
    assert "no-such-id" in done.error


def test_feedback_twice_or_for_a_finished_episode_changes_nothing(fluxmem: Fluxmem, run: Run) -> None:
    fluxmem("feedback", run.episode, "--success", 1, "--used", run.shown[0])
    links = fluxmem("links", "--json").json
    for command in (["feedback", "--success", "0"], ["refine"]):
        name, *rest = command
        twice = fluxmem(name, run.episode, *rest)
        assert (twice.code, "has its feedback" in twice.error) == (1, True)
    fluxmem("episode", "end", run.episode)
    assert fluxmem("refine", run.episode).code == 1
    assert fluxmem("links", "--json").json == links


def test_another_namespace_sees_no_episode_and_no_link(fluxmem: Fluxmem, run: Run) -> None:
    fluxmem("feedback", run.episode, "--success", 1, "--used", run.shown[0])
    elsewhere = ("--namespace", "cli-empty")
    assert fluxmem("links", *elsewhere, "--json").json == {"links": []}
    for command in (["explain", run.shown[0]], ["episode", "show", run.episode], ["refine", run.episode]):
        assert fluxmem(*command, *elsewhere).code == 1
