"""Runs a list of steps with the official Python client, whichever major version is installed.

Reads one JSON object from stdin, {"target": …, "steps": […]}, and prints one, {"answers": […]}.
A target is {"command", "args", "env"} or {"url", "transport", "headers"}, with the "mode" of the current client if it is not "legacy". A step is {"do": …, …}; its
answer is {"result": …} or {"error": …}, with "progress" beside it when the step asked for it.
"""

import asyncio
import contextlib
import json
import sys

import mcp
from mcp import StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

IS_CURRENT = hasattr(mcp, "Client")


# What the server says by itself, in the order it came.
messages = asyncio.Queue()


async def hear(message):
    await messages.put(message)


@contextlib.asynccontextmanager
async def connect(target):
    """A session with the target, after the handshake."""
    if IS_CURRENT:
        mode = target.get("mode", "legacy")
        async with mcp.Client(transport(target), mode=mode, message_handler=hear) as client:
            yield client
        return
    async with transport(target) as streams:
        async with mcp.ClientSession(streams[0], streams[1], message_handler=hear) as session:
            await session.initialize()
            yield session


def transport(target):
    if "url" not in target:
        command, args, env = target["command"], target["args"], target["env"]
        return stdio_client(StdioServerParameters(command=command, args=args, env=env))
    if target.get("transport") == "sse":
        return sse_client(target["url"])
    if target.get("headers"):
        client = create_mcp_http_client(headers=target["headers"])
        return streamable_http_client(target["url"], http_client=client)
    return streamable_http_client(target["url"])


def as_uri(text):
    if IS_CURRENT:
        return text
    from pydantic import AnyUrl

    return AnyUrl(text)


def as_reference(reference):
    from mcp.types import PromptReference, ResourceTemplateReference

    kinds = {"ref/prompt": PromptReference, "ref/resource": ResourceTemplateReference}
    return kinds[reference["type"]](**reference)


async def all_pages(list_page, field):
    """Every page of a listing as one, in the client's own serialisation."""
    items, cursor = [], None
    while True:
        page = dump(await list_page(cursor=cursor))
        items += page.get(field, [])
        cursor = page.get("nextCursor")
        if cursor is None:
            return {field: items}


async def perform(client, step, progress):
    async def on_progress(done, total, message):
        progress.append([done, total])

    kind = step["do"]
    if kind == "tools":
        return await all_pages(client.list_tools, "tools")
    if kind == "resources":
        return await all_pages(client.list_resources, "resources")
    if kind == "templates":
        return await all_pages(client.list_resource_templates, "resourceTemplates")
    if kind == "prompts":
        return await all_pages(client.list_prompts, "prompts")
    if kind == "call":
        callback = on_progress if step.get("progress") else None
        result = client.call_tool(step["name"], step["arguments"], progress_callback=callback)
        return dump(await result)
    if kind == "read":
        return dump(await client.read_resource(as_uri(step["uri"])))
    if kind == "prompt":
        return dump(await client.get_prompt(step["name"], step["arguments"]))
    if kind == "complete":
        return dump(await client.complete(as_reference(step["ref"]), step["argument"]))
    if kind == "watch":
        return await watch(client, step["uri"], step["then"])
    raise ValueError(f"no such step: {kind}")


async def watch(client, uri, step):
    """Watches a resource, makes a step that changes it, and waits for the notification."""
    if IS_CURRENT and client.protocol_version >= "2026-07-28":
        async with client.listen(resource_subscriptions=[uri]) as events:
            await perform(client, step, [])
            async for event in events:
                return {"uri": event.uri}
    await client.subscribe_resource(as_uri(uri))
    await perform(client, step, [])
    while True:
        message = await messages.get()
        message = getattr(message, "root", message)
        if getattr(message, "method", None) == "notifications/resources/updated":
            return {"uri": str(message.params.uri)}


def dump(model):
    # Only what was sent: the current client fills in members of a later revision by itself.
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def main():
    order = json.load(sys.stdin)
    answers = []
    async with connect(order["target"]) as client:
        for step in order["steps"]:
            progress = []
            try:
                answer = {"result": await asyncio.wait_for(perform(client, step, progress), 60)}
            except Exception as error:  # noqa: BLE001 - the caller judges every failure
                answer = {"error": f"{type(error).__name__}: {error}"}
            if step.get("progress"):
                answer["progress"] = progress
            answers.append(answer)
    json.dump({"answers": answers}, sys.stdout)


asyncio.run(main())
