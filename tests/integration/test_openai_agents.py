"""The OpenAI Agents SDK's session and tools over a memory."""

import asyncio
from typing import Any

from agents import Agent, RunConfig, Runner, Session, SQLiteSession

from examples.openai_agents_session import ScriptedModel
from fluxmem_graph import FluxMem
from fluxmem_graph.integrations.openai_agents import FluxMemSession, memory_tools

ITEMS: list[Any] = [
    {"role": "user", "content": "When do boats leave?"},
    {"type": "function_call", "call_id": "1", "name": "look", "arguments": '{"at": "pier 4"}'},
    {"type": "function_call_output", "call_id": "1", "output": "at nine"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "At nine.", "annotations": []}]},
]


def test_a_session_does_what_the_sdks_own_does(memory: FluxMem) -> None:
    async def work(session: Session) -> list[Any]:
        seen: list[Any] = [await session.get_items(), await session.pop_item()]
        await session.add_items(ITEMS[:3])
        await session.add_items(ITEMS[3:])
        await session.add_items([])
        seen += [
            await session.get_items(),
            await session.get_items(limit=2),
            await session.get_items(limit=9),
        ]
        seen += [await session.pop_item(), await session.get_items()]
        await session.clear_session()
        return [*seen, await session.get_items()]

    ours = FluxMemSession(memory, "trip")
    assert isinstance(ours, Session)
    assert asyncio.run(work(ours)) == asyncio.run(work(SQLiteSession("trip")))


def test_an_agent_remembers_recalls_and_goes_on_with_its_session(memory: FluxMem) -> None:
    model = ScriptedModel(
        ("remember", {"content": "Boats leave pier 4 at nine."}),
        "Noted.",
        ("recall", {"observation": "When do boats leave?"}),
        "At nine.",
    )
    agent = Agent("guide", model=model, tools=[*memory_tools(memory)])

    def ask(said: str) -> str:
        session = FluxMemSession(memory, "trip")
        quiet = RunConfig(tracing_disabled=True)
        return str(Runner.run_sync(agent, said, session=session, run_config=quiet).final_output)

    assert ask("Boats leave pier 4 at nine.") == "Noted."
    assert ask("When do boats leave?") == "At nine."
    before_last, last = model.inputs[-2:]
    assert "Noted." in str(before_last)
    recalled = last[-1]["output"]
    assert "<fact" in recalled and "pier 4" in recalled
    assert len(asyncio.run(FluxMemSession(memory, "trip").get_items())) == 8


def test_sessions_are_apart(memory: FluxMem) -> None:
    first, second = FluxMemSession(memory, "trip"), FluxMemSession(memory, "work")
    asyncio.run(first.add_items(ITEMS))
    assert asyncio.run(second.get_items()) == []
    asyncio.run(second.clear_session())
    assert asyncio.run(first.get_items()) == ITEMS
