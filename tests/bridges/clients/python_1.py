"""A connection of the Python SDK 1.x, which speaks the handshake revisions only."""

import asyncio
import contextlib

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl, RootModel

import answers

Raw = RootModel[dict]
EVENTS = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}


class Connection:
    """One session."""

    def __init__(self, session, greeting, emit):
        self.session, self.greeting, self.emit = session, greeting, emit

    @staticmethod
    @contextlib.asynccontextmanager
    async def open(target, _era, emit, is_bare):
        async def elicit(_context, params):
            emit("asked", method="elicitation/create", params=dump(params))
            return types.ElicitResult(**answers.elicit(dump(params)))

        async def sample(_context, params):
            emit("asked", method="sampling/createMessage", params=dump(params))
            return types.CreateMessageResult(**answers.SAMPLE)

        async def roots(_context):
            emit("asked", method="roots/list", params={})
            return types.ListRootsResult(**answers.ROOTS)

        async def log(params):
            emit("log", level=params.level, data=params.data, logger=params.logger)

        async def notice(message):
            root = getattr(message, "root", None)
            method = getattr(root, "method", None)
            if method in EVENTS:
                emit("changed", kind=EVENTS[method])
            if method == "notifications/resources/updated":
                emit("updated", uri=str(root.params.uri))

        async with transport(target) as streams:
            asked = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
            session = ClientSession(
                streams[0],
                streams[1],
                logging_callback=log,
                message_handler=notice,
                **({} if is_bare else asked),
            )
            async with session:
                yield Connection(session, await session.initialize(), emit)

    def about(self):
        return dump(self.greeting)

    async def call(self, name, arguments, cancellable):
        async def on_progress(done, total, message):
            self.emit("progress", step=[done, total, message])

        # The SDK cancels nothing by itself, and gives no other way to name a request to cancel.
        number = self.session._request_id
        call = asyncio.ensure_future(self.session.call_tool(name, arguments, progress_callback=on_progress))

        async def cancel():
            params = types.CancelledNotificationParams(requestId=number, reason="changed my mind")
            await self.session.send_notification(
                types.ClientNotification(types.CancelledNotification(params=params))
            )
            call.cancel()

        cancellable(cancel)
        try:
            return dump(await call)
        except asyncio.CancelledError:
            raise RuntimeError("cancelled") from None

    async def request(self, method, params):
        answer = await self.session.send_request(Raw({"method": method, "params": params}), Raw)
        return answer.root

    async def prompt(self, name, arguments):
        return dump(await self.session.get_prompt(name, arguments))

    async def read(self, uri):
        return dump(await self.session.read_resource(AnyUrl(uri)))

    async def listen(self, uri):
        await self.session.subscribe_resource(AnyUrl(uri))

    async def level(self, level):
        await self.session.set_logging_level(level)

    async def task(self, name):
        """The states a task went through, and its result."""
        tasks = self.session.experimental
        made = await tasks.call_tool_as_task(name, {})
        states = [made.task.status]
        async for status in tasks.poll_task(made.task.taskId):
            states.append(status.status)
        listed = [task.taskId for task in (await tasks.list_tasks()).tasks]
        result = await tasks.get_task_result(made.task.taskId, types.CallToolResult)
        return {"states": states, "listed": made.task.taskId in listed, "result": dump(result)}


def transport(target):
    if "url" in target:
        return streamable_http_client(target["url"])
    return stdio_client(StdioServerParameters(**target))


def dump(model):
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)
