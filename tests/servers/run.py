"""Forty real servers from npm and PyPI in one block, started at once with cold caches: which answer, and why the others
do not. Those that answer are then connected to directly and through `capdeck serve --only`: what they list and what they
answer to a harmless call has to be equal.

    python tests/servers/run.py [NAME…]     only these servers; no page then
    CAPDECK_UPDATE_DOCS=1 …                 writes docs/reference/servers.md

Needs CAPDECK (the binary), npx and uvx on the PATH, and both registries. Nothing has a key: a server that wants one has to
say so. It fails when fewer than half answer, when one that does not gives no reason, or when something differs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from block import harmless_calls, servers
from stdio_client import ServerError, StdioClient

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "servers.md"
TIME_LIMIT = 1800
CALL_LIMIT = 90

OPENING = """\
# Forty real servers

Forty MCP servers from npm and PyPI in one `mcpServers` block, as agents have them: nothing installed, no keys, no settings
beyond those shown. `capdeck check` starts them all; each has the time that its launcher needs. {answered} of {all} answered,
in {minutes} minutes on a machine with {cores} cores. The last column is what Capdeck says of the others.

Each that answered was then connected to directly and through `capdeck serve --only`: {equal} tool lists are equal, and
{called} of {calls} harmless calls. *varies* is what differs between two direct connections, too.

Made by `./test.sh servers`, which runs only when it is named.
"""


def main():
    names = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="capdeck-servers-") as folder:
        home = Path(folder).resolve()
        block = servers(str(make_folder(home)))
        chosen = {name: entry for name, entry in block.items() if not names or name in names}
        started = time.monotonic()
        items = check(home, chosen)
        seconds = time.monotonic() - started
        answering = [item["id"] for item in items if item["status"] == "available"]
        calls = harmless_calls(str(home / "work"))
        compared = {name: compare(home, name, chosen[name], calls.get(name)) for name in answering}
    rows = [row(chosen[item["id"]], item, compared.get(item["id"]), home) for item in items]
    print(table(rows))
    lists, answers = ([one[part] for one in compared.values()] for part in ("tools", "call"))
    different = [f"{name}: {one['why']}" for name, one in compared.items() if one["why"]]
    print("\n".join(f"different: {line}" for line in different))
    answered = sum(1 for item in items if item["status"] == "available")
    silent = [item["id"] for item in items if item["status"] != "available" and not item["error"]["message"]]
    print(f"{answered} of {len(items)} answered in {seconds:.0f} s")
    if not names and "CAPDECK_UPDATE_DOCS" in os.environ:
        facts = {
            "answered": answered,
            "all": len(items),
            "minutes": max(1, round(seconds / 60)),
            "cores": os.cpu_count(),
            "equal": f"{lists.count('equal')} of {len(lists)}",
            "called": answers.count("equal"),
            "calls": len([answer for answer in answers if answer]),
        }
        PAGE.write_text(OPENING.format(**facts) + "\n" + table(rows) + "\n")
    is_good = not different and not silent and len(items) == len(chosen) and answered * 2 >= len(items)
    return 0 if is_good else 1


def make_folder(home):
    folder = home / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("A note.\n")
    git = ["git", "-C", str(folder), "-c", "user.name=suite", "-c", "user.email=suite@example.com"]
    for step in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "A note"]):
        subprocess.run([*git, *step], check=True)
    return folder


def check(home, block):
    """One `capdeck check` with a home of its own, so that every cache is cold."""
    config = home / "config"
    config.mkdir()
    (config / "config.json").write_text(json.dumps({"mcpServers": block}, indent=2))
    command = [os.environ["CAPDECK"], "check", *block, "--json"]
    ended = subprocess.run(
        command, env=environment(home), cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_LIMIT
    )
    assert ended.returncode in (0, 1, 3), ended.stdout + ended.stderr
    return json.loads(ended.stdout)["items"]


def environment(home):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CAPDECK_", "XDG_", "npm_", "UV_"))}
    return {**kept, "HOME": str(home), "TMPDIR": str(home), "CAPDECK_CONFIG_DIR": str(home / "config")}


def compare(home, name, entry, call):
    """What the server says to a client of its own, and to one behind Capdeck."""
    own = {**environment(home), **entry.get("env", {})}
    direct = [entry["command"], *entry["args"]]
    through = [os.environ["CAPDECK"], "serve", "--only", name]
    first, behind = ask(direct, own, home, call), ask(through, environment(home), home, call)
    # A server may say something else each time; that is not for Capdeck to change.
    second = ask(direct, own, home, call) if first != behind else first
    parts = {part: verdict(first[part], second[part], behind[part]) for part in ("tools", "call")}
    why = [difference(part, first[part], behind[part]) for part, said in parts.items() if said == "different"]
    return {**parts, "name": call and call[0], "why": "; ".join(why)}


def ask(command, env, home, call):
    answers = {"tools": None, "call": None}
    try:
        with StdioClient(command, env, home, CALL_LIMIT) as client:
            answers["tools"] = client.tools()
            if call:
                answers["call"] = answer_of(client, *call)
    except ServerError as error:
        answers["tools"] = answers["tools"] or f"error: {error}"
    return answers


def answer_of(client, name, arguments):
    try:
        return client.call(name, arguments)
    except ServerError as error:
        return f"error: {error}"


def verdict(first, second, behind):
    if first is None and behind is None:
        return ""
    if first == behind:
        return "equal"
    return "varies" if first != second else "different"


def difference(part, direct, behind):
    before, after = (json.dumps(one, sort_keys=True, ensure_ascii=False) for one in (direct, behind))
    start = next((at for at, (one, other) in enumerate(zip(before, after)) if one != other), 0)
    return f"{part}: direct …{before[max(0, start - 80):start + 120]} | behind …{after[max(0, start - 80):start + 120]}"


def row(entry, item, compared, home):
    is_available = item["status"] == "available"
    reason = "" if is_available else plain(item["error"]["message"], home)
    words = [word for word in entry["args"] if word != "-y"]
    return [
        item["id"],
        f"`{entry['command']} {words[0]}`",
        "yes" if is_available else "no",
        str(item["toolCount"]) if is_available else "",
        compared["tools"] if compared else "",
        f"`{compared['name']}`: {compared['call']}" if compared and compared["call"] else "",
        reason,
    ]


def plain(text, home):
    """A reason that is the same in every run and fits into a cell."""
    text = text.replace(str(home), "~").replace("|", r"\|").replace("<", "&lt;")
    return re.sub(r"\s+", " ", text)


def table(rows):
    lines = [["server", "started with", "answers", "tools", "list", "call", "why not"], ["---"] * 7, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
