"""Google's APIs on one loopback port, made from the real Discovery documents. Tokens are those of a provider beside it.

Every host `https://HOST` is at `/HOST` here. A request is held against the document: its method, path, parameters, body
and rights. What does not fit is answered with an error and recorded in `complaints`.
"""

import base64
import json
import re
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

UNIT = 256 * 1024


class Mock:
    """The state behind the server; `with Mock(…) as mock` runs it."""

    def __init__(self, documents, issuer, client):
        self.issuer = issuer
        self.client = client
        self.complaints = []
        self.calls = []
        self.content = {}
        self.sessions = {}
        # How often a piece of an upload is answered with 503 first.
        self.busy = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.documents = {}
        self.methods = []
        for place, document in documents.items():
            self.add(place, document)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def local(self, url):
        return url.replace("https://", f"{self.url}/", 1)

    def add(self, place, document):
        root = urlsplit(document["rootUrl"])
        document = {**document, "rootUrl": self.local(document["rootUrl"]), "baseUrl": self.local(document["baseUrl"])}
        self.documents[urlsplit(self.local(place)).path] = document
        for method in walk(document):
            paths = [(f"/{root.hostname}/{document['servicePath']}{method['path']}", None)]
            for protocol, facts in method.get("mediaUpload", {}).get("protocols", {}).items():
                paths.append((f"/{root.hostname}{facts['path']}", protocol))
            for path, protocol in paths:
                self.methods.append((method["httpMethod"], pattern(path), protocol, method, document))

    def handler(mock):  # noqa: N805: the handler's own self is another
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def respond(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                status, headers, answer = mock.answer(self.command, self.path, self.headers, body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = respond

        return Handler

    def answer(self, verb, target, headers, body):
        url = urlsplit(target)
        if url.path in self.documents:
            if headers.get("authorization"):
                self.complaints.append(f"the document {url.path} was fetched with credentials")
            return answer_json(200, self.documents[url.path])
        if url.path.startswith("/session/"):
            return self.piece(url.path, headers, body)
        if ".well-known" in url.path:
            return answer_json(404, {"error": "not here"})
        return self.call(verb, url, headers, body)

    def scopes_of(self, token):
        """The scopes of a token as its provider tells them (RFC 7662); `None` for one that is not in force."""
        fields = urlencode({"token": token, "token_type_hint": "access_token"}).encode()
        name, secret = (quote(part, safe="") for part in self.client)
        basic = base64.b64encode(f"{name}:{secret}".encode()).decode()
        request = urllib.request.Request(f"{self.issuer}/token/introspection", fields, {"authorization": f"Basic {basic}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            token = json.load(answer)
        return set(token["scope"].split()) if token["active"] and token["client_id"] == self.client[0] else None

    # The APIs.

    def call(self, verb, url, headers, body):
        found = [one for one in self.methods if one[0] == verb and one[1].fullmatch(url.path)]
        if not found:
            return self.complain(f"{verb} {url.path} is no method")
        _, path, protocol, method, document = max(found, key=lambda one: len(one[1].pattern))
        name = method["id"]
        query = parse_qsl(url.query, keep_blank_values=True)
        declared = {**document.get("parameters", {}), **method.get("parameters", {})}
        for key, value in query:
            if key not in declared or declared[key]["location"] != "query":
                return self.complain(f"{name}: no query parameter {key}")
            if value not in declared[key].get("enum", [value]):
                return self.complain(f"{name}: {key} cannot be {value}")
        given = {key for key, _ in query}
        for key, parameter in method.get("parameters", {}).items():
            if parameter.get("required") and parameter["location"] == "query" and key not in given:
                return self.complain(f"{name}: {key} is missing")
        token = headers.get("authorization", "").removeprefix("Bearer ")
        granted = self.scopes_of(token)
        if granted is None:
            return answer_json(401, {"error": {"code": 401, "message": "invalid credentials"}})
        if not granted & set(method["scopes"]):
            return answer_json(403, {"error": {"code": 403, "message": "insufficient scopes"}})
        self.calls.append(name)
        query = dict(query)
        if protocol is not None:
            return self.upload(method, query, headers, body)
        if query.get("alt") == "media":
            content = self.content.get(url.path.rsplit("/", 1)[-1])
            if content is None:
                return answer_json(404, {"error": {"code": 404, "message": "no such file"}})
            return 200, {"content-type": "application/octet-stream"}, content
        if body:
            problem = misfit(json.loads(body), method.get("request"), document)
            if problem:
                return self.complain(f"{name}: {problem}")
        return answer_json(200, sample(method.get("response"), document, 3))

    def upload(self, method, query, headers, body):
        kind = query.get("uploadType")
        if kind == "resumable":
            place = f"/session/{len(self.sessions)}"
            self.sessions[place] = (bytearray(), int(headers["x-upload-content-length"]))
            return 200, {"location": self.url + place}, b""
        if kind == "multipart":
            if not headers["content-type"].startswith("multipart/related; boundary="):
                return self.complain(f"{method['id']}: {headers['content-type']}")
            boundary = headers["content-type"].split("boundary=")[1]
            _, metadata, content, end = re.split(b"(?:\\A|\r\n)--" + boundary.encode() + b"(?:\r\n|--\r\n)", body)
            json.loads(metadata.split(b"\r\n\r\n", 1)[1])
            body = content.split(b"\r\n\r\n", 1)[1]
            if end:
                return self.complain(f"{method['id']}: the body goes on after its end")
        elif kind != "media":
            return self.complain(f"{method['id']}: uploadType {kind}")
        return self.keep(body)

    def keep(self, content):
        name = f"file{len(self.content)}"
        self.content[name] = bytes(content)
        return answer_json(200, {"id": name, "kind": "drive#file"})

    def piece(self, place, headers, body):
        received, total = self.sessions[place]
        if self.busy and body:
            # Some of it arrived all the same.
            received.extend(body[:UNIT])
            self.busy -= 1
            return 503, {"retry-after": "0"}, b""
        first = re.fullmatch(r"bytes (\d+)-\d+/\d+", headers["content-range"])
        if first:
            if int(first[1]) != len(received):
                return self.complain(f"a piece begins at {first[1]} and not at {len(received)}")
            received.extend(body)
        if len(received) == total:
            return self.keep(received)
        return 308, {"range": f"bytes=0-{len(received) - 1}"} if received else {}, b""

    def complain(self, reason):
        self.complaints.append(reason)
        return answer_json(400, {"error": {"code": 400, "message": reason}})


def walk(node):
    yield from node.get("methods", {}).values()
    for resource in node.get("resources", {}).values():
        yield from walk(resource)


def pattern(path):
    parts = re.split(r"(\{\+?\w+\})", path)
    return re.compile("".join(
        re.escape(part) if not part.startswith("{") else (".+" if part.startswith("{+") else "[^/]+") for part in parts
    ))


def misfit(value, schema, document):
    """Why a value does not fit a schema, looking at members and types only."""
    if schema is None:
        return "an unexpected body"
    schema = document["schemas"].get(schema.get("$ref"), schema)
    kind = schema.get("type")
    types = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
    if kind in types and not isinstance(value, types[kind]):
        return f"{value!r} is not of type {kind}"
    if isinstance(value, dict) and "properties" in schema:
        for name, member in value.items():
            if name not in schema["properties"]:
                return f"there is no member {name}"
            problem = misfit(member, schema["properties"][name], document)
            if problem:
                return f"{name}: {problem}"
    if isinstance(value, list):
        return next(filter(None, (misfit(item, schema["items"], document) for item in value)), None)
    return None


def sample(schema, document, depth):
    """An answer of the shape the document promises."""
    if schema is None:
        return {}
    schema = document["schemas"].get(schema.get("$ref"), schema)
    match schema.get("type"):
        case "object":
            members = schema.get("properties", {}) if depth else {}
            return {name: sample(member, document, depth - 1) for name, member in members.items()}
        case "array":
            return [sample(schema["items"], document, depth - 1)] if depth else []
        case "boolean":
            return True
        case "integer" | "number":
            return 7
        case "string":
            return schema.get("enum", ["7"])[0]
    return None


def answer_json(status, body):
    return status, {"content-type": "application/json; charset=UTF-8"}, json.dumps(body).encode()
