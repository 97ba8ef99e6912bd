"""The four ways of `options.toolExposure`, and a sub-agent, with a project's `capabilities.yaml`.

A real server behind Capdeck, clients in front of it that are not ours: each way of the capability file is walked through from the list of
tools to the result, over stdio and over HTTP, by clients of both eras of the protocol. Ends with `N passed, N failed, 0 skipped` and
exits with 1 when something failed.

    python tests/e2e/exposure.py [WORD…]     only walks whose label has every word

Needs CAPDECK (the binary), NODE and CAPDECK_TEST_DEPS, as ./test.sh sets them.
"""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from clients import PythonClient
from downstreams import call
from host import Host

MODERN = "2026-07-28"

FILE = """\
providers: [claude-code]
options:
  toolExposure: {exposure}
servers:
  - id: everything
    type: mcp
    def:
      cmd: {node}
      args: [{program}, stdio]
tools:
  - id: echo
    type: mcp
    def: {{ server: "@everything", tool: echo }}
  - id: add
    type: mcp
    def: {{ server: "@everything", tool: get-sum }}
  - id: env
    type: mcp
    def: {{ server: everything, tool: get-env }}
  - id: greet
    type: command
    group: local
    description: Greets a person
    def:
      run:
        cmd: printf hello-{{who}}
        args: [{{ name: who, type: string }}]
skills:
  - id: arithmetic
    type: inline
    def:
      content: |
        ---
        name: arithmetic
        description: Adds numbers
        ---
        Add with the tool.
      requires: ["@everything.add", "everything.echo", "@local.greet"]
subagents:
  - id: adder
    description: Adds and nothing else
    skills: [arithmetic]
    tools: ["@everything.add"]
    instructions: Add.
"""


class Project(Host):
    """A folder with a capability file, trusted, and folders of its own for the rest."""

    def __init__(self, capdeck, root, exposure, node, program):
        super().__init__(capdeck, root, "project")
        text = FILE.format(exposure=exposure, node=json.dumps(node), program=json.dumps(str(program)))
        (self.work / "capabilities.yaml").write_text(text)
        # Starting an interpreter takes long on a machine that is busy with other tests.
        options = {"exposureDiscoveryTimeoutMs": 60_000}
        (root / "config" / "config.json").write_text(json.dumps({"options": options}))
        self.command("trust")

    def command(self, *words):
        finished = subprocess.run(
            [self.capdeck, *words],
            env=self.env(),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert finished.returncode == 0, f"capdeck {words}: {finished.stderr or finished.stdout}"
        return finished.stdout

    def stdio(self, view):
        more = ["--view", view] if view else []
        args = ["--project", str(self.work), "serve", *more]
        return {"command": self.capdeck, "args": args, "env": self.env()}

    @contextlib.contextmanager
    def up(self):
        """`capdeck up` on a port of its own; gives a function from a view to a target."""
        with self.serving() as base:
            yield lambda view=None: {"url": f"{base}/views/{view}/mcp" if view else f"{base}/mcp"}


class Walk:
    """One client's way through one exposure; `take` makes steps in one connection."""

    def __init__(self, client, target, mode):
        self.client, self.mode = client, mode
        self.target = {**target, **({"mode": mode} if mode else {})}
        self.is_modern = mode == MODERN

    def take(self, *steps):
        answers = self.client.run(self.target, list(steps))
        for step, answer in zip(steps, answers):
            assert "result" in answer, f"{step}: {answer}"
        return [answer["result"] for answer in answers]


def names(listed):
    return [tool["name"] for tool in listed["tools"]]


def text(result):
    return result["content"][0]["text"]


def expose_all(walk, _project):
    listed, sum_, greeting = walk.take(
        {"do": "tools"},
        call("everything__add", {"a": 2, "b": 3}),
        call("local__greet", {"who": "you"}),
    )
    assert sorted(names(listed)) == ["everything__add", "everything__echo", "local__greet"], names(listed)
    add = next(tool for tool in listed["tools"] if tool["name"] == "everything__add")
    assert set(add["inputSchema"]["properties"]) == {"a", "b"}, add
    assert "5" in text(sum_), sum_
    assert "hello-you" in json.dumps(greeting), greeting


def on_demand(walk, _project):
    ask = lambda name, data: call("call_tool", {"name": name, "data": data})
    listed, early, set_up, wrong, right, spoken, unknown, direct = walk.take(
        {"do": "tools"},
        ask("everything.add", {"a": 2, "b": 3}),
        call("setup_tools", {"skills": ["arithmetic"]}),
        ask("everything.add", {"a": "two"}),
        ask("everything.add", {"a": 2, "b": 3}),
        ask("everything_add", '{"a": 20, "b": 3}'),
        call("setup_tools", {"skills": ["arithmetik"]}),
        call("everything__add", {"a": 1, "b": 1}),
    )
    assert names(listed) == ["setup_tools", "call_tool"], names(listed)
    if walk.is_modern:
        assert "5" in text(early), early
    else:
        assert early["isError"] and "is not activated" in text(early), early
    answer = json.loads(text(set_up))
    assert list(answer) == ["success", "message", "skills", "activeSkills", "tools", "hint"], answer
    assert answer["activeSkills"] == ["arithmetic"], answer
    expected = ["everything.add(a: number, b: number)", "everything.echo(message)", "local.greet(who)"]
    assert sorted(answer["tools"]) == expected, answer
    assert set_up["structuredContent"] == answer, set_up
    # The step in which an agent corrects itself.
    correction = json.loads(text(wrong))
    assert wrong["isError"] and list(correction) == ["error", "tool", "schema", "hint"], wrong
    assert correction["schema"]["required"] == ["a", "b"], correction
    assert not right.get("isError") and "5" in text(right), right
    assert "23" in text(spoken), spoken
    assert unknown["isError"] and "`arithmetic`" in text(unknown), unknown
    assert direct["isError"] and "call_tool" in text(direct), direct


def search(walk, _project):
    listed, found, sum_ = walk.take(
        {"do": "tools"},
        call("search", {"query": "add two numbers"}),
        call("call_tool", {"name": "everything__add", "data": {"a": 2, "b": 3}}),
    )
    assert names(listed) == ["search", "describe", "call_tool", "call_read_only"], names(listed)
    assert "everything__add(a: number, b: number)" in text(found), found
    assert "5" in text(sum_), sum_


def none(walk, project):
    listed, refused, anything = walk.take(
        {"do": "tools"}, call("everything__add", {"a": 2, "b": 3}), call("call_tool", {"name": "x"})
    )
    assert names(listed) == [], names(listed)
    assert refused["isError"] and anything["isError"] and "capdeck sh" in text(anything), anything
    command = re.search(r"capdeck (sh [^\n]*)", text(refused)).group(1)
    assert command == "sh everything add", command
    printed = project.command(*shlex.split(command), "--a", "2", "--b", "3")
    assert "5" in printed, printed


def sub_agent(walk, _project):
    listed, set_up, sum_, echo, greeting = walk.take(
        {"do": "tools"},
        call("setup_tools", {"skills": ["arithmetic"]}),
        call("call_tool", {"name": "everything.add", "data": {"a": 2, "b": 3}}),
        call("call_tool", {"name": "everything.echo", "data": {"message": "out"}}),
        call("call_tool", {"name": "greet", "data": {"who": "out"}}),
    )
    assert names(listed) == ["setup_tools", "call_tool"], names(listed)
    assert set_up["structuredContent"]["tools"] == ["everything.add(a: number, b: number)"], set_up
    assert "5" in text(sum_), sum_
    for outside in (echo, greeting):
        assert outside["isError"] and "TOOL_NOT_FOUND" in text(outside), outside


# What the file says, the walk, and the view it is walked in.
WALKS = [
    ("expose-all", expose_all, None),
    ("on-demand", on_demand, None),
    ("search", search, None),
    ("none", none, None),
    ("on-demand", sub_agent, "adder"),
]


def main():
    words = sys.argv[1:]
    deps, node, capdeck = Path(os.environ["CAPDECK_TEST_DEPS"]), os.environ["NODE"], os.environ["CAPDECK"]
    package = deps / "node" / "node_modules" / "@modelcontextprotocol" / "server-everything"
    current = PythonClient("Python mcp 2", deps / "venv" / "bin" / "python")
    older = PythonClient("Python mcp 1", deps / "venv-legacy" / "bin" / "python")
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="capdeck-exposure-") as folder:
        for exposure, walk, view in WALKS:
            label = f"{exposure}, {walk.__name__}"
            if not any(all(word in f"{label} {client}" for word in words) for client in ("modern", "legacy", "older")):
                continue
            project = Project(
                capdeck, Path(folder).resolve() / walk.__name__, exposure, node, package / "dist" / "index.js"
            )
            with project.up() as host:
                for client, mode, era in [(current, MODERN, "modern"), (current, "legacy", "legacy"), (older, None, "older")]:
                    for front, target in [("capdeck serve", project.stdio(view)), ("capdeck up", host(view))]:
                        if not all(word in f"{label} {era}" for word in words):
                            continue
                        try:
                            walk(Walk(client, target, mode), project)
                            passed += 1
                            state = "passed"
                        except Exception as error:  # noqa: BLE001 - every failure is reported
                            failed += 1
                            state = f"FAILED ({type(error).__name__}: {error})"
                        print(f"{label} · {front} · {client.name}, {era}: {state}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
