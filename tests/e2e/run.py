"""Real servers behind Capdeck, real clients in front of it, every view in between.

Each cell of the table is one downstream on its transport, one view, one front (`capdeck serve` or
`capdeck up`) and one client. The same client first asks the server itself; Capdeck must give the same
answers. Ends with `N passed, N failed, N skipped` and exits with 1 when a cell failed.

    python tests/e2e/run.py [WORD…]     only cells whose label has every word

Needs CAPDECK (the binary), NODE (22.19 or newer) and CAPDECK_TEST_DEPS, as ./test.sh sets them.
"""

import contextlib
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import raw
from clients import Inspector, PythonClient
from deck import Deck
from downstreams import downstreams, everything_server
from views import VIEWS, expected, normalise

WORKERS = 3


@dataclass
class Cell:
    downstream: object
    view: object
    front: str
    client: str
    steps: int = 0
    problems: list = field(default_factory=list)

    def label(self):
        front = {"stdio": "capdeck serve", "http": "capdeck up"}[self.front]
        return f"{self.downstream.label} · {self.view.name} · {front} · {self.client}"


def main():
    words = sys.argv[1:]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="capdeck-e2e-") as folder:
        cells = run_table(Path(folder).resolve(), words)
    for cell in cells:
        state = "FAILED" if cell.problems else "passed"
        print(f"{state}  {cell.label()} ({cell.steps} steps)")
        for problem in cell.problems[:5]:
            print("        " + problem.replace("\n", "\n        "))
        if len(cell.problems) > 5:
            print(f"        and {len(cell.problems) - 5} more")
    failed = sum(1 for cell in cells if cell.problems)
    print(f"in {time.monotonic() - started:.0f} s")
    print(f"{len(cells) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not cells else 0


def run_table(sandbox, words):
    deps, node, capdeck = Path(os.environ["CAPDECK_TEST_DEPS"]), os.environ["NODE"], os.environ["CAPDECK"]
    clients = [
        PythonClient("Python mcp 2", deps / "venv" / "bin" / "python"),
        PythonClient("Python mcp 1", deps / "venv-legacy" / "bin" / "python"),
        Inspector(deps, node, sandbox),
    ]
    with contextlib.ExitStack() as stack:
        http = stack.enter_context(everything_server(deps, node, "streamableHttp"))
        sse = stack.enter_context(everything_server(deps, node, "sse"))
        servers = downstreams(deps, node, sandbox, http, sse)
        decks = {view.name: make_deck(capdeck, sandbox, view, servers) for view in VIEWS}
        hosts = {name: stack.enter_context(deck.up()) for name, deck in decks.items()}
        pool = stack.enter_context(ThreadPoolExecutor(WORKERS))

        oracle = ask_servers(pool, clients, servers)
        schemas = dict(zip([s.id for s in servers], pool.map(server_tools, servers)))
        jobs = []
        for view in VIEWS:
            for front in ("stdio", "http"):
                reach = decks[view.name].stdio if front == "stdio" else hosts[view.name]
                groups = [[server] for server in servers] if view.is_alone else [servers]
                for group in groups:
                    target = reach(group[0].id) if view.is_alone else reach()
                    jobs += [(group, view, front, client, target) for client in clients]
                for server in servers:
                    target = reach(server.id) if view.is_alone else reach()
                    jobs.append(([server], view, front, None, target))
        done = pool.map(lambda job: run_job(job, oracle, schemas, words), jobs)
        return [cell for cells in done for cell in cells]


def make_deck(capdeck, sandbox, view, servers):
    # Transparent is a way to reach one capability, whatever its exposure.
    exposure = {"transparent": "search"}.get(view.name, view.name)
    return Deck(capdeck, sandbox / f"deck-{view.name}", exposure, servers)


def server_tools(server):
    """What the server itself lists, as text. Both HTTP forms of `everything` list what stdio lists."""
    if server.entry.get("transport") == "sse":
        return None
    return raw.tools_of(raw.results(server.target(), [("tools/list", {})])[0])


def ask_servers(pool, clients, servers):
    """The servers' own answers to each client, by client and server."""
    pairs = [(client, server) for client in clients for server in servers]

    def ask(pair):
        client, server = pair
        steps = steps_for(client, server)
        return client.run(server.target(), steps)

    return {(c.name, s.id): answers for (c, s), answers in zip(pairs, pool.map(ask, pairs))}


def steps_for(client, server):
    steps = [step for step in server.steps if client.can(step)]
    if client.name != "inspector":
        return steps
    # The inspector starts a process for each step: one of each kind where all kinds are, else one call.
    first = {step["do"]: step for step in reversed(steps)}
    return list(first.values()) if server.id == "everything" else [first["call"]]


def run_job(job, oracle, schemas, words):
    servers, view, front, client, target = job
    cells = [Cell(server, view, front, client.name if client else "raw bytes") for server in servers]
    if words and not any(all(word in cell.label() for word in words) for cell in cells):
        return []
    try:
        if client:
            compare_answers(cells, client, target, oracle, schemas)
        else:
            compare_bytes(cells[0], target, schemas)
    except Exception as error:  # noqa: BLE001 - one broken job is a row of the table, not its end
        for cell in cells:
            cell.problems.append(f"{type(error).__name__}: {error}")
    return cells


def compare_bytes(cell, target, schemas):
    theirs = schemas[cell.downstream.id] or schemas["everything"]
    cell.steps = len(theirs)
    cell.problems += raw.compare(cell.downstream, cell.view, target, theirs)


def compare_answers(cells, client, target, oracle, schemas):
    view = cells[0].view
    asked = []
    for cell in cells:
        answers = oracle[client.name, cell.downstream.id]
        for step, theirs in zip(steps_for(client, cell.downstream), answers):
            question = view.ask(cell.downstream.id, step)
            if question is not None:
                asked.append((cell, step, question, theirs))
    ours = client.run(target, [question for _, _, question, _ in asked])
    for (cell, step, _, theirs), answer in zip(asked, ours):
        cell.steps += 1
        always_listed = schemas[cell.downstream.id] or schemas["everything"]
        problem = judge(cell, step, theirs, answer, always_listed)
        if problem:
            name = step.get("name") or step.get("uri") or step.get("ref") or ""
            cell.problems.append(f"{step['do']} {name}: {problem}")


def judge(cell, step, theirs, ours, always_listed):
    """Why the answer through Capdeck is not the server's own, if it is not."""
    id, view = cell.downstream.id, cell.view
    if "error" in theirs:
        return None if "error" in ours else f"the server fails ({theirs['error']}), Capdeck does not"
    if "error" in ours:
        return ours["error"]
    if step.get("progress") and cell.client != "inspector" and len(ours["progress"]) != len(theirs["progress"]):
        return f"progress was {ours['progress']}, not {theirs['progress']}"
    try:
        answer = view.answer(id, step, ours["result"])
    except (KeyError, TypeError) as error:
        return f"unexpected shape ({error!r}): {str(ours['result'])[:400]}"
    want = expected(view, step, theirs["result"])
    if step["do"] == "tools" and not view.is_alone:
        # Some servers list more to a client that can do more. A deck is one for all its clients.
        want, answer = (only(listing, always_listed) for listing in (want, answer))
    want, got = normalise(id, want), normalise(id, answer)
    return None if want == got else f"\n  server:  {want[:600]}\n  capdeck: {got[:600]}"


def only(listing, names):
    if "names" in listing:
        return {"names": [name for name in listing["names"] if name in names]}
    return {"tools": [tool for tool in listing["tools"] if tool["name"] in names]}


if __name__ == "__main__":
    sys.exit(main())
