"""Capdeck in front of the servers: a deck on disk, and the two ways to reach it."""

import contextlib
import json
import os
import re
import subprocess
from pathlib import Path

from downstreams import wait_for_line


class Deck:
    """The servers under one exposure, in folders of their own."""

    def __init__(self, capdeck: str, root: Path, exposure: str, downstreams):
        self.capdeck = capdeck
        self.root = root
        for folder in ("config", "state", "cache", "data", "home", "work"):
            (self.root / folder).mkdir(parents=True)
        # Starting an interpreter takes long on a machine that is busy with other tests.
        patience = {"startupTimeoutMs": 60_000}
        servers = {
            one.id: {
                "name": one.id,
                "description": f"The {one.label} server of this test",
                **patience,
                # The clients ask the server directly in this era; other eras are tests/bridges' subject, and a server may
                # word the same answer differently in each.
                "protocolEra": "legacy",
                **one.entry,
            }
            for one in downstreams
        }
        # A budget large enough that no server is moved out of the view under test.
        options = {"exposure": exposure, "surfaceTokens": 1_000_000}
        # Servers are compared as they are; asking a person first is tested elsewhere.
        policy = [{"allow": {}}]
        config = {"options": options, "policy": policy, "mcpServers": servers}
        (self.root / "config" / "config.json").write_text(json.dumps(config, indent=2))

    def env(self):
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root / "home"),
            "CAPDECK_CONFIG_DIR": str(self.root / "config"),
            "CAPDECK_STATE_DIR": str(self.root / "state"),
            "CAPDECK_CACHE_DIR": str(self.root / "cache"),
            "CAPDECK_DATA_DIR": str(self.root / "data"),
            "NO_COLOR": "1",
        }

    def stdio(self, only=None):
        """A target: `capdeck serve`, for the whole deck or one capability."""
        args = ["serve", "--only", only] if only else ["serve"]
        return {"command": self.capdeck, "args": args, "env": self.env()}

    @contextlib.contextmanager
    def up(self):
        """`capdeck up` on a port of its own; gives a function from a capability to a target."""
        process = subprocess.Popen(
            [self.capdeck, "up", "--port", "0", "--json"],
            env=self.env(),
            cwd=self.root / "work",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            found = wait_for_line(process.stdout, re.compile(r"http://127\.0\.0\.1:\d+"))
            base = found[0]
            yield lambda only=None: {"url": f"{base}/servers/{only}/mcp" if only else f"{base}/mcp"}
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
