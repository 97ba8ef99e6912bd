"""The Agents SDK of OpenAI with Capdeck as its server, its tools made strict where they can be."""

import asyncio

from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
from openai import AsyncOpenAI

from entry import ENTRY, IS_HTTP, MODEL, PROMPT, SECONDS, program


def server():
    if IS_HTTP:
        return MCPServerStreamableHttp(params={"url": ENTRY["url"]}, client_session_timeout_seconds=SECONDS)
    return MCPServerStdio(params=program(), client_session_timeout_seconds=SECONDS)


async def main():
    set_tracing_disabled(True)
    model = OpenAIResponsesModel("scripted", AsyncOpenAI(base_url=f"{MODEL}/v1", api_key="scripted"))
    async with server() as capdeck:
        agent = Agent(
            name="keeper",
            model=model,
            mcp_servers=[capdeck],
            mcp_config={"convert_schemas_to_strict": True},
            model_settings=ModelSettings(store=False),
        )
        result = Runner.run_streamed(agent, PROMPT, max_turns=60)
        async for _ in result.stream_events():
            pass
        print(result.final_output)


asyncio.run(main())
