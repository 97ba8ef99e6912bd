"""One way between a client and a server, and what crossed it."""

import asyncio
import contextlib
import json
import os
import re

from checks import Problem
from faces import Face
from features import ALONE, FEATURES, bridge, check_for
from program import Failed

CAPDECK = os.environ["CAPDECK"]
REVISIONS = {"legacy": "2025-11-25", "modern": "2026-07-28"}


class Cell:
    """The features that were checked between one client and one server."""

    def __init__(self, client, server, front, view=ALONE):
        self.client, self.server, self.front, self.view = client, server, front, view
        self.outcomes, self.problems = {}, {}

    @property
    def label(self):
        where = bridge(self.client, self.server.kind)
        server = f"{self.server.kind.sdk} {self.server.transport}"
        return f"{where} · {self.client.sdk} · {self.front} · {self.view} · {server}"

    def is_wanted(self, words):
        return all(word in self.label for word in words)

    def passed(self, feature):
        self.outcomes[feature] = "passed"

    def failed(self, feature, problem):
        self.outcomes[feature], self.problems[feature] = "failed", problem

    def record(self):
        return {
            "client": self.client.label,
            "server": self.server.kind.label,
            "transport": self.server.transport,
            "bridge": bridge(self.client, self.server.kind),
            "front": self.front,
            "view": self.view,
            "features": self.outcomes,
        }

    async def run(self, face):
        for feature in FEATURES:
            check = check_for(feature, self.client, self.server.kind, self.view)
            if check is None:
                continue
            try:
                await check(face)
                self.passed(feature.name)
            except (Problem, Failed, KeyError, TypeError, ValueError, IndexError) as error:
                kind = "" if isinstance(error, (Problem, Failed)) else f"{type(error).__name__}: "
                self.failed(feature.name, f"{kind}{error}")

    def lost(self, problem):
        """Nothing could be checked."""
        for feature in FEATURES:
            if check_for(feature, self.client, self.server.kind, self.view):
                self.outcomes[feature.name] = "failed"
        self.problems["connection"] = problem


class Deck:
    """Capdeck with all servers under one exposure."""

    def __init__(self, sandbox, exposure, servers):
        self.root = sandbox / exposure
        for folder in ("config", "state", "cache", "data", "home", "work"):
            (self.root / folder).mkdir(parents=True)
        entries = {
            server.id: {
                "name": server.id,
                "description": f"The {server.label} server of this test",
                # Starting an interpreter takes long on a machine that is busy with other tests.
                "startupTimeoutMs": 60_000,
                **server.entry,
            }
            for server in servers
        }
        # A budget large enough that no server is moved out of the view under test.
        options = {"exposure": exposure, "surfaceTokens": 1_000_000, "exposureDiscoveryTimeoutMs": 60_000}
        config = {"options": options, "mcpServers": entries}
        (self.root / "config" / "config.json").write_text(json.dumps(config, indent=2))
        self.base = None

    def env(self):
        folders = {name: str(self.root / name.lower()) for name in ("CONFIG", "STATE", "CACHE", "DATA")}
        env = {f"CAPDECK_{name}_DIR": folder for name, folder in folders.items()}
        return {"PATH": os.environ["PATH"], "HOME": str(self.root / "home"), "NO_COLOR": "1", **env}

    def target(self, front, only=None):
        if front == "up":
            return {"url": f"{self.base}/servers/{only}/mcp" if only else f"{self.base}/mcp"}
        args = ["serve", "--only", only] if only else ["serve"]
        return {"command": CAPDECK, "args": args, "env": self.env()}

    @contextlib.asynccontextmanager
    async def up(self):
        """`capdeck up` on a port of its own."""
        process = await asyncio.create_subprocess_exec(
            CAPDECK,
            "up",
            "--port",
            "0",
            "--json",
            env=self.env(),
            cwd=self.root / "work",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL if "VERBOSE" not in os.environ else None,
        )
        try:
            while not (found := re.search(rb"http://127\.0\.0\.1:\d+", await process.stdout.readline())):
                if process.stdout.at_eof():
                    raise RuntimeError("`capdeck up` ended before it printed its address")
            self.base = found[0].decode()
            yield
        finally:
            process.terminate()
            await process.wait()


async def run_alone(server, clients, deck, words):
    """Every client to one server: first itself where the eras match, then through each front."""
    cells = []
    for client in clients:
        fronts = ["up", "serve"]
        if client.kind.era == server.kind.era:
            fronts.insert(0, "itself")
        for front in fronts:
            cell = Cell(client.kind, server, front)
            if not cell.is_wanted(words):
                continue
            target = server.target() if front == "itself" else deck.target(front, server.id)
            async with connected(client, target, [cell]) as session:
                if session:
                    await cell.run(Face(session, server.id))
            cells.append(cell)
    return cells


async def run_views(view, client, deck, front, servers, words):
    """One client to all servers through one view of the deck."""
    cells = [Cell(client.kind, server, front, view.name) for server in servers]
    cells = [cell for cell in cells if cell.is_wanted(words)]
    if cells:
        async with connected(client, deck.target(front), cells) as session:
            for cell in cells if session else []:
                await cell.run(Face(session, cell.server.id, view))
    return cells


@contextlib.asynccontextmanager
async def connected(client, target, cells):
    """A session with the target, or None after telling the cells why there is none."""
    try:
        session = await client.connect(target)
        spoken = session.about.get("protocolVersion")
        if spoken != REVISIONS[client.kind.era]:
            raise Failed({"message": f"the connection speaks {spoken}"})
    except Failed as failed:
        for cell in cells:
            cell.lost(f"no connection: {failed}")
        yield None
        return
    yield session
    with contextlib.suppress(Failed):
        await session.close()
