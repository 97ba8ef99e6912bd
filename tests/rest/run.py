"""The interface for programs, against its own document, with input that fits and input that does not.

Starts `capdeck up` with a deck and a capsule in a folder of its own, and lets Schemathesis send every operation of
`/v1/openapi.json` what the document allows and what it forbids. Nothing may be answered with a failure of the host, with a
status, a media type or a body that the document does not have, and nothing forbidden may be taken.
Exits with 1 when something was.

    python tests/rest/run.py [SECONDS]     150 when nobody says

Needs CAPDECK (the binary) and CAPDECK_TEST_DEPS, as ./test.sh sets them.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
]
# A tool without a process behind it, so that nothing but this host is tested.
CONFIG = {
    "httpApis": {
        "nowhere": {
            "name": "Nowhere",
            "description": "An address where nobody answers",
            "baseUrl": "http://127.0.0.1:9",
            "allowPrivateNetwork": True,
            "actions": {"look": {"method": "GET", "path": "/look", "description": "Looks"}},
        }
    }
}


def environment(folder):
    places = {"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "CAPDECK_DATA_DIR": "data"}
    made = {name: str(folder / part) for name, part in places.items()}
    return {"PATH": os.environ["PATH"], **made}


def start(folder):
    deck = folder / "config" / "capdeck"
    deck.mkdir(parents=True)
    (folder / "home").mkdir()
    (deck / "config.json").write_text(json.dumps(CONFIG))
    host = subprocess.Popen(
        [os.environ["CAPDECK"], "up", "--port", "0", "--json"],
        env=environment(folder), cwd=folder, stdout=subprocess.PIPE, text=True,
    )
    return host, json.loads(host.stdout.readline())["url"]


def send(url, body, method="POST"):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def main():
    seconds = sys.argv[1] if len(sys.argv) > 1 else "150"
    tool = Path(os.environ["CAPDECK_TEST_DEPS"]) / "venv-rest" / "bin" / "schemathesis"
    with tempfile.TemporaryDirectory(prefix="capdeck-rest-") as folder:
        host, url = start(Path(folder).resolve())
        try:
            send(f"{url}/v1/capsules", {"name": "team", "visibility": "team"})
            send(f"{url}/v1/capsules/team/entries/docs/a", {"content": "# A\n"}, "PUT")
            run = subprocess.run(
                [
                    tool, "run", f"{url}/v1/openapi.json", "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
                    "--mode", "all", "--max-examples", "15", "--max-time", seconds, "--continue-on-failure", "--seed", "1",
                    "--generation-database", "none", "--request-timeout", "20", "--suppress-health-check", "all", "--no-color",
                ],
                cwd=folder, check=False,
            )
            alive = host.poll() is None
        finally:
            host.send_signal(signal.SIGTERM)
            host.wait(timeout=15)
    if not alive:
        print("the host ended by itself")
    return 0 if run.returncode == 0 and alive else 1


if __name__ == "__main__":
    sys.exit(main())
