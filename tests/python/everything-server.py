"""The Python SDK's own everything-server, from its source package: over HTTP on a free port, or on its pipes.

    python tests/python/everything-server.py [--stdio]

Needs CAPDECK_TEST_DEPS, where the source package is unpacked. Over HTTP it prints one JSON line, {"url": …}.
"""

import json
import os
import socket
import sys
import threading
import time
from pathlib import Path

SOURCE = Path(os.environ["CAPDECK_TEST_DEPS"]) / "mcp-source" / "examples" / "servers" / "everything-server"
sys.path.insert(0, str(SOURCE))

from mcp_everything_server.server import event_store, mcp  # noqa: E402


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def announce(port):
    """Prints the address once it answers."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.02)
    print(json.dumps({"url": f"http://127.0.0.1:{port}/mcp"}), flush=True)


if "--stdio" in sys.argv[1:]:
    mcp.run(transport="stdio")
else:
    port = free_port()
    threading.Thread(target=announce, args=[port], daemon=True).start()
    mcp.run(transport="streamable-http", port=port, event_store=event_store, retry_interval=100)
