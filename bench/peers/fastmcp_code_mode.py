"""A peer for the benchmark of code mode: FastMCP with its own code mode, over stdio.

Its tools are functions in its own process, so that it has no server to call: the best case for it.
"""

from fastmcp import FastMCP
from fastmcp.experimental.transforms.code_mode import CodeMode

BODY = "Steps are attached, and a log with the time of each attempt is there as well. " * 4

# By itself it stops a script at its fifty-first call.
peer = FastMCP("peer", transforms=[CodeMode(max_tool_calls=None)])


@peer.tool
def echo(text: str, count: int = 0) -> dict:
    """Answers with its arguments."""
    return {"text": text, "count": count}


@peer.tool
def export_issues() -> dict:
    """Gives a large list."""
    issue = {"title": "Crash when saving drafts", "body": BODY, "state": "open", "labels": ["bug"]}
    return {"issues": [{"id": number % 240, **issue} for number in range(2400)]}


if __name__ == "__main__":
    peer.run(transport="stdio", show_banner=False)
