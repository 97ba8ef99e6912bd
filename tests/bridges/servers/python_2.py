"""The test server on the Python SDK 2.x, held to the revision without a handshake.

    python python_2.py            on its pipes
    python python_2.py --http     Streamable HTTP; prints {"url": …} once it listens
"""

import base64
import json
import sys
import warnings

import anyio
import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.shared.exceptions import MCPError

from listener import serve
from offer import OFFER, Exchange, Offer, Refusal
from tasks import EXTENSION, Tasks

warnings.simplefilter("ignore")
CHANGES = {"tools": ToolsListChanged, "prompts": PromptsListChanged, "resources": ResourcesListChanged}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
CACHED = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"]
PARAMS = {
    "tools/list": types.PaginatedRequestParams,
    "tools/call": types.CallToolRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "prompts/get": types.GetPromptRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
    "completion/complete": types.CompleteRequestParams,
}

offer = Offer()
tasks = Tasks()
bus = InMemorySubscriptionBus()


class InputRequired(Exception):
    def __init__(self, result):
        super().__init__("input required")
        self.result = result


class RequestExchange(Exchange):
    """Asks by answering: what was answered in earlier rounds travels in `requestState`."""

    def __init__(self, context, params):
        self.context, self.session = context, context.session
        state = params.get("requestState")
        self.answers = json.loads(base64.b64decode(state)) if state else {}
        self.answers |= params.get("inputResponses") or {}
        self.request_meta = params["_meta"]

    async def ask(self, names):
        open_questions = {name: question(name) for name in names if name not in self.answers}
        if open_questions:
            state = base64.b64encode(json.dumps(self.answers).encode()).decode()
            raise InputRequired(
                {"resultType": "input_required", "inputRequests": open_questions, "requestState": state}
            )
        return {name: self.answers[name] for name in names}

    def capabilities(self):
        return self.request_meta[CAPABILITIES]

    def meta(self):
        return self.request_meta

    async def log(self, level, data):
        await self.session.send_log_message(level, data, "bridge", self.context.request_id)

    async def progress(self, done, total, message):
        await self.session.report_progress(done, total, message)

    async def changed(self, kind):
        await bus.publish(CHANGES[kind]())

    async def updated(self, uri):
        await bus.publish(ResourceUpdated(uri=uri))


def question(name):
    """The question in the words of this revision, which has no ids for elicitations."""
    asked = OFFER["questions"][name]
    params = {key: value for key, value in asked.get("params", {}).items() if key != "elicitationId"}
    return {"method": asked["method"], "params": params}


async def handle(context, params):
    given = dict(context.params or {})
    if context.method == "tools/call" and given["name"] == "work" and has_tasks(given):
        return tasks.create(OFFER["results"]["work"])
    try:
        result = await offer.answer(context.method, given, RequestExchange(context, given))
        return {"resultType": "complete", **result}
    except InputRequired as needed:
        return needed.result
    except Refusal as refusal:
        raise MCPError(refusal.code, refusal.message, refusal.data)


async def unsieved(context, call_next):
    """Sends what the SDK would remove or refuse: members and content types that no revision knows."""
    result = await call_next(context)
    if context.method == "tools/list":
        raw = {tool["name"]: tool for tool in OFFER["tools"]}
        tools = [{**raw.get(tool["name"], {}), **tool} for tool in result["tools"]]
        return {**result, "tools": tools}
    return result


async def strange(context, call_next):
    if context.method == "tools/call" and context.params["name"] == "strange":
        raw = OFFER["results"]["strange"]
        meta = {**raw["_meta"], SERVER_INFO: server.server_info_stamp}
        return {**raw, "_meta": meta, "resultType": "complete"}
    return await call_next(context)


def has_tasks(params):
    return EXTENSION in (params["_meta"].get(CAPABILITIES, {}).get("extensions") or {})


def build():
    with warnings.catch_warnings():
        made = Server(
            "bridge-python-2",
            version="1.0.0",
            instructions=OFFER["instructions"],
            on_subscriptions_listen=ListenHandler(bus),
            on_set_logging_level=lambda *_: None,
            cache_hints={method: CacheHint(ttl_ms=0, scope="private") for method in CACHED},
        )
    for method, params in PARAMS.items():
        made.add_request_handler(method, params, handle)
    for method, handler in tasks.handlers().items():
        made.add_request_handler(method, types.RequestParams, handler)
    made.extensions[EXTENSION] = {}
    made.middleware += [unsieved, strange, modern_only]
    return made


async def modern_only(context, call_next):
    if context.method == "initialize":
        raise MCPError(-32022, "Unsupported protocol version", {"supported": ["2026-07-28"], "requested": ""})
    return await call_next(context)


server = build()


async def main():
    if "--http" not in sys.argv:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return
    manager = StreamableHTTPSessionManager(app=server)
    async with manager.run():
        await serve(manager.handle_request)


anyio.run(main)
