"""Pydantic AI with Capdeck as its server."""

import asyncio

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from entry import ENTRY, IS_HTTP, MODEL, PROMPT, program


def server():
    return {"url": ENTRY["url"], "transport": "http"} if IS_HTTP else program()


async def main():
    model = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=f"{MODEL}/v1", api_key="scripted"))
    agent = Agent(model, toolsets=[MCPToolset({"mcpServers": {"capdeck": server()}})])
    async with agent:
        result = await agent.run(PROMPT, usage_limits=UsageLimits(request_limit=60))
    print(result.output)


asyncio.run(main())
