"""A connection of the Python SDK 2.x in either era."""

import asyncio
import contextlib
import warnings
from typing import Any, Literal

import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.extension import ClientExtension, ResultClaim
from pydantic import RootModel

import answers

MODES = {"legacy": "legacy", "modern": "auto"}
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
EVENTS = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}


Raw = RootModel[dict]


class CreatedTask(types.Result):
    """What a server answers that will finish later."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class GetTask(types.Request[Any, Any]):
    method: str = "tasks/get"
    params: dict[str, Any]
    name_param = "taskId"


class TasksExtension(ClientExtension):
    """The tasks extension, in the way the SDK lets its users add it."""

    identifier = "io.modelcontextprotocol/tasks"

    def __init__(self):
        self.states = []

    def claims(self):
        return [ResultClaim(result_type="task", model=CreatedTask, resolve=self.resolve)]

    async def resolve(self, created, context):
        self.states = [created.status]
        while True:
            request = GetTask(params={"taskId": created.task_id})
            task = (await context.session.send_request(request, Raw)).root
            self.states.append(task["status"])
            if task["status"] != "working":
                return types.CallToolResult.model_validate(task["result"])


class Connection:
    """One client."""

    def __init__(self, client, era, emit, tasks):
        self.client, self.era, self.emit, self.tasks = client, era, emit, tasks
        self.meta, self.streams = None, []

    @staticmethod
    @contextlib.asynccontextmanager
    async def open(target, era, emit, is_bare):
        async def elicit(_context, params):
            emit("asked", method="elicitation/create", params=dump(params))
            return types.ElicitResult(**answers.elicit(dump(params)))

        async def sample(_context, params):
            emit("asked", method="sampling/createMessage", params=dump(params))
            return types.CreateMessageResult.model_validate(answers.SAMPLE)

        async def roots(_context):
            emit("asked", method="roots/list", params={})
            return types.ListRootsResult.model_validate(answers.ROOTS)

        async def log(params):
            emit("log", level=params.level, data=params.data, logger=params.logger)

        async def notice(message):
            method = getattr(message, "method", None)
            if method in EVENTS:
                emit("changed", kind=EVENTS[method])
            if method == "notifications/resources/updated":
                emit("updated", uri=str(message.params.uri))

        asked = {"elicitation_callback": elicit, "sampling_callback": sample, "list_roots_callback": roots}
        tasks = TasksExtension()
        client = Client(
            server(target),
            mode=MODES[era],
            logging_callback=log,
            message_handler=notice,
            extensions=[tasks],
            **({} if is_bare else asked),
        )
        async with client:
            yield Connection(client, era, emit, tasks)

    def about(self):
        info = self.client.server_info
        return {
            "protocolVersion": self.client.protocol_version,
            "capabilities": dump(self.client.server_capabilities),
            "serverInfo": dump(info) if info else None,
            "instructions": self.client.instructions,
        }

    async def call(self, name, arguments, cancellable):
        async def on_progress(done, total, message):
            self.emit("progress", step=[done, total, message])

        call = asyncio.ensure_future(
            self.client.call_tool(name, arguments, progress_callback=on_progress, meta=self.meta)
        )

        async def cancel():
            call.cancel()

        cancellable(cancel)
        try:
            return dump(await call)
        except asyncio.CancelledError:
            raise RuntimeError("cancelled") from None

    async def request(self, method, params):
        """A request past the SDK's own models, which remove what they do not know."""
        session, data, options = self.client.session, {"method": method, "params": dict(params)}, {}
        session._stamp(data, options)
        return await session._dispatcher.send_raw_request(method, data["params"], options)

    async def prompt(self, name, arguments):
        return dump(await self.client.get_prompt(name, arguments))

    async def read(self, uri):
        return dump(await self.client.read_resource(uri, cache_mode="bypass"))

    async def listen(self, uri):
        if self.era == "legacy":
            with warnings.catch_warnings(action="ignore"):
                await self.client.subscribe_resource(uri)
            return
        stream = self.client.listen(
            tools_list_changed=True,
            prompts_list_changed=True,
            resources_list_changed=True,
            resource_subscriptions=[uri],
        )
        self.streams.append(Listening(stream))
        await self.streams[-1].start()

    async def level(self, level):
        if self.era == "legacy":
            with warnings.catch_warnings(action="ignore"):
                await self.client.set_logging_level(level)
        else:
            self.meta = {LOG_LEVEL: level}

    async def task(self, name):
        result = await self.client.call_tool(name, {})
        return {"states": self.tasks.states, "result": dump(result)}


class Listening:
    """A stream of `subscriptions/listen`, held open in a task of its own until the process ends."""

    def __init__(self, stream):
        self.stream, self.open = stream, asyncio.get_running_loop().create_future()

    async def start(self):
        self.task = asyncio.create_task(self.hold())
        await self.open

    async def hold(self):
        try:
            async with self.stream as events:
                self.open.set_result(None)
                async for _event in events:
                    pass  # The client tells its message handler as well.
        except Exception as error:  # noqa: BLE001 - an order waits for it
            if not self.open.done():
                self.open.set_exception(error)


def server(target):
    return target["url"] if "url" in target else StdioServerParameters(**target)


def dump(model):
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)
