"""A client program of `clients/` and the connections it holds."""

import asyncio
import itertools
import json
import os

# How long an order may take. Starting an interpreter takes long on a machine that is busy with other tests.
RESPONSE_TIMEOUT = 60
# How long an event may take to arrive; shorter, so that what waits for the client's reaction still waits.
NOTICE = 15


class Failed(Exception):
    """An order that the client could not carry out."""

    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.error = error


class Client:
    """One running client program."""

    def __init__(self, kind, process):
        self.kind, self.process = kind, process
        self.ids = itertools.count(1)
        self.waiting, self.connections = {}, {}
        self.reader = asyncio.create_task(self.read())

    @classmethod
    async def start(cls, kind):
        process = await asyncio.create_subprocess_exec(
            *kind.command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL if "VERBOSE" not in os.environ else None,
            limit=2**24,
        )
        return cls(kind, process)

    async def read(self):
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if "event" in message:
                self.connections.setdefault(message["connection"], Events()).add(message)
            elif (future := self.waiting.pop(message["id"], None)) and not future.done():
                future.set_result(message)
        for future in self.waiting.values():
            future.set_result({"error": {"message": "the client program ended"}})

    def send(self, do, **order):
        """Starts an order; gives its id and what it will come to."""
        number = next(self.ids)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        line = json.dumps({"id": number, "do": do, **order}) + "\n"
        self.process.stdin.write(line.encode())
        return number, self.waiting[number]

    async def order(self, do, **order):
        number, future = self.send(do, **order)
        return await settled(future, f"{do} {order.get('name') or order.get('method') or ''}")

    async def connect(self, target, is_bare=False):
        about = await self.order("connect", target=target, era=self.kind.era, isBare=is_bare)
        number = about.pop("connection")
        return Session(self, number, target, about, self.connections.setdefault(number, Events()))

    async def stop(self):
        self.process.stdin.close()
        try:
            await asyncio.wait_for(self.process.wait(), 20)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        await self.reader


async def settled(future, what):
    try:
        message = await asyncio.wait_for(asyncio.shield(future), RESPONSE_TIMEOUT)
    except TimeoutError:
        raise Failed({"message": f"no answer to `{what.strip()}` within {RESPONSE_TIMEOUT} s"}) from None
    if "error" in message:
        raise Failed(message["error"])
    return message["result"]


class Events:
    """What a server did by itself on one connection, in order."""

    def __init__(self):
        self.seen, self.news = [], asyncio.Event()

    def add(self, event):
        self.seen.append({key: value for key, value in event.items() if key != "connection"})
        self.news.set()

    async def wait(self, matches, start):
        """The first event since `start` that matches."""
        deadline = asyncio.get_running_loop().time() + NOTICE
        while True:
            for event in self.seen[start:]:
                if matches(event):
                    return event
            self.news.clear()
            left = deadline - asyncio.get_running_loop().time()
            try:
                await asyncio.wait_for(self.news.wait(), left)
            except TimeoutError:
                return None


class Session:
    """One connection of a client."""

    def __init__(self, client, number, target, about, events):
        self.client, self.number, self.target = client, number, target
        self.about, self.events = about, events

    async def bare(self):
        """Another connection to the same target, of a client that cannot be asked for anything."""
        return await self.client.connect(self.target, is_bare=True)

    async def order(self, do, **order):
        return await self.client.order(do, connection=self.number, **order)

    def start_call(self, name, arguments):
        """A call that can be cancelled: its id and what it will come to."""
        return self.client.send("call", connection=self.number, name=name, arguments=arguments)

    async def close(self):
        await self.order("close")
