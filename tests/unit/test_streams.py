"""When a message of a stream opens an episode: the decision alone, and how it is measured."""

import itertools
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from benchmarks.sweeps.streams import Session, cut, join, score, shuffled
from fluxmem_graph.settings import StreamSettings, load_settings
from fluxmem_graph.stages.streams import Position, find_boundary
from fluxmem_graph.types import Boundary

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULES = StreamSettings(idle_minutes=30, similarity=0.4, window=3, shortest=4)


def position(
    steps: int = 10, *cosines: float, episode: str | None = "e", at: datetime | None = NOON
) -> Position:
    return Position(episode, steps, at, cosines)


def decide(where: Position, after_minutes: float = 1, mark: bool = False) -> Boundary:
    return find_boundary(where, NOON + timedelta(minutes=after_minutes), mark, RULES)


def test_without_an_open_episode_any_message_is_the_first() -> None:
    assert decide(position(0, episode=None, at=None)) == "first"
    assert decide(position(0, episode=None), after_minutes=500, mark=True) == "first"


def test_a_near_message_at_once_belongs_to_the_open_episode() -> None:
    assert decide(position(10, 0.9, 0.8, 0.7)) == ""


def test_a_mark_opens_an_episode_whatever_else_holds() -> None:
    assert decide(position(1, 0.9), mark=True) == "mark"
    assert decide(position(1, 0.9), after_minutes=500, mark=True) == "mark"


@pytest.mark.parametrize(("minutes", "why"), [(29.9, ""), (30, "idle"), (-29.9, ""), (-30, "idle")])
def test_a_pause_or_a_jump_back_in_time_opens_an_episode(minutes: float, why: Boundary) -> None:
    assert decide(position(10, 0.9), after_minutes=minutes) == why


def test_an_endless_pause_is_allowed() -> None:
    rules = RULES.model_copy(update={"idle_minutes": float("inf")})
    assert find_boundary(position(10, 0.9), NOON + timedelta(days=9999), False, rules) == ""


def test_a_topic_is_new_when_no_recent_message_is_near() -> None:
    assert decide(position(10, 0.3, 0.39, -0.2)) == "topic shift"
    assert decide(position(10, 0.3, 0.4, -0.2)) == ""


def test_a_short_episode_has_no_topic_to_leave() -> None:
    assert decide(position(3, 0.0)) == ""
    assert decide(position(4, 0.0)) == "topic shift"


def test_an_episode_whose_facts_are_gone_has_no_topic_to_leave() -> None:
    assert decide(position(10)) == ""


def test_a_similarity_of_minus_one_never_shifts() -> None:
    rules = RULES.model_copy(update={"similarity": -1})
    assert find_boundary(position(10, -1.0), NOON, False, rules) == ""


def test_the_rules_are_set_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUXMEM_STREAM__IDLE_MINUTES", "7.5")
    assert load_settings().stream == StreamSettings(idle_minutes=7.5)


def session(conversation: str, topic: int, length: int = 4) -> Session:
    return Session(conversation, np.eye(9, dtype=np.float32)[[topic] * length], [NOON] * length)


def test_the_sweep_counts_boundaries_at_the_very_message() -> None:
    stream = join([session("a", 0), session("b", 1), session("a", 1), session("b", 2)])
    assert stream.starts == {4, 8, 12}
    assert list(cut(stream, "nearest", RULES, timed=False)) == [4, 12]
    found = score([stream], lambda stream: iter([4, 5, 12, 13]))
    assert found == {"precision": 0.5, "recall": 0.667, "f1": 0.571}


def test_the_sweep_shuffles_sessions_so_that_conversations_alternate() -> None:
    sessions = [session(name, topic) for name in "ab" for topic in range(4)]
    mixed = shuffled(sessions, 0)
    assert sorted(id(one) for one in mixed) == sorted(map(id, sessions))
    assert all(one.conversation != other.conversation for one, other in itertools.pairwise(mixed))
