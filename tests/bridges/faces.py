"""How a feature of a server is asked for through each face of Capdeck, and how its answer is read."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

import views  # noqa: E402 - the suite of views has the words of each

FIELDS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


class Face:
    """One way to reach one server: alone, or within a view of the deck."""

    def __init__(self, session, id, view=None):
        self.session, self.id = session, id
        self.view = view

    @property
    def is_alone(self):
        return self.view is None

    def put(self, step):
        """A step in the words of the view."""
        return self.view.ask(self.id, step) if self.view else step

    def tool(self, name, arguments):
        step = self.put({"do": "call", "name": name, "arguments": arguments})
        return step["name"], step["arguments"]

    async def call(self, name, /, **arguments):
        """A tool call through the SDK."""
        name, arguments = self.tool(name, arguments)
        return await self.session.order("call", name=name, arguments=arguments)

    async def raw_call(self, name, /, *, meta=None, **arguments):
        """A tool call whose result is read as it came in."""
        name, arguments = self.tool(name, arguments)
        params = {"name": name, "arguments": arguments, **({"_meta": meta} if meta else {})}
        return await self.session.order("request", method="tools/call", params=params)

    async def read(self, uri):
        step = self.put({"do": "read", "uri": uri})
        answer = await self.perform(step)
        return self.view.answer(self.id, {"do": "read"}, answer) if self.view else answer

    async def prompt(self, name, /, **arguments):
        step = self.put({"do": "prompt", "name": name, "arguments": arguments})
        answer = await self.perform(step)
        return self.view.answer(self.id, {"do": "prompt"}, answer) if self.view else answer

    async def perform(self, step):
        step = dict(step)
        do = step.pop("do")
        step.pop("progress", None)
        return await self.session.order(do, **step)

    async def listing(self, method):
        """Every item of a list, page by page, and how many pages there were."""
        items, pages, cursor = [], 0, None
        while True:
            params = {} if cursor is None else {"cursor": cursor}
            page = await self.session.order("request", method=method, params=params)
            items, pages = items + page[FIELDS[method]], pages + 1
            cursor = page.get("nextCursor")
            if cursor is None:
                return items, pages


DIRECT, PROGRESSIVE, SEARCH = views.Direct(), views.Progressive(), views.Search()
VIEWS = [DIRECT, PROGRESSIVE, SEARCH]
