"""The servers and the clients, each on a line of an SDK and in an era."""

import asyncio
import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEPS = Path(os.environ["CAPDECK_TEST_DEPS"])
PYTHON_1 = str(DEPS / "venv-legacy" / "bin" / "python")
PYTHON_2 = str(DEPS / "venv" / "bin" / "python")
NODE = os.environ["NODE"]


@dataclass(frozen=True)
class Kind:
    """A program on an SDK."""

    sdk: str
    era: str
    command: tuple

    @property
    def label(self):
        return f"{self.sdk} {self.era}"


def client(sdk, era, *command):
    return Kind(sdk, era, command)


CLIENTS = [
    client("Python 1", "legacy", PYTHON_1, str(HERE / "clients" / "python.py")),
    client("Python 2", "legacy", PYTHON_2, str(HERE / "clients" / "python.py")),
    client("Python 2", "modern", PYTHON_2, str(HERE / "clients" / "python.py")),
    client("TypeScript 1", "legacy", NODE, str(HERE / "clients" / "typescript.mjs"), "1"),
    client("TypeScript 2", "legacy", NODE, str(HERE / "clients" / "typescript.mjs"), "2"),
    client("TypeScript 2", "modern", NODE, str(HERE / "clients" / "typescript.mjs"), "2"),
]
SERVERS = [
    Kind("Python 1", "legacy", (PYTHON_1, str(HERE / "servers" / "python_1.py"))),
    Kind("Python 2", "modern", (PYTHON_2, str(HERE / "servers" / "python_2.py"))),
    Kind("TypeScript 1", "legacy", (NODE, str(HERE / "servers" / "typescript_1.mjs"))),
    Kind("TypeScript 2", "modern", (NODE, str(HERE / "servers" / "typescript_2.mjs"))),
]


@dataclass
class Downstream:
    """A server on a transport, as a deck entry and as a target for a client."""

    kind: Kind
    transport: str
    url: str | None = None

    @property
    def id(self):
        return f"{self.kind.sdk.lower().replace(' ', '-')}-{self.transport}"

    @property
    def label(self):
        return f"{self.kind.label} {self.transport}"

    @property
    def entry(self):
        if self.url:
            return {"transport": "http", "url": self.url}
        command, *args = self.kind.command
        return {"command": command, "args": args, "env": {"CAPDECK_TEST_DEPS": str(DEPS)}}

    def target(self):
        if self.url:
            return {"url": self.url}
        command, *args = self.kind.command
        env = {"PATH": os.environ["PATH"], "CAPDECK_TEST_DEPS": str(DEPS)}
        return {"command": command, "args": args, "env": env}


@contextlib.asynccontextmanager
async def listening(kind):
    """The server on a port; gives its URL."""
    process = await asyncio.create_subprocess_exec(
        *kind.command,
        "--http",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL if "VERBOSE" not in os.environ else None,
    )
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 60)
        yield json.loads(line)["url"]
    finally:
        process.terminate()
        await process.wait()
