"""Follows every local link of the built documentation: the file is there, and so is the place in it.

    python3 tests/book/check.py FOLDER
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The ids of a page, and what it refers to."""

    def __init__(self, path):
        super().__init__()
        self.ids = set()
        self.targets = []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.targets.append(value)


def problems(folder):
    pages = {path.resolve(): Page(path) for path in folder.rglob("*.html")}
    for path, page in sorted(pages.items()):
        # The page for unknown addresses is served from anywhere; its links are below the root of the site.
        if path.name == "404.html":
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.exists():
                yield f"{path.relative_to(folder)}: `{target}` leads nowhere"
            elif file in pages and parts.fragment and unquote(parts.fragment) not in pages[file].ids:
                yield f"{path.relative_to(folder)}: `{target}` names a place that is not there"
    if len(pages) < 2:
        yield f"{folder} has no pages"


def main():
    folder = Path(sys.argv[1]).resolve()
    found = list(problems(folder))
    for problem in found:
        print(problem)
    print(f"{len(list(folder.rglob('*.html')))} pages, {len(found)} broken links")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
