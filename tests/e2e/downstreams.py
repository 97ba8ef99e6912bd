"""The servers that stand behind Capdeck, and what is asked of each."""

import contextlib
import json
import os
import queue
import re
import socket
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Downstream:
    """One server on one transport, as a deck entry and as a target for a client."""

    id: str
    label: str
    entry: dict
    steps: list = field(repr=False)

    def target(self):
        """The server itself, without Capdeck."""
        if "url" in self.entry:
            return {"url": self.entry["url"], "transport": self.entry["transport"]}
        return {
            "command": self.entry["command"],
            "args": self.entry["args"],
            "env": {"PATH": os.environ["PATH"], **self.entry.get("env", {})},
        }


def call(name, arguments, **more):
    return {"do": "call", "name": name, "arguments": arguments, **more}


EVERYTHING = [
    {"do": "tools"},
    {"do": "resources"},
    {"do": "templates"},
    {"do": "prompts"},
    call("echo", {"message": "héllo, wörld"}),
    call("get-sum", {"a": 2.5, "b": -1}),
    call("get-tiny-image", {}),
    call("get-structured-content", {"location": "Chicago"}),
    call("get-annotated-message", {"messageType": "error", "includeImage": True}),
    call("get-resource-reference", {"resourceType": "Text", "resourceId": 2}),
    call("trigger-long-running-operation", {"duration": 0.3, "steps": 3}, progress=True),
    {"do": "read", "uri": "demo://resource/static/document/features.md"},
    {"do": "read", "uri": "demo://resource/dynamic/text/7"},
    {"do": "prompt", "name": "simple-prompt", "arguments": {}},
    {"do": "prompt", "name": "args-prompt", "arguments": {"city": "Oslo", "state": "none"}},
    {
        "do": "complete",
        "ref": {"type": "ref/prompt", "name": "completable-prompt"},
        "argument": {"name": "department", "value": "E"},
    },
    {
        "do": "complete",
        "ref": {"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"},
        "argument": {"name": "resourceId", "value": "1"},
    },
]


def downstreams(deps: Path, node: str, sandbox: Path, everything_http: str, everything_sse: str):
    """The table of servers. Files they need are made below `sandbox`."""
    modules = deps / "node" / "node_modules" / "@modelcontextprotocol"
    scripts = deps / "venv" / "bin"

    files = sandbox / "files"
    files.mkdir()
    (files / "note.txt").write_text("one\ntwo\n")
    memory = sandbox / "memory.jsonl"
    entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["wrote notes"]}
    memory.write_text(json.dumps(entity) + "\n")
    repository = make_repository(sandbox / "repository")

    def npm(name, *args, **env):
        script = modules / f"server-{name}" / "dist" / "index.js"
        return {"command": node, "args": [str(script), *args], "env": env}

    def pypi(name, *args):
        return {"command": str(scripts / f"mcp-server-{name}"), "args": list(args)}

    tools = {"do": "tools"}
    return [
        Downstream("everything", "everything over stdio", npm("everything", "stdio"), EVERYTHING),
        Downstream(
            "everything-http",
            "everything over HTTP",
            {"url": everything_http, "transport": "http"},
            EVERYTHING,
        ),
        Downstream(
            "everything-sse",
            "everything over SSE",
            {"url": everything_sse, "transport": "sse"},
            EVERYTHING,
        ),
        Downstream(
            "filesystem",
            "filesystem over stdio",
            npm("filesystem", str(files)),
            [
                tools,
                call("list_directory", {"path": str(files)}),
                call("read_text_file", {"path": str(files / "note.txt"), "head": 1}),
                call("read_text_file", {"path": "/nowhere"}),
            ],
        ),
        Downstream(
            "memory",
            "memory over stdio",
            npm("memory", MEMORY_FILE_PATH=str(memory)),
            [
                tools,
                call("open_nodes", {"names": ["Ada"]}),
                call("search_nodes", {"query": "notes"}),
                {"do": "resources"},
            ],
        ),
        Downstream(
            "time",
            "time over stdio",
            pypi("time", "--local-timezone", "UTC"),
            [
                tools,
                call(
                    "convert_time",
                    {"source_timezone": "UTC", "time": "12:30", "target_timezone": "Asia/Tokyo"},
                ),
                call("get_current_time", {"timezone": "Not/AZone"}),
            ],
        ),
        Downstream(
            "git",
            "git over stdio",
            pypi("git", "--repository", str(repository)),
            [
                tools,
                call("git_status", {"repo_path": str(repository)}),
                call("git_log", {"repo_path": str(repository), "max_count": 1}),
            ],
        ),
    ]


def make_repository(path: Path):
    """A repository with one commit that is the same every time."""
    path.mkdir()
    (path / "readme.txt").write_text("first\n")
    when = "2026-01-01T00:00:00Z"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(path),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.com",
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.com",
        "GIT_COMMITTER_DATE": when,
    }
    for arguments in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=path, env=env, check=True, stdin=subprocess.DEVNULL)
    return path


@contextlib.contextmanager
def everything_server(deps: Path, node: str, mode: str):
    """The everything server on HTTP or SSE; gives its URL once it listens."""
    script = deps / "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    port = free_port()
    process = subprocess.Popen(
        [node, str(script), mode],
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for_line(process.stderr, re.compile(r"(listening|running) on port", re.IGNORECASE))
        yield f"http://127.0.0.1:{port}/{'sse' if mode == 'sse' else 'mcp'}"
    finally:
        process.kill()
        process.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_line(stream, pattern, seconds=60):
    """The first match of `pattern` in the stream, which is read to its end in the background."""
    found = queue.Queue()

    def read():
        for line in stream:
            match = pattern.search(line)
            if match:
                found.put(match)
        found.put(None)

    threading.Thread(target=read, daemon=True).start()
    match = found.get(timeout=seconds)
    if match is None:
        raise RuntimeError(f"the server ended before it wrote {pattern.pattern!r}")
    return match
