"""What the Python test servers offer, apart from the protocol: raw results to raw requests.

A server gives `answer` the method, the parameters and its `Exchange`, the ways it has to reach the
client in the middle of a request. Nothing in here knows which revision is spoken.
"""

import asyncio
import json
from pathlib import Path

OFFER = json.loads((Path(__file__).parent.parent / "offer.json").read_text())
LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


class Refusal(Exception):
    """A protocol error to answer with."""

    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Exchange:
    """How a request in progress reaches its client."""

    async def ask(self, names):
        """The answers to questions of the offer, by name, asked at the same time."""
        raise NotImplementedError

    def capabilities(self):
        """What the client can be asked for, as it said."""
        raise NotImplementedError

    def meta(self):
        """The `_meta` of the request."""
        raise NotImplementedError

    async def log(self, level, data):
        raise NotImplementedError

    async def progress(self, done, total, message):
        raise NotImplementedError

    async def changed(self, kind):
        raise NotImplementedError

    async def updated(self, uri):
        raise NotImplementedError


class Offer:
    """The state of one server."""

    def __init__(self):
        self.revisions = {"tools": 0, "prompts": 0, "resources": 0}
        self.counter = 0
        self.started, self.cancelled, self.released = {}, {}, {}

    async def answer(self, method, params, exchange):
        if method in LISTS:
            return self.page(LISTS[method], params.get("cursor"))
        if method == "tools/call":
            return await self.call(params["name"], params.get("arguments") or {}, exchange)
        if method == "prompts/get":
            return await self.prompt(params["name"], params.get("arguments") or {}, exchange)
        if method == "resources/read":
            return {"contents": [await self.read(params["uri"], exchange)]}
        if method == "completion/complete":
            given = params["argument"]["value"]
            values = [name for name in OFFER["completions"] if name.startswith(given)]
            return {"completion": {"values": values, "total": len(values), "hasMore": False}}
        raise Refusal(-32601, f"Method not found: {method}")

    def page(self, kind, cursor):
        items = list(OFFER[kind])
        if revision := self.revisions.get(kind):
            items.append(extra(kind, revision))
        if not (cursor or "0").isdecimal():
            raise Refusal(-32602, f"Invalid cursor: {cursor}")
        start, size = int(cursor or 0), OFFER["pageSizes"][kind]
        page = {kind: items[start : start + size]}
        return page if start + size >= len(items) else {**page, "nextCursor": str(start + size)}

    async def call(self, name, arguments, exchange):
        if name in OFFER["asks"]:
            rounds = OFFER["asks"][name]
            if arguments.get("answer") == "decline":
                rounds = [["decline"]]
            answers = {}
            for names in rounds:
                answers |= await exchange.ask(names)
            return text(json.dumps(answers, sort_keys=True))
        if name in OFFER["results"]:
            return OFFER["results"][name]
        if name == "refuse":
            refusal = OFFER["refusal"]
            raise Refusal(refusal["code"], refusal["message"], refusal["data"])
        if name == "seen":
            return text(json.dumps(seen(exchange.capabilities(), exchange.meta()), sort_keys=True))
        if name == "log_levels":
            for level, data in OFFER["logs"]:
                await exchange.log(level, data)
            return await self.end(arguments["key"])
        if name == "progress":
            for step in OFFER["steps"]:
                await exchange.progress(*step)
            return await self.end(arguments["key"])
        if name == "release":
            mark(self.released, arguments["key"]).set()
            return text("released")
        if name == "slow":
            return await self.slow(arguments["key"])
        if name in ("await_started", "await_cancelled"):
            marks = self.started if name == "await_started" else self.cancelled
            await asyncio.wait_for(mark(marks, arguments["key"]).wait(), 20)
            return text(name)
        if name == "touch":
            self.counter += 1
            await exchange.updated("bridge://counter")
            return text(str(self.counter))
        if name.startswith("change_"):
            kind = name.removeprefix("change_")
            self.revisions[kind] += 1
            await exchange.changed(kind)
            return text(str(self.revisions[kind]))
        raise Refusal(-32602, f"Unknown tool: {name}")

    async def end(self, key):
        await asyncio.wait_for(mark(self.released, key).wait(), 20)
        return text("done")

    async def slow(self, key):
        mark(self.started, key).set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            mark(self.cancelled, key).set()
            raise

    async def prompt(self, name, arguments, exchange):
        if name == "greet":
            return {"messages": [message(f"Greet {arguments['name']}.")], "description": "A greeting"}
        if name == "asks":
            answers = await exchange.ask(["name"])
            return {"messages": [message(json.dumps(answers, sort_keys=True))]}
        if name in ("plain", "extra"):
            return {"messages": [message("Plain.")]}
        raise Refusal(-32602, f"Unknown prompt: {name}")

    async def read(self, uri, exchange):
        if uri in OFFER["contents"]:
            return OFFER["contents"][uri]
        contents = {"uri": uri, "mimeType": "text/plain"}
        if uri == "bridge://counter":
            return {**contents, "text": str(self.counter)}
        if uri == "bridge://asks":
            answers = await exchange.ask(["name"])
            return {**contents, "text": json.dumps(answers, sort_keys=True)}
        if uri.startswith("bridge://items/"):
            return {**contents, "text": f"item {uri.removeprefix('bridge://items/')}"}
        raise Refusal(-32602, f"Resource not found: {uri}", {"uri": uri})


def seen(capabilities, meta):
    """What a client says about itself, in the words of no revision."""
    kinds = [kind for kind in ("elicitation", "roots", "sampling") if capabilities.get(kind) is not None]
    own = {key: value for key, value in meta.items() if key.startswith("example.test/") or key == "traceparent"}
    return {"capabilities": kinds, "modes": sorted(capabilities.get("elicitation") or {}), "meta": own}


def mark(marks, key):
    return marks.setdefault(key, asyncio.Event())


def extra(kind, revision):
    """The item that a change adds to a list."""
    item = {"name": "extra", "description": f"revision {revision}"}
    if kind == "tools":
        item["inputSchema"] = {"type": "object"}
    if kind == "resources":
        item["uri"] = "bridge://extra"
    return item


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def message(words):
    return {"role": "user", "content": {"type": "text", "text": words}}
