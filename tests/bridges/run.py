"""Real clients and servers of both eras with Capdeck in between: which features cross which bridge.

A cell is a client, a server on a transport, and a way between them: none, `capdeck up`, `capdeck serve`,
alone or within a view of the deck. Every feature is checked in every cell. What was found is written as
JSON, and the table in docs/reference/bridges.md must say the same.

    python tests/bridges/run.py [WORD…]     only cells whose label has every word; no table then
    CAPDECK_UPDATE_DOCS=1 …                 writes the table instead of comparing it

Needs CAPDECK (the binary), NODE (22.19 or newer) and CAPDECK_TEST_DEPS, as ./test.sh sets them.
"""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import render
from cells import Deck, run_alone, run_views
from faces import VIEWS
from inspector import Inspector, run_inspector
from parts import CLIENTS, DEPS, SERVERS, Downstream, listening
from program import Client

WORKERS = 3


async def main():
    words, started = sys.argv[1:], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="capdeck-bridges-") as folder:
        cells = await run_table(Path(folder).resolve(), words)
    for cell in cells:
        print(f"{'FAILED' if cell.problems else 'passed'}  {cell.label} ({len(cell.outcomes)} features)")
        for name, problem in cell.problems.items():
            print(f"        {name}: {problem}")
    failed = sum(1 for cell in cells if cell.problems)
    table = True if words else publish(cells)
    print(f"in {time.monotonic() - started:.0f} s")
    print(f"{len(cells) - failed} passed, {failed} failed, 0 skipped")
    return 0 if cells and not failed and table else 1


def publish(cells):
    """Writes what was found, and compares the table with it."""
    outcome = DEPS / "bridges.json"
    outcome.write_text(json.dumps([cell.record() for cell in cells], indent=1, ensure_ascii=False))
    return render.publish(outcome, is_update="CAPDECK_UPDATE_DOCS" in os.environ)


async def run_table(sandbox, words):
    async with contextlib.AsyncExitStack() as stack:
        urls = await asyncio.gather(*(stack.enter_async_context(listening(kind)) for kind in SERVERS))
        pipes = [Downstream(kind, "stdio") for kind in SERVERS]
        ports = [Downstream(kind, "http", url) for kind, url in zip(SERVERS, urls)]
        servers = pipes + ports
        decks = {view.name: Deck(sandbox, view.name, servers) for view in VIEWS}
        # A server alone is the same in every deck.
        alone = decks["search"]
        await asyncio.gather(*(stack.enter_async_context(deck.up()) for deck in decks.values()))
        clients = [await Client.start(kind) for kind in CLIENTS]
        for client in clients:
            stack.push_async_callback(client.stop)

        jobs = [run_alone(server, clients, alone, words) for server in servers]
        for view in VIEWS:
            # Each front has the servers of the other transport, so that every combination is met somewhere.
            for client in clients:
                jobs.append(run_views(view, client, decks[view.name], "up", pipes, words))
                jobs.append(run_views(view, client, decks[view.name], "serve", ports, words))
        inspector = Inspector(DEPS, sandbox)
        jobs += [run_inspector(inspector, server, alone, words) for server in servers]
        turns = asyncio.Semaphore(WORKERS)

        async def in_turn(job):
            async with turns:
                return await job

        done = await asyncio.gather(*map(in_turn, jobs))
        return [cell for cells in done for cell in cells]


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
