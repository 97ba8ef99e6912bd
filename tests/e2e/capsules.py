"""A capsule from its making to a refused prefix, walked by clients that are not ours.

The capsule is made by the command line; then each client writes, reads with bands, runs into a conflict, looks back, searches, takes a prompt from
a skill, is notified of a change, keeps a memory, meets what a share hides, and finds the same entries in the deck. Over stdio (`capdeck serve --capsule`) and over HTTP (`capdeck up`), by
clients of both eras of the protocol, and by the inspector's command line. Ends with `N passed, N failed, 0 skipped` and exits with 1 when
something failed.

    python tests/e2e/capsules.py [WORD…]     only walks whose label has every word

Needs CAPDECK (the binary), NODE and CAPDECK_TEST_DEPS, as ./test.sh sets them.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from clients import Inspector, PythonClient
from downstreams import call
from host import Host

MODERN = "2026-07-28"
PREAMBLE = "━━━ TRUST PREAMBLE ━━━"
FOOTER = "━━━ PROVENANCE FOOTER ━━━"
SKILL = """\
---
name: review
description: Reviews a branch
arguments:
  - name: branch
    required: true
---
Review {{branch}} as `docs://style` says.
"""


class Machine(Host):
    """A Capdeck with one capsule and two shares."""

    def __init__(self, capdeck, root):
        super().__init__(capdeck, root, "project")
        # Entries are resources of the deck where it offers capsules tool by tool.
        (root / "config" / "config.json").write_text(json.dumps({"options": {"exposure": "direct"}}))
        self.command("capsule", "new", "team")
        self.command("capsule", "write", "team", "docs://style", "-", given="# Style\nShort functions, see src/style.rs.\n")
        self.command("capsule", "write", "team", "docs://secret/plan", "-", given="# Plan\nNobody knows.\n")
        self.command("capsule", "write", "team", "skills://review", "-", given=SKILL)
        self.guest = self.share("--role", "writer", "--deny", "docs://secret")
        self.reader = self.share("--role", "reader")

    def command(self, *words, given=""):
        finished = subprocess.run(
            [self.capdeck, *words],
            env=self.env(),
            cwd=self.work,
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert finished.returncode == 0, f"capdeck {words}: {finished.stderr or finished.stdout}"
        return finished.stdout

    def share(self, *words):
        return json.loads(self.command("capsule", "share", "team", *words, "--json"))["token"]

    def stdio(self, *words):
        args = ["--project", str(self.work), "serve", *words]
        return {"command": self.capdeck, "args": args, "env": self.env()}

    @contextlib.contextmanager
    def up(self):
        """`capdeck up` on a port of its own; gives a function from a path and a token to a target."""
        with self.serving() as base:

            def target(path="/mcp/team", token=None):
                headers = {"headers": {"Authorization": f"Bearer {token}"}} if token else {}
                return {"url": base + path, **headers}

            yield target


def take(client, target, *steps):
    answers = client.run(target, list(steps))
    for step, answer in zip(steps, answers):
        assert "result" in answer, f"{step}: {answer}"
    return [answer["result"] for answer in answers]


def text(result):
    return result["content"][0]["text"]


def facts(result):
    assert not result.get("isError"), result
    return result["structuredContent"]


def refusal(result):
    assert result.get("isError"), result
    return result["structuredContent"]["error"]


def everything(client, target, name):
    """What the owner of the machine does, with an entry of its own."""
    uri = f"notes://{name}"
    write = lambda body, version: call("capsol_write", {"uri": uri, "content": body, "if_version": version})
    tools, made, changed, late, read, resource, history, found, missing = take(
        client,
        target,
        {"do": "tools"},
        write("one\ntwo\nthree\n", 0),
        write("ONE\ntwo\nthree\n", 1),
        write("one\ntwo\nTHREE\n", 1),
        call("capsol_read", {"uri": uri}),
        {"do": "read", "uri": uri},
        call("capsol_read", {"uri": uri, "format": "history"}),
        call("capsol_read", {"search": {"query": "functions", "scheme": "docs"}}),
        call("capsol_read", {"uri": "notes://nothing"}),
    )
    assert len(tools["tools"]) == 4 and tools["tools"][0]["name"] == "capsol_read", tools
    assert facts(made)["created"] and facts(changed)["version"] == 2, (made, changed)
    conflict = refusal(late)
    assert conflict["code"] == "version_conflict" and conflict["details"]["current_version"] == 2, conflict
    assert conflict["details"]["proposal"] == {"text": "ONE\ntwo\nTHREE\n", "conflicts": 0}, conflict
    banded = [text(read), resource["contents"][0]["text"]]
    for shown in banded:
        assert shown.startswith(PREAMBLE) and FOOTER in shown and "\nONE\ntwo\nthree\n" in shown, shown
    assert [version["version"] for version in facts(history)["versions"]] == [1, 2], history
    assert [hit["uri"] for hit in facts(found)["hits"]] == ["docs://style"], found
    assert refusal(missing)["code"] == "not_found", missing


def prompts_and_completions(client, target, _name):
    listed, templates, got, completed = take(
        client,
        target,
        {"do": "prompts"},
        {"do": "templates"},
        {"do": "prompt", "name": "review", "arguments": {"branch": "topic"}},
        {
            "do": "complete",
            "ref": {"type": "ref/resource", "uri": "docs://{+path}"},
            "argument": {"name": "path", "value": "st"},
        },
    )
    assert [prompt["name"] for prompt in listed["prompts"]] == ["review"], listed
    assert "docs://{+path}" in [template["uriTemplate"] for template in templates["resourceTemplates"]], templates
    message = got["messages"][0]["content"]["text"]
    assert "Review topic as" in message and FOOTER in message, message
    assert completed["completion"]["values"] == ["style"], completed


def notifications(client, target, name):
    uri = f"notes://watched-{name}"
    (change,) = take(client, target, {"do": "watch", "uri": uri, "then": call("capsol_write", {"uri": uri, "content": "x"})})
    assert change == {"uri": uri}, change


def memory(client, target, name):
    key = f"key-{name}"
    saved, got, listed = take(
        client,
        target,
        call("capsol_memory", {"action": "set", "key": key, "value": "remember"}),
        call("capsol_memory", {"action": "get", "key": key}),
        call("capsol_memory", {"action": "list"}),
    )
    assert facts(got)["value"] == "remember", (saved, got)
    assert {"key": key, "value": "remember"} in facts(listed)["items"], listed


def denied(client, target, name):
    """What a share hides is not there; what it may not do is refused."""
    listed, found, hidden, missing, made, resources, note = take(
        client,
        target,
        call("capsol_read", {"list": {"scheme": "docs"}}),
        call("capsol_read", {"search": {"query": "nobody knows plan"}}),
        call("capsol_read", {"uri": "docs://secret/plan"}),
        call("capsol_read", {"uri": "docs://nothing/plan"}),
        call("capsol_write", {"uri": f"docs://secret/{name}", "content": "x"}),
        {"do": "resources"},
        call("capsol_write", {"uri": f"notes://guest-{name}", "content": "allowed"}),
    )
    assert [entry["uri"] for entry in facts(listed)["entries"]] == ["docs://style"], listed
    assert facts(found)["total"] == 0, found
    same = lambda result, name: json.dumps(result).replace(name, "NAME")
    assert same(hidden, "secret") == same(missing, "nothing"), (hidden, missing)
    assert refusal(made)["code"] in ("forbidden_scope", "not_found"), made
    assert not [one for one in resources["resources"] if "secret" in one["uri"]], resources
    assert facts(note)["created"], note


def read_only(client, target, name):
    listed, refused = take(
        client,
        target,
        call("capsol_capsules", {"action": "list"}),
        call("capsol_write", {"uri": f"notes://no-{name}", "content": "x"}),
    )
    capsules = [(capsule["id"], capsule["role"]) for capsule in facts(listed)["capsules"]]
    assert capsules == [("team", "reader")], listed
    assert refusal(refused)["code"] == "forbidden_role", refused


def in_the_deck(client, target, name):
    """Entries on the deck's own endpoint, under names that say which capsule they are in."""
    uri, other = f"capsol://team/notes/deck-{name}", f"notes://deck-{name}"
    written, resources, templates, style, short, prompts, got, completed, argument = take(
        client,
        target,
        call("capsules__capsol_write", {"capsule": "team", "uri": other, "content": "in the deck\n"}),
        {"do": "resources"},
        {"do": "templates"},
        {"do": "read", "uri": uri},
        {"do": "read", "uri": other},
        {"do": "prompts"},
        {"do": "prompt", "name": "capsules__team.review", "arguments": {"branch": "topic"}},
        {
            "do": "complete",
            "ref": {"type": "ref/resource", "uri": "capsol://team/docs/{+path}"},
            "argument": {"name": "path", "value": "st"},
        },
        {
            "do": "complete",
            "ref": {"type": "ref/prompt", "name": "capsules__team.review"},
            "argument": {"name": "branch", "value": "docs://sty"},
        },
    )
    assert facts(written)["created"], written
    listed = [resource["uri"] for resource in resources["resources"]]
    assert uri in listed and "capsol://team/docs/style" in listed, listed
    assert "capsol://team/docs/{+path}" in [one["uriTemplate"] for one in templates["resourceTemplates"]], templates
    for read in (style, short):
        shown = read["contents"][0]["text"]
        assert shown.startswith(PREAMBLE) and FOOTER in shown and "\nin the deck\n" in shown, shown
    assert "capsules__team.review" in [prompt["name"] for prompt in prompts["prompts"]], prompts
    assert "Review topic as" in got["messages"][0]["content"]["text"], got
    assert completed["completion"]["values"] == ["style"], completed
    assert argument["completion"]["values"] == ["docs://style"], argument
    write = call("capsules__capsol_write", {"capsule": "team", "uri": other, "content": "changed\n"})
    (change,) = take(client, target, {"do": "watch", "uri": uri, "then": write})
    assert change == {"uri": uri}, change


def inspected_deck(client, target, name):
    resources, templates, read, got = take(
        client,
        target,
        {"do": "resources"},
        {"do": "templates"},
        {"do": "read", "uri": "capsol://team/docs/style"},
        {"do": "prompt", "name": "capsules__team.review", "arguments": {"branch": "topic"}},
    )
    assert "capsol://team/docs/style" in [resource["uri"] for resource in resources["resources"]], resources
    assert "capsol://team/docs/{+path}" in [one["uriTemplate"] for one in templates["resourceTemplates"]], templates
    assert read["contents"][0]["text"].startswith(PREAMBLE), read
    assert "Review topic" in got["messages"][0]["content"]["text"], got


def inspected(client, target, name):
    """One step of each kind; the inspector starts a process for each."""
    tools, written, read, got = take(
        client,
        target,
        {"do": "tools"},
        call("capsol_write", {"uri": f"notes://{name}", "content": "seen\n"}),
        {"do": "read", "uri": "docs://style"},
        {"do": "prompt", "name": "review", "arguments": {"branch": "topic"}},
    )
    assert len(tools["tools"]) == 4, tools
    assert facts(written)["version"] == 1, written
    assert read["contents"][0]["text"].startswith(PREAMBLE), read
    assert "Review topic" in got["messages"][0]["content"]["text"], got


def walks(machine, up, deps, node, sandbox):
    """Every walk with its client and target: label, function, client, target."""
    current = PythonClient("Python mcp 2", deps / "venv" / "bin" / "python")
    older = PythonClient("Python mcp 1", deps / "venv-legacy" / "bin" / "python")
    for client, mode in [(current, MODERN), (current, "legacy"), (older, None)]:
        era = {MODERN: "modern", "legacy": "legacy", None: "older"}[mode]
        with_mode = {"mode": mode} if mode else {}
        for front, target in [("capdeck serve", machine.stdio("--capsule", "team")), ("capdeck up", up())]:
            for walk in (everything, prompts_and_completions, notifications, memory):
                yield f"{walk.__name__} · {front} · {client.name}, {era}", walk, client, {**target, **with_mode}
        for front, target in [("capdeck serve", machine.stdio()), ("capdeck up /mcp", up("/mcp"))]:
            yield f"in_the_deck · {front} · {client.name}, {era}", in_the_deck, client, {**target, **with_mode}
        for place in ("/mcp/team", "/mcp"):
            target = {**up(place, machine.guest), **with_mode}
            yield f"denied · capdeck up {place} · {client.name}, {era}", denied, client, target
        target = {**up("/mcp", machine.reader), **with_mode}
        yield f"read_only · capdeck up /mcp · {client.name}, {era}", read_only, client, target
    inspector = Inspector(deps, node, sandbox)
    for front, target in [("capdeck serve", machine.stdio("--capsule", "team")), ("capdeck up", up())]:
        yield f"inspected · {front} · inspector", inspected, inspector, target
    for front, target in [("capdeck serve", machine.stdio()), ("capdeck up /mcp", up("/mcp"))]:
        yield f"inspected_deck · {front} · inspector", inspected_deck, inspector, target


def main():
    words = sys.argv[1:]
    deps, node, capdeck = Path(os.environ["CAPDECK_TEST_DEPS"]), os.environ["NODE"], os.environ["CAPDECK"]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="capdeck-capsules-") as folder:
        sandbox = Path(folder).resolve()
        machine = Machine(capdeck, sandbox / "machine")
        with machine.up() as up:
            for number, (label, walk, client, target) in enumerate(walks(machine, up, deps, node, sandbox)):
                if not all(word in label for word in words):
                    continue
                try:
                    walk(client, target, f"w{number}")
                    passed += 1
                    state = "passed"
                except Exception as error:  # noqa: BLE001 - every failure is reported
                    failed += 1
                    state = f"FAILED ({type(error).__name__}: {error})"
                print(f"{label}: {state}")
        for command in ("history", "verify"):
            machine.command("capsule", command, "team", *(["docs://style"] if command == "history" else []))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
