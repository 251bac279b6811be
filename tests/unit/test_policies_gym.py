"""The environment as Gymnasium wants it."""

from copy import deepcopy
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from gymnasium.spaces import Discrete
from gymnasium.utils.env_checker import check_env

from fluxmem_graph.policies.gym import CREATE, DELETE, NEXT, READ, UPDATE, StreamEnv
from tests.unit.streams import stream

DAY = datetime(2024, 12, 30, tzinfo=UTC)


def test_it_keeps_gymnasiums_contract() -> None:
    check_env(StreamEnv(stream(2)), skip_render_check=True)


def test_the_reward_comes_at_the_end_alone_and_is_the_recall_less_what_operations_cost() -> None:
    env = StreamEnv(stream(2), share=0.5, costs={CREATE: 0.01})
    env.reset(seed=0)
    rewards = []
    for place in range(8):
        if place % 4 == 2:
            rewards.append(env.step(np.int64(CREATE))[1])
        _, reward, ended, truncated, info = env.step(np.int64(NEXT))
        rewards.append(reward)
        assert (ended, truncated) == (place == 7, False)
    assert info["recall"] == 1
    assert rewards[-1] == pytest.approx(1 - 0.02)
    assert not any(rewards[:-1])


def test_actions_that_cannot_be_done_are_masked_and_change_nothing() -> None:
    env = StreamEnv(stream(2), share=0.25)
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 0, 1, 0, 0]
    observation, _, _, _, info = env.step(np.int64(CREATE))
    assert observation["held"][:, 0].tolist() == [1, 0]
    again, _, _, _, info = env.step(np.int64(CREATE))
    assert np.array_equal(again["held"], observation["held"])
    assert info["action_mask"][[CREATE, UPDATE, DELETE]].tolist() == [0, 0, 1]
    observation, *_ = env.step(np.int64(DELETE))
    assert not observation["held"].any()


def test_the_mask_has_exactly_what_the_store_accepts() -> None:
    # A merged chunk costs no date and speaker of its own: it may fit where a new entry does not.
    found = stream(2)
    dated = [replace(c, memory=replace(c.memory, speaker="Ada", occurred_at=DAY)) for c in found.chunks]
    env, random = StreamEnv(replace(found, chunks=tuple(dated)), share=0.4), np.random.default_rng(0)
    compared = 0
    for _ in range(20):
        _, info = env.reset(seed=0)
        ended = False
        while not ended:
            mask = info["action_mask"]
            assert mask.dtype == np.int8
            for action, kind in ((CREATE, "create"), (UPDATE, "update"), (DELETE, "delete")):
                tried = deepcopy(env)
                before = info.get("operations", {}).get(kind, 0)
                *_, told = tried.step(np.int64(action))
                assert told["operations"].get(kind, 0) - before == mask[action]
                compared += 1
            _, _, ended, _, info = env.step(random.choice(np.flatnonzero(mask)))
    assert compared > 300


def test_what_is_nearest_is_known_only_after_a_read() -> None:
    env = StreamEnv(stream(2), share=0.5)
    env.reset(seed=0)
    env.step(np.int64(CREATE))
    for _ in range(4):
        observation, *_ = env.step(np.int64(NEXT))
    assert not observation["near"].any()
    observation, *_ = env.step(np.int64(READ))
    assert observation["near"].tolist() == pytest.approx([1, 1, 1, 1])
    observation, *_ = env.step(np.int64(UPDATE))
    assert observation["held"][0, 2] == 2


def test_the_spaces_follow_the_capacity() -> None:
    env = StreamEnv(stream(4), share=0.5)
    assert env.action_space == Discrete(DELETE + 8)
    observation, _ = env.reset(seed=3)
    assert env.observation_space.contains(observation)
