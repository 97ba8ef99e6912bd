"""Capdeck in front of the servers: a deck on disk, and the two ways to reach it."""

import contextlib
import json
from pathlib import Path

from host import Host


class Deck(Host):
    """The servers under one exposure, in folders of their own."""

    def __init__(self, capdeck: str, root: Path, exposure: str, downstreams):
        super().__init__(capdeck, root, "work")
        # Starting an interpreter takes long on a machine that is busy with other tests.
        timeouts = {"startupTimeoutMs": 60_000}
        servers = {
            one.id: {
                "name": one.id,
                "description": f"The {one.label} server of this test",
                **timeouts,
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

    def stdio(self, only=None):
        """A target: `capdeck serve`, for the whole deck or one capability."""
        args = ["serve", "--only", only] if only else ["serve"]
        return {"command": self.capdeck, "args": args, "env": self.env()}

    @contextlib.contextmanager
    def up(self):
        """`capdeck up` on a port of its own; gives a function from a capability to a target."""
        with self.serving() as base:
            yield lambda only=None: {"url": f"{base}/servers/{only}/mcp" if only else f"{base}/mcp"}
