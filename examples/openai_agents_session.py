"""An agent of the OpenAI Agents SDK with a session that stays and tools for the memory.

    pip install 'fluxmem-graph[openai-agents]'

The model is scripted, so that the example needs no key; leave `model` out to use a real one.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from fluxmem_graph import FluxMem
from fluxmem_graph.integrations.openai_agents import FluxMemSession, memory_tools


class ScriptedModel(Model):
    """Gives the answers of a list, one a turn: a text, or a tool's name with its arguments."""

    def __init__(self, *answers: str | tuple[str, dict[str, str]]) -> None:
        self.answers = list(answers)
        self.inputs: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: ARG002
        """Return the next answer and keep what was asked."""
        self.inputs.append(input)
        answer = self.answers.pop(0)
        output: ResponseOutputMessage | ResponseFunctionToolCall
        if isinstance(answer, str):
            text = ResponseOutputText(text=answer, type="output_text", annotations=[])
            output = ResponseOutputMessage(
                id="1", type="message", role="assistant", status="completed", content=[text]
            )
        else:
            name, arguments = answer
            output = ResponseFunctionToolCall(
                type="function_call", call_id=f"call-{name}", name=name, arguments=json.dumps(arguments)
            )
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """Not needed here."""
        raise NotImplementedError


def main() -> None:
    """Let an agent remember a fact and recall it, and print the session."""
    model = ScriptedModel(
        ("remember", {"content": "Boats leave pier 4 at nine."}),
        "I will keep that in mind.",
        ("recall", {"observation": "When do boats leave?"}),
        "At nine, from pier 4.",
    )
    with FluxMem.connect(namespace="openai-agents") as memory:
        agent = Agent("guide", instructions="Use your memory.", model=model, tools=[*memory_tools(memory)])
        session = FluxMemSession(memory, "trip")
        quiet = RunConfig(tracing_disabled=True)
        for said in ("Boats leave pier 4 at nine.", "When do boats leave?"):
            print(Runner.run_sync(agent, said, session=session, run_config=quiet).final_output)


if __name__ == "__main__":
    main()
