"""Google Discovery documents: all of Google's are imported, and known definitions work against a local copy of the APIs.

    python tests/apis/google.py DOCUMENTS IMPORTER

DOCUMENTS is the folder of the documents in google-api-python-client, IMPORTER the example `import-google`. CAPDECK is the
binary. Exits with 1 when something failed.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import google_definitions

# Of all methods in all documents, this part has to become tools.
LEAST_SHARE = 0.999


def main():
    documents, importer = Path(sys.argv[1]), sys.argv[2]
    problems = check_documents(documents, importer)
    problems += google_definitions.check(documents)
    for problem in problems:
        print(f"FAILED   {problem}")
    return 1 if problems else 0


def check_documents(folder, importer):
    """Imports every document; counts the methods independently of the importer."""
    expected = {}
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text())
        if document["kind"] == "discovery#restDescription":
            expected[str(file)] = sum(1 for _ in methods(document))
    started = time.monotonic()
    run = subprocess.run([importer, *expected], stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0:
        return [f"the importer ended with {run.returncode}"]
    found = json.loads(run.stdout)["documents"]
    seconds = time.monotonic() - started
    problems = [f"{one['file']}: {one['error']}" for one in found if "error" in one]
    found = [one for one in found if "error" not in one]
    for one in found:
        problems += [f"{one['file']}: schema: {broken}" for broken in one["broken"]]
        for problem in one["problems"]:
            print(f"left out {Path(one['file']).name}: {problem}")
    wanted, tools = sum(expected.values()), sum(one["tools"] for one in found)
    size = sum(one["bytes"] for one in found)
    print(
        f"imported {len(found)} documents, {tools} of {wanted} methods, input schemas of {size / 1e6:.0f} MB, in {seconds:.1f} s"
    )
    if len(found) != len(expected):
        problems.append(f"{len(expected)} documents were given and {len(found)} imported")
    if tools < LEAST_SHARE * wanted:
        problems.append(f"only {tools} of {wanted} methods became tools")
    return problems


def methods(node):
    yield from node.get("methods", {}).values()
    for resource in node.get("resources", {}).values():
        yield from methods(resource)


if __name__ == "__main__":
    sys.exit(main())
