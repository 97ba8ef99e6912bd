"""A client of the bridge tests on the Python SDK, whichever major version is installed.

Reads one order per line from stdin and writes one answer per line, {"id", "result"} or {"id", "error"},
and in between what the server does by itself, {"connection", "event", …}. Orders run at the same time.
`README.md` lists the orders.
"""

import asyncio
import json
import sys
import warnings

import mcp

if hasattr(mcp, "Client"):
    from python_2 import Connection
else:
    from python_1 import Connection

warnings.simplefilter("ignore")


def write(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Driver:
    """The connections of this process and the calls that can still be cancelled."""

    def __init__(self):
        self.connections, self.closing, self.calls = {}, {}, {}

    async def perform(self, order):
        try:
            result = await getattr(self, "do_" + order["do"])(order)
            write({"id": order["id"], "result": result})
        except Exception as error:  # noqa: BLE001 - the caller judges every failure
            write({"id": order["id"], "error": describe(error)})

    async def do_connect(self, order):
        number, opened = order["id"], asyncio.get_running_loop().create_future()
        self.closing[number] = asyncio.Event()
        self.connections[number] = asyncio.create_task(self.hold(number, order, opened))
        return {"connection": number, **await opened}

    async def hold(self, number, order, opened):
        """Keeps one connection in one task, as the SDK wants it."""

        def emit(event, **details):
            write({"connection": number, "event": event, **details})

        try:
            async with Connection.open(order["target"], order["era"], emit, order.get("isBare", False)) as connection:
                self.connections[number] = (connection, asyncio.current_task())
                opened.set_result(connection.about())
                await self.closing[number].wait()
        except Exception as error:  # noqa: BLE001 - an order waits for it
            if not opened.done():
                opened.set_exception(error)

    async def do_close(self, order):
        _, task = self.connections.pop(order["connection"])
        self.closing.pop(order["connection"]).set()
        await task

    async def do_cancel(self, order):
        await self.calls[order["call"]]()

    async def do_call(self, order):
        connection = self.of(order)

        def cancellable(cancel):
            self.calls[order["id"]] = cancel

        return await connection.call(order["name"], order["arguments"], cancellable)

    async def do_request(self, order):
        return await self.of(order).request(order["method"], order["params"])

    async def do_prompt(self, order):
        return await self.of(order).prompt(order["name"], order["arguments"])

    async def do_read(self, order):
        return await self.of(order).read(order["uri"])

    async def do_listen(self, order):
        await self.of(order).listen(order["uri"])

    async def do_level(self, order):
        await self.of(order).level(order["level"])

    async def do_task(self, order):
        return await self.of(order).task(order["name"])

    def of(self, order):
        return self.connections[order["connection"]][0]


def describe(error):
    """The innermost reason: task groups wrap what went wrong."""
    while getattr(error, "exceptions", None):
        error = error.exceptions[0]
    fault = getattr(error, "error", None)
    if fault is not None:
        return {"code": fault.code, "message": fault.message, "data": fault.data}
    return {"message": f"{type(error).__name__}: {error}"}


async def main():
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    driver, running = Driver(), set()
    while line := await reader.readline():
        task = asyncio.create_task(driver.perform(json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)


asyncio.run(main())
