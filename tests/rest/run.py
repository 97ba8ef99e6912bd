"""The interface for programs, against its own document, with input that fits and input that does not.

Starts `capdeck up` with a deck and a capsule in a folder of its own, and lets Schemathesis send every operation of
`/v1/openapi.json` what the document allows and what it forbids. Nothing may be answered with a failure of the host, with a
status, a media type or a body that the document does not have, and nothing forbidden may be taken.
Exits with 1 when something was.

    python tests/rest/run.py [SECONDS]     150 by default

Needs CAPDECK (the binary) and CAPDECK_TEST_DEPS, as ./test.sh sets them.
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

CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
]
# Takes bytes, which the tool has no way to make up; `tests/it/rest/transfer.rs` sends it good and bad ones.
LEFT_OUT = "/v1/capsules/import"


class Weather(http.server.BaseHTTPRequestHandler):
    """A service that always answers, so that every failure is the host's."""

    def do_GET(self):
        body = json.dumps({"sky": "clear"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def config(service):
    look = {"method": "GET", "path": "/look", "description": "Looks at the sky"}
    weather = {
        "name": "Weather",
        "description": "The weather here",
        "baseUrl": f"http://127.0.0.1:{service.server_port}",
        "network": "private",
        "actions": {"look": look},
    }
    # The fuzzer is faster than any person.
    limits = {"api": {"perMinute": 1_000_000, "burst": 100_000}}
    return {"httpApis": {"weather": weather}, "serve": {"limits": limits}}


def environment(folder):
    places = {"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache", "CAPDECK_DATA_DIR": "data"}
    made = {name: str(folder / part) for name, part in places.items()}
    return {"PATH": os.environ["PATH"], **made}


def start(folder, service):
    deck = folder / "config" / "capdeck"
    deck.mkdir(parents=True)
    (folder / "home").mkdir()
    (deck / "config.json").write_text(json.dumps(config(service)))
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
        service = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Weather)
        threading.Thread(target=service.serve_forever, daemon=True).start()
        host, url = start(Path(folder).resolve(), service)
        try:
            send(f"{url}/v1/capsules", {"name": "team", "visibility": "team"})
            send(f"{url}/v1/capsules/team/entries/docs/a", {"content": "# A\n"}, "PUT")
            run = subprocess.run(
                [
                    tool, "run", f"{url}/v1/openapi.json", "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing",
                    "--mode", "all", "--max-examples", "15", "--max-time", seconds, "--continue-on-failure", "--seed", "1",
                    "--generation-database", "none", "--request-timeout", "20", "--suppress-health-check", "all", "--no-color",
                    "--exclude-path", LEFT_OUT,
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
