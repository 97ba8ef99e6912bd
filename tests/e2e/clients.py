"""Clients we did not write, each as a function from a target and steps to answers."""

import json
import os
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent


class PythonClient:
    """The official Python package, in its own environment."""

    def __init__(self, name, interpreter):
        self.name = name
        self.interpreter = interpreter

    def run(self, target, steps, seconds=180):
        order = json.dumps({"target": target, "steps": steps})
        finished = subprocess.run(
            [str(self.interpreter), str(HERE / "driver.py")],
            input=order,
            capture_output=True,
            text=True,
            timeout=seconds,
            env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]},
        )
        if finished.returncode != 0:
            raise RuntimeError(f"{self.name} failed:\n{tail(finished.stderr)}")
        return json.loads(finished.stdout)["answers"]

    def can(self, _step):
        return True


class Inspector:
    """The official inspector's command line: one process for each step."""

    name = "inspector"

    def __init__(self, deps, node, sandbox):
        self.node = node
        package = deps / "node" / "node_modules" / "@modelcontextprotocol" / "inspector"
        self.program = package / "clients" / "launcher" / "build" / "index.js"
        self.home = sandbox / "inspector-home"
        self.home.mkdir()

    def can(self, step):
        # Completions, progress and notifications have no command there.
        return step["do"] not in ("complete", "watch")

    def run(self, target, steps, seconds=60):
        return [self.step(target, step, seconds) for step in steps]

    def step(self, target, step, seconds):
        finished = subprocess.run(
            [self.node, str(self.program), "--cli", *self.target(target), *arguments(step)],
            capture_output=True,
            text=True,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "MCP_INSPECTOR_SECRET_STORE": "memory",
            },
        )
        # A tool that answers with `isError` still has an answer; the inspector then exits with 5.
        if finished.returncode not in (0, 5) or not finished.stdout.strip():
            return {"error": f"exit {finished.returncode}: {tail(finished.stderr)}"}
        return {"result": json.loads(finished.stdout)["result"]}

    def target(self, target):
        if "url" in target:
            kind = "sse" if target.get("transport") == "sse" else "http"
            sent = [word for pair in target.get("headers", {}).items() for word in ("--header", ": ".join(pair))]
            # With a token of its own it must not open a browser to get another one.
            sent += ["--stored-auth-only"] if sent else []
            return [target["url"], "--transport", kind, *sent, "--protocol-era", "legacy", "--format", "json"]
        servers = self.home / f"servers-{os.getpid()}-{abs(hash(json.dumps(target)))}.json"
        servers.write_text(json.dumps({"mcpServers": {"one": {"type": "stdio", **target}}}))
        return ["--config", str(servers), "--server", "one", "--protocol-era", "legacy", "--format", "json"]


def arguments(step):
    kind = step["do"]
    lists = {
        "tools": "tools/list",
        "resources": "resources/list",
        "templates": "resources/templates/list",
        "prompts": "prompts/list",
    }
    if kind in lists:
        return ["--method", lists[kind]]
    if kind == "call":
        given = json.dumps(step["arguments"])
        return ["--method", "tools/call", "--tool-name", step["name"], "--tool-args-json", given]
    if kind == "read":
        return ["--method", "resources/read", "--uri", step["uri"]]
    pairs = [f"{name}={value}" for name, value in step["arguments"].items()]
    named = ["--method", "prompts/get", "--prompt-name", step["name"]]
    return [*named, "--prompt-args", *pairs] if pairs else named


def tail(text, lines=12):
    return "\n".join(text.strip().splitlines()[-lines:])
