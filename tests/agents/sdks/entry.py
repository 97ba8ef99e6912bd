"""The server that `capdeck connect claude-code` wrote into the project's `.mcp.json`, and where the model is."""

import json
import os
from pathlib import Path

MODEL = os.environ["SCRIPTED_MODEL"]
PROMPT = "Look after the notes."
SECONDS = 120

ENTRY = json.loads(Path(".mcp.json").read_text())["mcpServers"]["capdeck"]
IS_HTTP = ENTRY.get("type") == "http"


def program():
    return {"command": ENTRY["command"], "args": ENTRY.get("args", []), "env": dict(os.environ)}
