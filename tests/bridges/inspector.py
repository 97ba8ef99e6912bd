"""The official inspector's command line as one more client: a process for each question."""

import asyncio
import json
import os

from cells import REVISIONS, Cell
from checks import OFFER, Problem, plain, same
from parts import NODE, Kind

FEATURES = ("lists in pages", "structured output", "tool errors", "resources and templates", "prompts")


class Inspector:
    """The program, with a home of its own."""

    def __init__(self, deps, sandbox):
        package = deps / "node" / "node_modules" / "@modelcontextprotocol" / "inspector"
        self.program = package / "clients" / "launcher" / "build" / "index.js"
        self.home = sandbox / "inspector"
        self.home.mkdir()

    async def ask(self, url, era, method, *arguments):
        """The result of one request. A tool that answers with `isError` makes the exit code 5."""
        command = [self.program, "--cli", url, "--transport", "http", "--protocol-era", era, "--format", "json"]
        process = await asyncio.create_subprocess_exec(
            NODE,
            *map(str, command),
            "--method",
            method,
            *arguments,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "MCP_INSPECTOR_SECRET_STORE": "memory"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, error = await asyncio.wait_for(process.communicate(), 60)
        if process.returncode not in (0, 5) or not out.strip():
            raise Problem(f"exit {process.returncode}: {error.decode().strip()[-400:]}")
        return plain(json.loads(out)["result"])


async def run_inspector(inspector, server, deck, words):
    """Both eras of the inspector to one server through `capdeck up`."""
    cells = []
    for era in REVISIONS:
        cell = Cell(Kind("Inspector 2", era, ()), server, "up")
        if not cell.is_wanted(words):
            continue
        url = deck.target("up", server.id)["url"]
        for feature, check in zip(FEATURES, (lists, structured, tool_error, resources, prompts)):
            try:
                await check(lambda *question: inspector.ask(url, era, *question))
                cell.passed(feature)
            except (Problem, KeyError, ValueError, TimeoutError) as error:
                cell.failed(feature, str(error) or type(error).__name__)
        cells.append(cell)
    return cells


async def lists(ask):
    tools = (await ask("tools/list"))["tools"]
    names = [tool["name"] for tool in tools if tool["name"] != "extra"]
    same(names, [tool["name"] for tool in OFFER["tools"]], "tools/list")


async def structured(ask):
    result = await ask("tools/call", "--tool-name", "structured")
    same(result["structuredContent"], OFFER["results"]["structured"]["structuredContent"], "structuredContent")


async def tool_error(ask):
    result = await ask("tools/call", "--tool-name", "fail")
    same(result["content"], OFFER["results"]["fail"]["content"], "content")


async def resources(ask):
    result = await ask("resources/read", "--uri", "bridge://note")
    same(result["contents"], [OFFER["contents"]["bridge://note"]], "contents")


async def prompts(ask):
    result = await ask("prompts/get", "--prompt-name", "greet", "--prompt-args", "name=Grace")
    same(result["messages"][0]["content"]["text"], "Greet Grace.", "messages")
