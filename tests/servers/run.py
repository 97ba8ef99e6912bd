"""Forty real servers from npm and PyPI in one block, started at once with cold caches: which answer, and why the others
do not.

    python tests/servers/run.py [NAME…]     only these servers; no page then
    CAPDECK_UPDATE_DOCS=1 …                 writes docs/reference/servers.md

Needs CAPDECK (the binary), npx and uvx on the PATH, and both registries. Nothing has a key: a server that wants one has to
say so. It fails when fewer than half answer, or when one that does not gives no reason.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from block import servers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "servers.md"
TIME_LIMIT = 1800

OPENING = """\
# Forty real servers

Forty MCP servers from npm and PyPI in one `mcpServers` block, as agents have them: nothing installed, no keys, no settings
beyond those shown. `capdeck check` starts them all; each has the time that its launcher needs. {answered} of {all} answered,
in {minutes} minutes on a machine with {cores} cores. The last column is what Capdeck says of the others.

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
    rows = [row(chosen[item["id"]], item, home) for item in items]
    print(table(rows))
    answered = sum(1 for item in items if item["status"] == "available")
    silent = [item["id"] for item in items if item["status"] != "available" and not item["error"]["message"]]
    print(f"{answered} of {len(items)} answered in {seconds:.0f} s")
    if not names and "CAPDECK_UPDATE_DOCS" in os.environ:
        facts = {"answered": answered, "all": len(items), "minutes": max(1, round(seconds / 60)), "cores": os.cpu_count()}
        PAGE.write_text(OPENING.format(**facts) + "\n" + table(rows) + "\n")
    is_good = not silent and len(items) == len(chosen) and answered * 2 >= len(items)
    return 0 if is_good else 1


def make_folder(home):
    folder = home / "work"
    folder.mkdir()
    (folder / "note.txt").write_text("A note.\n")
    return folder


def check(home, block):
    """One `capdeck check` with a home of its own, so that every cache is cold."""
    config = home / "config"
    config.mkdir()
    (config / "config.json").write_text(json.dumps({"mcpServers": block}, indent=2))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CAPDECK_", "XDG_", "npm_", "UV_"))}
    environment = {**kept, "HOME": str(home), "TMPDIR": str(home), "CAPDECK_CONFIG_DIR": str(config)}
    command = [os.environ["CAPDECK"], "check", *block, "--json"]
    ended = subprocess.run(
        command, env=environment, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIME_LIMIT
    )
    assert ended.returncode in (0, 1, 3), ended.stdout + ended.stderr
    return json.loads(ended.stdout)["items"]


def row(entry, item, home):
    is_available = item["status"] == "available"
    reason = "" if is_available else plain(item["error"]["message"], home)
    words = [word for word in entry["args"] if word != "-y"]
    return [
        item["id"],
        f"`{entry['command']} {words[0]}`",
        "yes" if is_available else "no",
        str(item["toolCount"]) if is_available else "",
        reason,
    ]


def plain(text, home):
    """A reason that is the same in every run and fits into a cell."""
    text = text.replace(str(home), "~").replace("|", r"\|").replace("<", "&lt;")
    return re.sub(r"\s+", " ", text)


def table(rows):
    lines = [["server", "started with", "answers", "tools", "why not"], ["---"] * 5, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
