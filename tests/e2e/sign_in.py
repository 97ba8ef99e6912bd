"""Clients that are not ours sign in to a host that requires a token.

The official Python client finds the host by its challenge, registers, sends its person to the consent page (which this script fills in as a browser
would), redeems the code and works; what it lacks it asks for by stepping up. The inspector's command line works with the token. An agent without a
browser signs up, waits, is approved and works. One agent asks another one for access, gets it and loses it. Ends with `N passed, N failed, 0 skipped` and exits with 1 when something failed.

    python tests/e2e/sign_in.py [WORD…]     only walks whose label has every word

Needs CAPDECK (the binary), NODE and CAPDECK_TEST_DEPS, as ./test.sh sets them.
"""

import asyncio
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import mcp
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientMetadata

from clients import Inspector
from host import Host

KEY = "the-key-of-this-host-0123456789"
REDIRECT = "http://127.0.0.1:9/callback"


class Machine(Host):
    """A Capdeck that needs a token, with a capsule and a small deck."""

    def __init__(self, capdeck, root):
        super().__init__(capdeck, root, "project")
        # One address signs in more often here than a person would.
        config = {"serve": {"limits": {"auth": {"perMinute": 600, "burst": 200}}}}
        (root / "config" / "config.json").write_text(json.dumps(config))
        self.command("capsule", "new", "team")
        self.command("capsule", "write", "team", "docs://style", "-", given="# Style\nShort functions.\n")

    def env(self):
        return {**super().env(), "CAPDECK_ADMIN_KEY": KEY}

    def command(self, *words, given=""):
        finished = subprocess.run(
            [self.capdeck, *words],
            env=self.env(),
            cwd=self.work,
            input=given,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert finished.returncode == 0, f"capdeck {words}: {finished.stderr or finished.stdout}"
        return finished.stdout


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Browser:
    """Cookies, forms and nothing else."""

    def __init__(self, base):
        self.base, self.cookie = base, None
        self.opener = urllib.request.build_opener(NoRedirects)

    def send(self, address, fields=None, headers=None, body=None, method=None):
        headers = dict(headers or {})
        if self.cookie:
            headers["Cookie"] = self.cookie
        if fields is not None:
            body = urllib.parse.urlencode(fields).encode()
            headers["Origin"] = self.base
        address = urllib.parse.urljoin(self.base, address)
        request = urllib.request.Request(address, data=body, headers=headers, method=method)
        try:
            answer = self.opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        if answer.headers.get("Set-Cookie"):
            self.cookie = answer.headers["Set-Cookie"].split(";")[0]
        return answer.status, answer.headers, answer.read().decode()

    def decide(self, address, choices):
        """Signs in where a page asks for it and agrees; gives where the client is sent back to."""
        status, _, page = self.send(address)
        assert status == 200, page
        if "/oauth/sign-in" in page:
            status, headers, page = self.send("/oauth/sign-in", [("then", hidden(page, "then")), ("key", KEY)])
            assert status == 303, page
            status, _, page = self.send(headers["Location"])
            assert status == 200, page
        assert "requests access" in page and "127.0.0.1" in page, page
        fields = [("request", hidden(page, "request")), ("decision", "approve"), *choices(page)]
        status, headers, page = self.send("/oauth/authorize", fields)
        assert status == 303, page
        return headers["Location"]


def hidden(page, name):
    found = re.search(f'name="{name}" value="([^"]*)"', page)
    assert found, f"no field {name} in {page}"
    return html.unescape(found[1])


def everything(page):
    """Every box of the page marked, and the strongest role for every capsule."""
    chosen = [("deck", "all")] if 'name="deck"' in page else []
    for name in ("scope", "capsule"):
        chosen += [(name, html.unescape(value)) for value in re.findall(f'name="{name}" value="([^"]*)"', page)]
    for role in re.findall(r'<select id="(role\.[^"]*)"(.*?)</select>', page, re.S):
        options = re.findall(r'<option value="([^"]*)"', role[1])
        chosen.append((role[0], options[-1]))
    return chosen


class Storage:
    def __init__(self):
        self.tokens = self.client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


class SignedIn:
    """The official Python client with a person who agrees to everything."""

    def __init__(self, base, path):
        self.url, self.browser, self.storage = base + path, Browser(base), Storage()
        self.asked, self.sent = [], None

    async def redirect(self, address):
        self.asked.append(urllib.parse.parse_qs(urllib.parse.urlsplit(address).query))
        self.sent = await asyncio.to_thread(self.browser.decide, address, everything)

    async def callback(self):
        given = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.sent).query))
        return AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))

    async def work(self, steps, mode):
        metadata = OAuthClientMetadata(client_name="Python client", redirect_uris=[REDIRECT])
        auth = OAuthClientProvider(self.url, metadata, self.storage, self.redirect, self.callback)
        async with create_mcp_http_client(auth=auth) as http:
            async with mcp.Client(streamable_http_client(self.url, http_client=http), mode=mode) as client:
                return await steps(client)


def text_of(result):
    return json.dumps(result.model_dump(mode="json"))


def python_client_signs_in(machine, _inspector, base, mode="legacy"):
    client = SignedIn(base, "/mcp")

    async def steps(session):
        tools = [tool.name for tool in (await session.list_tools()).tools]
        found = await session.call_tool("search", {"query": "time"})
        return tools, found

    tools, found = asyncio.run(client.work(steps, mode))
    assert "search" in tools, tools
    assert not found.is_error, text_of(found)
    (asked,) = client.asked
    assert asked["resource"] == [f"{base}/mcp"], asked
    assert asked["code_challenge_method"] == ["S256"], asked
    assert client.storage.tokens.refresh_token, "it can be renewed"


def python_client_signs_in_modern(machine, inspector, base):
    python_client_signs_in(machine, inspector, base, "2026-07-28")


def python_client_steps_up(_machine, _inspector, base):
    client = SignedIn(base, "/mcp/team")

    async def steps(session):
        read = await session.call_tool("capsol_read", {"uri": "docs://style"})
        assert len(client.asked) == 1, client.asked
        wrote = await session.call_tool("capsol_write", {"uri": "docs://new", "content": "# New", "mode": "create"})
        return read, wrote

    # Requests of the newer protocol stand alone, so what the second token opens is there at once.
    read, wrote = asyncio.run(client.work(steps, "2026-07-28"))
    assert "Short functions" in text_of(read), text_of(read)
    assert not wrote.is_error, text_of(wrote)
    first, second = client.asked
    assert first["scope"] == ["capsule:read"], first
    assert "capsule:append" in second["scope"][0], second


def inspector_works_with_the_token(_machine, inspector, base):
    client = SignedIn(base, "/mcp")

    async def nothing(session):
        await session.list_tools()

    asyncio.run(client.work(nothing, "legacy"))
    token = client.storage.tokens.access_token
    target = {"url": f"{base}/mcp", "headers": {"Authorization": f"Bearer {token}"}}
    (answer,) = inspector.run(target, [{"do": "tools"}])
    assert "result" in answer, answer
    names = [tool["name"] for tool in answer["result"]["tools"]]
    assert "search" in names, names


JSON = {"Content-Type": "application/json"}
ADMIN = {"Authorization": f"Bearer {KEY}"}


def as_admin(base, method, address, body):
    """Asks the interface for programs as the host's owner."""
    sent = json.dumps(body).encode()
    status, _, answer = Browser(base).send(address, body=sent, headers={**JSON, **ADMIN}, method=method)
    assert status in (200, 201), answer
    return json.loads(answer)


def signed_up(base, **wanted):
    """The token of an agent without a browser, before anybody agreed, and where it asks how that stands."""
    status, _, made = Browser(base).send("/v1/agent-enrollments", body=json.dumps(wanted).encode(), headers=JSON)
    assert status == 201, made
    made = json.loads(made)
    return {"Authorization": f"Bearer {made['enrollment_token']}"}, made["poll_url"]


def approved(base, client_id):
    """A person agrees to what an agent asks for."""
    status, _, pending = Browser(base).send("/v1/grants?status=pending", headers=ADMIN)
    assert status == 200, pending
    (request,) = [item for item in json.loads(pending)["items"] if item["client_id"] == client_id]
    return as_admin(base, "POST", f"/v1/grants/{request['id']}/approve", {})


def agent_signs_up(_machine, _inspector, base):
    agent = Browser(base)
    token, poll_url = signed_up(base, client_id="nightly", capsule="team", role="reader", reason="reads the style")
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    status, _, _ = agent.send("/mcp/team", body=ping, headers={**JSON, **token})
    assert status == 401, "nothing is open before a person agreed"
    approved(base, "nightly")
    status, _, state = agent.send(poll_url, headers=token)
    state = json.loads(state)
    assert status == 200 and state["status"] == "approved", state

    async def read():
        async with create_mcp_http_client(headers=token) as http:
            async with mcp.Client(streamable_http_client(state["mcp_url"], http_client=http), mode="legacy") as client:
                return await client.call_tool("capsol_read", {"uri": "docs://style"})

    result = asyncio.run(read())
    assert "Short functions" in text_of(result), text_of(result)


def agents_ask_and_decide(_machine, _inspector, base):
    """One agent finds a capsule and asks for it, another one decides, and takes it back."""
    as_admin(base, "POST", "/v1/capsules", {"name": "handbook", "visibility": "discoverable", "description": "how we work"})
    as_admin(base, "PUT", "/v1/capsules/handbook/entries/docs/leave", {"content": "Thirty days."})
    # All of them are on this machine, so an address says nothing about who they are.
    as_admin(base, "PUT", "/v1/approval-policy", {"mode": "supervisor", "rules": [], "shared_address": True})
    asking, _ = signed_up(base, client_id="asking", capsule="team", role="reader")
    scopes = ["capsule:write", "registry:manage"]
    deciding, _ = signed_up(base, client_id="deciding", capsule="handbook", role="writer", scopes=scopes)
    for name in ("asking", "deciding"):
        approved(base, name)

    async def called(client, tool, **arguments):
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, text_of(result)
        return result.structured_content

    async def walk(agent, supervisor):
        tools = [tool.name for tool in (await agent.list_tools()).tools]
        assert "capsol_capsules" in tools and "capsol_manage" not in tools, tools
        found = await called(agent, "capsol_capsules", action="discover")
        assert found["capsules"] == [{"name": "handbook", "description": "how we work"}], found
        hidden = await agent.call_tool("capsol_read", {"capsule": "handbook", "uri": "docs://leave"})
        assert hidden.is_error and "not_found" in text_of(hidden), text_of(hidden)
        asked = await called(agent, "capsol_capsules", action="request_access", capsule="handbook", reason="to answer")
        assert asked["status"] == "pending", asked
        waiting = await called(supervisor, "capsol_manage", action="list_grant_requests")
        (request,) = waiting["requests"]
        assert request["request_id"] == asked["request_id"] and request["may_decide"], request
        wider = {"action": "approve_grant", "request_id": request["request_id"], "role": "owner"}
        refused = await supervisor.call_tool("capsol_manage", wider)
        assert refused.is_error and "widens" in text_of(refused), text_of(refused)
        granted = await called(supervisor, "capsol_manage", action="approve_grant", request_id=request["request_id"])
        assert granted["granted"]["role"] == "reader", granted
        read = await called(agent, "capsol_read", capsule="handbook", uri="docs://leave")
        assert read["body"] == "Thirty days.", read
        users = await called(supervisor, "capsol_manage", action="list_connections")
        assert [user["client_id"] for user in users["connections"]] == ["asking"], users
        taken = {"action": "revoke_connection", "connection_id": granted["connection_id"]}
        await called(supervisor, "capsol_manage", **taken)
        gone = await agent.call_tool("capsol_read", {"capsule": "handbook", "uri": "docs://leave"})
        assert gone.is_error and "not_found" in text_of(gone), text_of(gone)

    async def both():
        def session(http):
            return mcp.Client(streamable_http_client(f"{base}/mcp", http_client=http), mode="legacy")

        async with create_mcp_http_client(headers=asking) as first, create_mcp_http_client(headers=deciding) as second:
            async with session(first) as agent, session(second) as supervisor:
                await walk(agent, supervisor)

    try:
        asyncio.run(both())
    finally:
        as_admin(base, "PUT", "/v1/approval-policy", {"mode": "human", "rules": [], "shared_address": False})


WALKS = [
    python_client_signs_in,
    python_client_signs_in_modern,
    python_client_steps_up,
    inspector_works_with_the_token,
    agent_signs_up,
    agents_ask_and_decide,
]


def main():
    words = sys.argv[1:]
    deps, node = Path(os.environ["CAPDECK_TEST_DEPS"]), os.environ["NODE"]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="capdeck-sign-in-") as folder:
        root = Path(folder).resolve()
        inspector = Inspector(deps, node, root)
        machine = Machine(os.environ["CAPDECK"], root / "machine")
        with machine.serving() as base:
            for walk in WALKS:
                label = walk.__name__.replace("_", " ")
                if not all(word in label for word in words):
                    continue
                try:
                    walk(machine, inspector, base)
                    passed += 1
                    print(f"passed  {label}")
                except Exception:  # noqa: BLE001
                    failed += 1
                    print(f"FAILED  {label}\n{traceback.format_exc()}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
