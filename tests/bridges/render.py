"""Makes docs/reference/bridges.md from what the tests found.

    python tests/bridges/render.py OUTCOME.json     prints the page
"""

import json
import sys
from pathlib import Path

from features import ALONE, BRIDGES, EVERYWHERE, FEATURES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "bridges.md"


def publish(outcome, is_update):
    """Whether the committed page says what was found; with `is_update` it does afterwards."""
    page = render(json.loads(outcome.read_text()))
    if is_update:
        PAGE.write_text(page)
    if PAGE.exists() and PAGE.read_text() == page:
        return True
    print(f"{PAGE.name} differs from what was found; run with CAPDECK_UPDATE_DOCS=1 and commit it")
    return False


def render(cells):
    through = [cell for cell in cells if cell["front"] != "itself"]
    notes = Notes()
    parts = [OPENING, bridges_table(through, notes), notes.text(), VIEWS_OPENING, views_table(through)]
    parts += [PAIRS_OPENING, pairs_table(through), CLOSING]
    return "\n\n".join(part.strip() for part in parts) + "\n"


class Notes:
    """Footnotes, each text once."""

    def __init__(self):
        self.texts = []

    def mark(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return f"<sup>{self.texts.index(text) + 1}</sup>"

    def text(self):
        return "\n".join(f"{number}. {text[0].upper()}{text[1:]}." for number, text in enumerate(self.texts, 1))


def outcomes(cells, feature, **where):
    return {
        cell["features"][feature.name]
        for cell in cells
        if feature.name in cell["features"] and all(cell[key] == value for key, value in where.items())
    }


def sign(found):
    return "" if not found else "✗" if "failed" in found else "✓"


def bridges_table(cells, notes):
    rows = []
    for feature in FEATURES:
        row = [feature.name]
        for bridge in BRIDGES:
            found = sign(outcomes(cells, feature, bridge=bridge, view=ALONE))
            if bridge in feature.instead:
                note = notes.mark(feature.instead[bridge][1])
                row.append("✗" if found == "✗" else f"–{note}")
            else:
                row.append(found + (notes.mark(feature.notes[bridge]) if bridge in feature.notes else ""))
        rows.append(row)
    return table(["feature", *BRIDGES], rows)


def views_table(cells):
    rows = []
    for feature in FEATURES:
        if feature.faces == (ALONE,):
            continue
        row = [feature.name]
        for view in EVERYWHERE[1:]:
            row.append(sign(outcomes(cells, feature, view=view)) if view in feature.faces else "–")
        rows.append(row)
    return table(["feature", *EVERYWHERE[1:]], rows)


def pairs_table(cells):
    servers = sorted({cell["server"] for cell in cells})
    rows = []
    for client in sorted({cell["client"] for cell in cells}):
        row = [client]
        for server in servers:
            found = [cell["features"] for cell in cells if (cell["client"], cell["server"]) == (client, server)]
            checked = [outcome for features in found for outcome in features.values()]
            row.append(f"{checked.count('passed')} of {len(checked)}")
        rows.append(row)
    return table(["client \\ server", *servers], rows)


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


OPENING = """
# Bridges

MCP has two eras. *Legacy* revisions, up to 2025-11-25, open a session with a handshake, and a server may ask its client. *Modern*
ones, since 2026-07-28, have neither: every request stands alone, and a server asks by answering that it needs input. Capdeck
speaks both on both sides, so a client of either era works with a server of either era. Four pairs of eras are four bridges, named
client→server.

This page is made by `tests/bridges` from runs of real clients and servers, over `capdeck up` and `capdeck serve`, with servers on pipes and
on HTTP. A ✓ means that every such combination passed. The features are tested with one server alone (`/servers/<id>/mcp`,
`capdeck serve --only <id>`).
"""

VIEWS_OPENING = """
## Within a view of the deck

The same servers, all together, through each view. A – means that the view does not show such things. ✓ counts for all four bridges.
A protocol error of a server is a tool error here, which holds its code and its data.
"""

PAIRS_OPENING = """
## Tested pairs

Checks that passed, of those there were. Python is the package `mcp`, TypeScript 1 is `@modelcontextprotocol/sdk`, TypeScript 2 is
`@modelcontextprotocol/client` and `@modelcontextprotocol/server`; the number is the major version.
"""

CLOSING = """
Each check also runs without Capdeck in between where both sides are of one era, so that a ✓ says what crosses Capdeck, not what an SDK
happens to allow.
"""


if __name__ == "__main__":
    print(render(json.loads(Path(sys.argv[1]).read_text())), end="")
