"""LangChain with Capdeck as its server, through langchain-mcp-adapters."""

import asyncio
from datetime import timedelta

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI

from entry import ENTRY, IS_HTTP, MODEL, PROMPT, program


def server():
    if IS_HTTP:
        return {"transport": "streamable_http", "url": ENTRY["url"], "timeout": timedelta(seconds=120)}
    return {"transport": "stdio", **program()}


async def main():
    model = ChatOpenAI(model="scripted", base_url=f"{MODEL}/v1", api_key="scripted")
    async with MultiServerMCPClient({"capdeck": server()}).session("capdeck") as session:
        agent = create_agent(model, await load_mcp_tools(session))
        config = {"recursion_limit": 200}
        answer = await agent.ainvoke({"messages": [("user", PROMPT)]}, config)
    print(answer["messages"][-1].content)


asyncio.run(main())
