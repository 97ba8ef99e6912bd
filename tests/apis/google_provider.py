"""The authorization server of the Google definitions: a real provider in a Node process, and a line to it."""

import json
import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).with_name("google-provider.mjs")


class Provider:
    """`with Provider(…) as provider` runs it; `issuer` says where it is."""

    def __init__(self, client, scopes):
        command = [os.environ["NODE"], str(SCRIPT), *client, *scopes]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.issuer = self.read()["issuer"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def ask(self, name, argument=None):
        self.process.stdin.write(json.dumps([name, argument]) + "\n")
        self.process.stdin.flush()
        message = self.read()
        assert "error" not in message, message["error"]
        return message["answer"]

    def read(self):
        line = self.process.stdout.readline()
        assert line, "the provider has ended"
        return json.loads(line)
