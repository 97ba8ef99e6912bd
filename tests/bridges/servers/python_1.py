"""The test server on the Python SDK 1.x, which speaks the handshake revisions only.

    python python_1.py            on its pipes
    python python_1.py --http     Streamable HTTP; prints {"url": …} once it listens
"""

import asyncio
import contextlib
import sys
import warnings

import anyio
from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import McpError
from mcp.shared.message import ServerMessageMetadata
from pydantic import AnyUrl, RootModel

from listener import serve
from offer import OFFER, Exchange, Offer, Refusal

warnings.simplefilter("ignore")
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]
RESULTS = {
    "elicitation/create": types.ElicitResult,
    "sampling/createMessage": types.CreateMessageResult,
    "roots/list": types.ListRootsResult,
}
Raw = RootModel[dict]

offer = Offer()
levels = {}


class SessionExchange(Exchange):
    def __init__(self, context):
        self.context, self.session = context, context.session

    async def ask(self, names):
        return dict(zip(names, await asyncio.gather(*map(self.ask_one, names))))

    async def ask_one(self, name):
        question = OFFER["questions"][name]
        answer = await self.session.send_request(
            types.ServerRequest.model_validate(question),
            RESULTS[question["method"]],
            metadata=ServerMessageMetadata(related_request_id=self.context.request_id),
        )
        return answer.model_dump(mode="json", by_alias=True, exclude_none=True)

    def capabilities(self):
        return self.session.client_params.capabilities.model_dump(mode="json", exclude_none=True)

    def meta(self):
        return self.context.meta.model_dump(mode="json") if self.context.meta else {}

    async def log(self, level, data):
        if LEVELS.index(level) >= LEVELS.index(levels.get(self.session, "debug")):
            await self.session.send_log_message(level, data, "bridge", self.context.request_id)

    async def progress(self, done, total, message):
        token = self.context.meta.progressToken if self.context.meta else None
        if token is not None:
            await self.session.send_progress_notification(
                token, done, total, message, str(self.context.request_id)
            )

    async def changed(self, kind):
        send = {
            "tools": self.session.send_tool_list_changed,
            "prompts": self.session.send_prompt_list_changed,
            "resources": self.session.send_resource_list_changed,
        }
        await send[kind]()

    async def updated(self, uri):
        await self.session.send_resource_updated(AnyUrl(uri))


class AnnouncingServer(Server):
    """A server that says what it can announce; the SDK has no way to say that resources can be subscribed to."""

    def create_initialization_options(self):
        return super().create_initialization_options(
            NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        )

    def get_capabilities(self, *arguments):
        capabilities = super().get_capabilities(*arguments)
        capabilities.resources.subscribe = True
        return capabilities


def build():
    server = AnnouncingServer("bridge-python-1", "1.0.0", OFFER["instructions"])
    support = server.experimental.enable_tasks()

    async def handle(request):
        params = request.params.model_dump(mode="json", by_alias=True, exclude_none=True) if request.params else {}
        context = server.request_context
        if request.method == "tools/call" and context.experimental.is_task:
            return await context.experimental.run_task(lambda task: run(task, params, context))
        try:
            return Raw(await offer.answer(request.method, params, SessionExchange(context)))
        except Refusal as refusal:
            raise McpError(types.ErrorData(code=refusal.code, message=refusal.message, data=refusal.data))

    async def run(task, params, context):
        result = await offer.answer("tools/call", params, SessionExchange(context))
        return types.CallToolResult.model_validate(result)

    async def set_level(request):
        levels[server.request_context.session] = request.params.level
        return Raw({})

    async def nothing(_request):
        return Raw({})

    for kind in (
        types.ListToolsRequest,
        types.CallToolRequest,
        types.ListPromptsRequest,
        types.GetPromptRequest,
        types.ListResourcesRequest,
        types.ListResourceTemplatesRequest,
        types.ReadResourceRequest,
        types.CompleteRequest,
    ):
        server.request_handlers[kind] = handle
    server.request_handlers[types.SetLevelRequest] = set_level
    server.request_handlers[types.SubscribeRequest] = nothing
    server.request_handlers[types.UnsubscribeRequest] = nothing
    return server, support




async def main():
    server, support = build()
    if "--http" not in sys.argv:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
        return
    manager = StreamableHTTPSessionManager(app=server)
    async with support.run(), manager.run():
        # The SDK ends the tasks of all sessions when one of them ends, if each may run them.
        support.run = contextlib.nullcontext
        await serve(manager.handle_request)


anyio.run(main)
