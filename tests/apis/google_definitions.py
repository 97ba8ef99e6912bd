"""Known definitions of Google's APIs, as they are, against a local copy of those APIs: sign in, list, call, renew, upload,
download. The files are not part of this repository; without them the check says so and is skipped."""

import hashlib
import json
import os
import re
import subprocess
import tempfile
import traceback
from pathlib import Path

from google_mock import Mock, walk
from google_provider import Provider

DEFINITIONS = Path(__file__).resolve().parents[3] / "shared" / "data" / "caplets"
CLIENT = ("client.apps.example", "canary-client-secret")

# Where the documents are that the definitions name.
DOCUMENTS = {
    "https://gmail.googleapis.com/$discovery/rest?version=v1": "gmail.v1.json",
    "https://www.googleapis.com/discovery/v1/apis/drive/v3/rest": "drive.v3.json",
    "https://docs.googleapis.com/$discovery/rest?version=v1": "docs.v1.json",
    "https://sheets.googleapis.com/$discovery/rest?version=v4": "sheets.v4.json",
    "https://slides.googleapis.com/$discovery/rest?version=v1": "slides.v1.json",
    "https://www.googleapis.com/discovery/v1/apis/tasks/v1/rest": "tasks.v1.json",
}

# One harmless call of each capability.
CALLS = {
    "gmail": ("gmail.users.labels.list", {"path": {"userId": "me"}}),
    "google-drive": ("drive.files.list", {"query": {"q": "name contains 'x'", "pageSize": 5}}),
    "google-workspace__gmail": ("gmail.users.messages.list", {"path": {"userId": "me"}, "query": {"labelIds": ["A", "B"]}}),
    "google-workspace__drive": ("drive.files.get", {"path": {"fileId": "x"}}),
    "google-workspace__docs": ("docs.documents.create", {"body": {"title": "T"}}),
    "google-workspace__sheets": (
        "sheets.spreadsheets.values.update",
        {"path": {"spreadsheetId": "s", "range": "A!A1:B2"}, "query": {"valueInputOption": "RAW"}, "body": {"values": [["a", 1], [True, None]]}},
    ),
    "google-workspace__slides": ("slides.presentations.get", {"path": {"presentationId": "p"}}),
    "google-workspace__tasks": ("tasks.tasks.insert", {"path": {"tasklist": "l"}, "body": {"title": "T"}}),
}


class Failed(Exception):
    pass


class Deck:
    """A deck of its own, and the binary in it."""

    def __init__(self, root, mock, provider):
        self.root = root
        self.mock = mock
        self.provider = provider
        self.outputs = []
        for folder in ("config", "state", "cache", "data", "home", "work"):
            (root / folder).mkdir()

    def write(self, name, text):
        place = self.root / "config" / name
        place.mkdir()
        (place / "CAPLET.md").write_text(text)

    def command(self, *args):
        env = {f"CAPDECK_{name}_DIR": str(self.root / name.lower()) for name in ("CONFIG", "STATE", "CACHE", "DATA")}
        env |= {"PATH": os.environ["PATH"], "HOME": str(self.root / "home"), "NO_COLOR": "1"}
        env |= {"GOOGLE_CLIENT_ID": CLIENT[0], "GOOGLE_CLIENT_SECRET": CLIENT[1]}
        options = {"cwd": self.root / "work", "env": env, "stdin": subprocess.DEVNULL, "text": True}
        return [os.environ["CAPDECK"], *args, "--project", str(self.root / "work")], options

    def run(self, *args, expect=0):
        command, options = self.command(*args)
        run = subprocess.run(command, capture_output=True, timeout=60, check=False, **options)
        self.outputs.append(run.stdout + run.stderr)
        if run.returncode != expect:
            raise Failed(f"`{' '.join(args)}` ended with {run.returncode}, not {expect}: {run.stdout} {run.stderr}")
        return run

    def json(self, *args, expect=0):
        return json.loads(self.run(*args, "--json", expect=expect).stdout)

    def call(self, capability, tool, arguments, expect=0):
        answer = self.run("call", capability, tool, "--args", json.dumps(arguments), "--yes", "--json", expect=expect)
        return json.loads(answer.stdout) if expect == 0 else answer.stdout + answer.stderr

    def sign_in(self, capability):
        """Signs in as a person with a browser would; gives the scopes that were asked for."""
        command, options = self.command("auth", "login", capability, "--no-open", "--json")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
            line = process.stdout.readline()
            if not line:
                raise Failed(f"no page to sign in to {capability}: {process.stderr.read()}")
            page = json.loads(line)["authorizationUrl"]
            self.provider.ask("walk", page)
            rest, errors = process.communicate(timeout=60)
            self.outputs.append(rest + errors)
            if process.returncode != 0:
                raise Failed(f"signing in to {capability} ended with {process.returncode}: {errors}")
        return sorted(json.loads(rest)["scopes"])


def check(folder):
    if not (DEFINITIONS / "gmail").is_dir():
        print("skipped: known definitions: no shared data")
        return []
    documents = {place: json.loads((folder / name).read_text()) for place, name in DOCUMENTS.items()}
    if not os.environ.get("NODE"):
        print("skipped: known definitions: no Node for the provider they sign in to")
        return []
    scopes = {scope for document in documents.values() for method in walk(document) for scope in method.get("scopes", [])}
    with (
        tempfile.TemporaryDirectory(prefix="capdeck-google-") as root,
        Provider(CLIENT, sorted(scopes)) as provider,
        Mock(documents, provider.issuer, CLIENT) as mock,
    ):
        deck = Deck(Path(root).resolve(), mock, provider)
        try:
            wanted = install(deck)
            use(deck, wanted)
            upload_and_download(deck)
            infer_scopes(deck)
        except (Failed, KeyError, AssertionError, subprocess.TimeoutExpired) as error:
            line = traceback.extract_tb(error.__traceback__)[-1].line
            return [f"known definitions: {type(error).__name__}: {error} ({line})", *mock.complaints]
        facts = provider.ask("facts")
        problems = [*mock.complaints, *facts["complaints"]]
        if any(secret in output for output in deck.outputs for secret in facts["secrets"]):
            problems.append("a secret was shown")
        print(f"known definitions: {len(wanted)} capabilities signed in, {len(mock.calls)} calls, {facts['renewals']} renewals")
        return problems


def install(deck):
    """Puts the definitions into the deck; only the addresses are others."""
    wanted = {}
    for name in ("gmail", "google-drive", "google-workspace"):
        text = (DEFINITIONS / name / "CAPLET.md").read_text()
        text = re.sub(r"(?m)^(\s*discoveryUrl: )(https://\S+)$", lambda found: found[1] + deck.mock.local(found[2]), text)
        text = re.sub(r"(?m)^(\s*issuer: )https://\S+$", lambda found: found[1] + deck.provider.issuer, text)
        deck.write(name, text.replace("$vault:", "$env:"))
    deck.run("validate")
    for capability in CALLS:
        listed = deck.json("tools", capability)
        tools = [tool["name"] for tool in listed["items"]]
        wanted[capability] = tools
    counts = {capability: len(tools) for capability, tools in wanted.items()}
    expected = {"gmail": 19, "google-drive": 9, "google-workspace__gmail": 19, "google-workspace__drive": 9}
    expected |= {"google-workspace__docs": 3, "google-workspace__sheets": 12, "google-workspace__slides": 5}
    expected |= {"google-workspace__tasks": 11}
    assert counts == expected, counts
    return wanted


def use(deck, wanted):
    """Every capability: refused, signed in, called, renewed, called again."""
    for capability in wanted:
        tool, arguments = CALLS[capability]
        refused = deck.call(capability, tool, arguments, expect=3)
        assert f"capdeck auth login {capability}" in refused, refused
        # The first token is about to end: the next call renews it.
        deck.provider.ask("lifetime", 20)
        scopes = deck.sign_in(capability)
        assert len(scopes) == 1 and scopes[0].startswith("https://www.googleapis.com/auth/"), scopes
        deck.provider.ask("lifetime", 3600)
        renewals = deck.provider.ask("facts")["renewals"]
        for _ in range(2):
            result = deck.call(capability, tool, arguments)
            assert result["structuredContent"]["status"] == 200, result
        assert deck.provider.ask("facts")["renewals"] == renewals + 1, "a token that ends is renewed once"
        deck.run("auth", "refresh", capability)
        assert deck.provider.ask("facts")["renewals"] == renewals + 2
        assert deck.call(capability, tool, arguments)["isError"] is False
        status = deck.json("auth", "status", capability)
        assert status["state"] == "signedIn" and status["renewable"], status
    found = deck.json("search", "update values of a spreadsheet range")
    assert "google-workspace__sheets" in json.dumps(found), found


def upload_and_download(deck):
    """Content of every size goes up and comes down the same."""
    large = os.urandom(9 * 1024 * 1024 + 11)
    source = deck.root / "work" / "large.bin"
    source.write_bytes(large)
    deck.mock.busy = 1
    for arguments, content in (
        ({"media": {"dataUrl": "data:text/plain,small"}}, b"small"),
        ({"body": {"name": "both"}, "media": {"dataUrl": "data:text/plain;base64,Ym90aA=="}}, b"both"),
        ({"body": {"name": "large"}, "media": {"path": str(source)}}, large),
    ):
        stored = deck.call("google-drive", "drive.files.create", arguments)["structuredContent"]["body"]["id"]
        assert deck.mock.content[stored] == content, f"{stored} arrived damaged"
        loaded = deck.call("google-drive", "drive.files.get", {"path": {"fileId": stored}, "filename": "again.bin"})
        facts = loaded["structuredContent"]
        assert facts["sha256"] == hashlib.sha256(content).hexdigest() and facts["byteLength"] == len(content), facts
        again = deck.call("google-drive", "drive.files.create", {"media": {"artifact": facts["uri"]}})
        assert deck.mock.content[again["structuredContent"]["body"]["id"]] == content
    assert deck.mock.busy == 0, "the large upload was interrupted"
    mail = deck.root / "work" / "mail.eml"
    mail.write_text("To: a@example.com\r\nSubject: x\r\n\r\nHello")
    sent = deck.call("gmail", "gmail.users.messages.send", {"path": {"userId": "me"}, "media": {"path": str(mail)}})
    assert sent["structuredContent"]["status"] == 200, sent


def infer_scopes(deck):
    """A definition that names no scopes asks for those of what it exposes."""
    text = (deck.root / "config" / "gmail" / "CAPLET.md").read_text()
    without = re.sub(r"^    scopes:\n(      - .*\n)+", "", text, flags=re.MULTILINE)
    assert without != text
    deck.write("mail", re.sub(r"includeOperations:\n(    - .*\n)+", "includeOperations: ['*.list']\n", without))
    deck.json("tools", "mail")
    shown = deck.json("inspect", "mail")["scopes"]
    assert shown and all("readonly" in scope for scope in shown), shown
    assert deck.json("auth", "status", "mail")["wantedScopes"] == shown
    assert deck.sign_in("mail") == sorted(shown)
    assert deck.call("mail", "gmail.users.threads.list", {"path": {"userId": "me"}})["isError"] is False
