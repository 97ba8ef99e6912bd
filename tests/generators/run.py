"""Clients that ordinary generators make from `/v1/openapi.json`, doing a task on a real host.

Starts `capdeck up` with a deck, generates a Python client (openapi-python-client) and a TypeScript client
(openapi-typescript with openapi-fetch) from its document, and lets each do the same task: create a capsule, write an entry
with a precondition, read it, list with a cursor, handle a problem and call a tool. A generator that warns fails the suite.

Needs CAPDECK (the binary), NODE and CAPDECK_TEST_DEPS, as ./test.sh sets them.
"""

import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEPS = Path(os.environ["CAPDECK_TEST_DEPS"]).resolve()
sys.path.insert(0, str(HERE.parent / "rest"))

from run import Weather, start  # noqa: E402  (the host of the REST suite)


def run(command, folder, **environment):
    print("$", " ".join(str(word) for word in command), flush=True)
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, check=False,
    )
    print(done.stdout, end="", flush=True)
    if done.returncode != 0:
        raise SystemExit(f"{Path(command[0]).name} failed with {done.returncode}")
    return done.stdout


def python_client(document, folder, url):
    tools = DEPS / "venv-generators" / "bin"
    output = run(
        [tools / "openapi-python-client", "generate", "--path", document, "--meta", "none",
         "--config", HERE / "python-client.json", "--output-path", folder / "capdeck_client", "--fail-on-warning"],
        folder, PATH=f"{tools}:{os.environ['PATH']}",
    )
    if "warning" in output.lower():
        raise SystemExit("openapi-python-client warns about the document")
    run([tools / "python", HERE / "task.py", url], folder, PYTHONPATH=str(folder))


def typescript_client(document, folder, url):
    node, modules = os.environ["NODE"], DEPS / "generators" / "node_modules"
    output = run([node, modules / "openapi-typescript" / "bin" / "cli.js", document, "-o", folder / "api.d.ts"], folder)
    if "warn" in output.lower() or "⚠" in output:
        raise SystemExit("openapi-typescript warns about the document")
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node_modules").symlink_to(modules)
    (folder / "task.ts").write_text((HERE / "task.ts").read_text())
    settings = {"strict": True, "target": "es2022", "module": "nodenext", "lib": ["es2022", "dom"], "types": []}
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": settings, "files": ["task.ts"]}))
    run([node, modules / "typescript" / "bin" / "tsc", "--project", "tsconfig.json"], folder)
    run([node, folder / "task.js", url], folder)


def main():
    with tempfile.TemporaryDirectory(prefix="capdeck-generators-") as folder:
        folder = Path(folder).resolve()
        service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Weather)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        host, url = start(folder, service)
        try:
            document = folder / "openapi.json"
            with urllib.request.urlopen(f"{url}/v1/openapi.json", timeout=10) as answer:
                document.write_bytes(answer.read())
            for name, check in [("python", python_client), ("typescript", typescript_client)]:
                place = folder / name
                place.mkdir()
                check(document, place, url)
        finally:
            host.send_signal(signal.SIGTERM)
            host.wait(timeout=15)
    print("2 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
