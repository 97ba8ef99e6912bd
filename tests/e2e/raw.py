"""Compares what a server lists with what Capdeck lists, as text: not one byte of a schema may change."""

import json
import os
import subprocess
import urllib.request
from json.decoder import scanstring

DECODER = json.JSONDecoder()
WHITESPACE = " \t\r\n"
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "raw-probe", "version": "0"},
}


def results(target, requests):
    """The text of each request's `result`, over stdio or Streamable HTTP."""
    talk = over_http if "url" in target else over_stdio
    return talk(target, requests)


def over_stdio(target, requests):
    process = subprocess.Popen(
        [target["command"], *target["args"]],
        env=target["env"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )

    def send(message):
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()

    def ask(number, method, params):
        send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        for line in process.stdout:
            message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                return line.rstrip("\n")
        raise RuntimeError(f"the server ended before it answered {method}")

    try:
        ask(0, "initialize", HELLO)
        send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return [result_of(ask(n, *request)) for n, request in enumerate(requests, start=1)]
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def over_http(target, requests):
    session = {}

    def post(message):
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **session,
        }
        body = json.dumps(message).encode()
        request = urllib.request.Request(target["url"], body, headers)
        with urllib.request.urlopen(request, timeout=60) as reply:
            if "mcp-session-id" in reply.headers:
                session["Mcp-Session-Id"] = reply.headers["mcp-session-id"]
                session["MCP-Protocol-Version"] = HELLO["protocolVersion"]
            return reply.headers.get("content-type") or "", reply.read().decode()

    def ask(number, method, params):
        kind, text = post({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        if not kind.startswith("text/event-stream"):
            return text
        for line in text.splitlines():
            data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
            if data and json.loads(data).get("id") == number:
                return data
        raise RuntimeError(f"no answer to {method}: {text}")

    ask(0, "initialize", HELLO)
    post({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return [result_of(ask(n, *request)) for n, request in enumerate(requests, start=1)]


def result_of(line):
    message = members(line)
    if "result" not in message:
        raise RuntimeError(f"an error instead of a result: {line[:500]}")
    return message["result"]


def members(text):
    """The members of a JSON object, each as the text it was written in."""
    found, at = {}, skip(text, text.index("{") + 1)
    while text[at] != "}":
        key, end = scanstring(text, at + 1)
        start = skip(text, skip(text, end) + 1)
        _, at = DECODER.raw_decode(text, start)
        found[key] = text[start:at]
        at = skip(text, at)
        if text[at] == ",":
            at = skip(text, at + 1)
    return found


def items(text):
    """The items of a JSON array, each as the text it was written in."""
    found, at = [], skip(text, text.index("[") + 1)
    while text[at] != "]":
        _, end = DECODER.raw_decode(text, at)
        found.append(text[at:end])
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)
    return found


def skip(text, at):
    while text[at] in WHITESPACE:
        at += 1
    return at


def tools_of(result):
    """Every listed tool by name, as text."""
    listed = items(members(result)["tools"])
    return {json.loads(members(tool)["name"]): tool for tool in listed}


def differences(theirs, ours, ignored):
    """What changed between two texts of the same object, as sentences."""
    theirs, ours = members(theirs), members(ours)
    found = []
    for key in theirs:
        if key in ignored:
            continue
        if key not in ours:
            found.append(f"`{key}` is missing")
        elif theirs[key] != ours[key]:
            found.append(f"`{key}` changed from {theirs[key][:200]} to {ours[key][:200]}")
    found += [f"`{key}` was added" for key in ours if key not in theirs and key not in ignored]
    return found


def compare(downstream, view, ours_target, server_tools):
    """The problems of one capability in one view."""
    if view.name in ("transparent", "direct"):
        listed = tools_of(results(ours_target, [("tools/list", {})])[0])
        prefix = "" if view.name == "transparent" else f"{downstream.id}__"
        ours = {name: listed.get(prefix + name) for name in server_tools}
        extra = [name for name in listed if view.name == "transparent" and name not in server_tools]
        # A server may list more to a client that can do more; Capdeck can.
        ignored = set() if view.name == "transparent" else {"name", "_meta"}
        return problems(server_tools, ours, ignored) + unknown_tools(downstream, extra)
    names = list(server_tools)
    if view.name == "search":
        asked = [{"name": "describe", "arguments": {"name": f"{downstream.id}__{name}"}} for name in names]
        ignored = {"name"}
    else:
        describe = {"operation": "describe_tool"}
        asked = [{"name": downstream.id, "arguments": {**describe, "name": name}} for name in names]
        ignored = set()
    answers = results(ours_target, [("tools/call", params) for params in asked])
    inner = {}
    for name, answer in zip(names, answers):
        structured = members(members(answer)["structuredContent"])
        inner[name] = (structured if view.name == "search" else members(structured["result"]))["tool"]
    return problems(server_tools, inner, ignored)


def problems(theirs, ours, ignored):
    found = []
    for name, tool in theirs.items():
        if ours.get(name) is None:
            found.append(f"{name}: is not listed")
            continue
        found += [f"{name}: {difference}" for difference in differences(tool, ours[name], ignored)]
    return found


def unknown_tools(downstream, extra):
    may_gain = downstream.id.startswith("everything")
    return [] if may_gain else [f"{name}: the server lists no such tool" for name in extra]
