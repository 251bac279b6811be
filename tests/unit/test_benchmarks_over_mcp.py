"""What the benchmark of MCP makes of its times."""

import anyio
import pytest

from benchmarks.over_mcp import WARM_UP, Recall, compared, recall_times


def door(name: str, asked: list[str], answer: str = "") -> Recall:
    async def recall(question: str) -> str:
        asked.append(name)
        return answer or question

    return recall


def test_every_door_is_the_first_to_ask_equally_often() -> None:
    asked: list[str] = []
    doors = {name: door(name, asked) for name in ("library", "stdio", "http")}
    times = anyio.run(recall_times, doors, [str(number) for number in range(WARM_UP + 10)])
    assert {name: len(values) for name, values in times.items()} == dict.fromkeys(doors, 10)
    firsts = asked[::3]
    assert [firsts.count(name) for name in doors] == [10, 10, 10]


def test_a_door_that_answers_differently_ends_the_run() -> None:
    doors = {"library": door("library", []), "http": door("http", [], "something else")}
    with pytest.raises(AssertionError, match="differently"):
        anyio.run(recall_times, doors, ["a question"])


def test_what_a_transport_adds_is_beside_the_library() -> None:
    found = compared({"library": 20.0, "stdio": 25.0, "http": 30.0})
    assert found["added milliseconds"] == {"stdio": 5.0, "http": 10.0}
    assert found["ratio to the library"] == {"stdio": 1.25, "http": 1.5}
