"""A client of a server on its pipes, in a few lines: it shakes hands, lists tools and calls them."""

import json
import queue
import subprocess
import threading

REVISION = "2025-11-25"
METHOD_NOT_FOUND = -32601


class ServerError(Exception):
    """The server answered with an error, ended, or did not answer in time."""


class StdioClient:
    def __init__(self, command, environment, folder, timeout):
        self.timeout = timeout
        self.last_id = 0
        self.lines = queue.Queue()
        self.process = subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        threading.Thread(target=self.read, daemon=True).start()

    def __enter__(self):
        client = {"name": "servers-suite", "version": "1"}
        self.request("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        self.send({"method": "notifications/initialized"})
        return self

    def __exit__(self, *_error):
        self.close()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        try:
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            self.process.stdin.flush()
        except OSError as error:
            raise ServerError(f"the server does not read: {error}") from error

    def request(self, method, params):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        while True:
            message = self.receive(method)
            if "method" in message and "id" in message:
                refused = {"code": METHOD_NOT_FOUND, "message": "not offered"}
                answer = {"result": {}} if message["method"] == "ping" else {"error": refused}
                self.send({"id": message["id"], **answer})
            elif message.get("id") == self.last_id and "method" not in message:
                if "error" in message:
                    raise ServerError(json.dumps(message["error"], sort_keys=True))
                return message["result"]

    def receive(self, method):
        while True:
            try:
                line = self.lines.get(timeout=self.timeout)
            except queue.Empty:
                raise ServerError(f"no answer to `{method}` within {self.timeout} s") from None
            if line is None:
                raise ServerError("the server ended")
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict):
                return message

    def tools(self):
        found, cursor = [], None
        while True:
            page = self.request("tools/list", {"cursor": cursor} if cursor else {})
            found += page["tools"]
            cursor = page.get("nextCursor")
            if not cursor:
                return found

    def call(self, name, arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments})
