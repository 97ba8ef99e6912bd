"""One check per feature: what a server does must reach the client, and what the client answers the server.

A check gets a `Face` and raises `Problem` when something is not as the server meant it.
"""

import json
import secrets
from pathlib import Path

from program import Failed, settled

OFFER = json.loads((Path(__file__).parent / "offer.json").read_text())
LISTS = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
ENVELOPE = {"resultType", "ttlMs", "cacheScope"}
MARKS = {"io.modelcontextprotocol/serverInfo", "caplets"}
NAME = {"action": "accept", "content": {"name": "Ada"}}
COLOUR = {"action": "accept", "content": {"colour": "green"}}
SAMPLE = {
    "role": "assistant",
    "content": {"type": "text", "text": "four"},
    "model": "test-model",
    "stopReason": "endTurn",
}
ROOTS = {"roots": [{"uri": "file:///workspace", "name": "workspace"}]}


class Problem(Exception):
    """What is not as it should be."""


def same(got, want, what):
    if got != want:
        raise Problem(f"{what}: got {short(got)}, not {short(want)}")


def short(value):
    return json.dumps(value, ensure_ascii=False)[:400]


def plain(value):
    """A result without what the protocol itself adds to it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        if key in ENVELOPE:
            continue
        if key == "_meta":
            item = {name: part for name, part in item.items() if name not in MARKS}
            if not item:
                continue
        kept[key] = plain(item)
    return kept


def text_of(result):
    if result.get("isError"):
        raise Problem(f"the tool failed: {short(result['content'])}")
    return result["content"][0]["text"]


def without_defaults(result):
    """`isError: false` says what its absence says."""
    return {key: value for key, value in plain(result).items() if not (key == "isError" and value is False)}


async def about(face):
    said = face.session.about
    same(said.get("instructions"), OFFER["instructions"], "instructions")
    for kind in ("tools", "prompts", "resources"):
        same(said["capabilities"].get(kind, {}).get("listChanged"), True, f"capabilities.{kind}.listChanged")
    same(said["capabilities"]["resources"].get("subscribe"), True, "capabilities.resources.subscribe")
    for kind in ("completions", "logging"):
        if said["capabilities"].get(kind) is None:
            raise Problem(f"capabilities.{kind} is missing")


async def pages(face):
    for method, (field, key) in LISTS.items():
        items, _pages = await face.listing(method)
        names = [item[key] for item in items if item["name"] != "extra"]
        same(names, [item[key] for item in OFFER[field]], method)
    try:
        await face.session.order("request", method="tools/list", params={"cursor": "no such page"})
    except Failed:
        return
    raise Problem("a made-up cursor was taken for a page")


def defined(keys):
    """A check that these members of every listed item are what the server said."""

    async def check(face):
        for method, (field, key) in LISTS.items():
            items, _pages = await face.listing(method)
            got = {item[key]: item for item in items}
            for offered in OFFER[field]:
                for member in keys:
                    mine = plain(got[offered[key]])
                    same(mine.get(member), offered.get(member), f"`{member}` of {offered[key]}")

    return check


async def meta(face):
    await defined(["_meta"])(face)
    result = plain(await face.raw_call("structured"))
    offered = OFFER["results"]["structured"]
    same(result.get("_meta"), offered["_meta"], "`_meta` of a result")
    same(result["content"][0].get("_meta"), offered["content"][0]["_meta"], "`_meta` of content")
    contents = plain(await face.read("bridge://note"))["contents"][0]
    same(contents.get("_meta"), {"example.test/read": True}, "`_meta` of a resource's contents")


async def unknown(face):
    if face.is_alone:
        await defined(["x-unknown"])(face)
    same(without_defaults(await face.raw_call("strange")), OFFER["results"]["strange"], "result")


async def structured(face):
    if face.is_alone:
        await defined(["outputSchema", "annotations", "title"])(face)
    result = await face.call("structured")
    same(result.get("structuredContent"), OFFER["results"]["structured"]["structuredContent"], "structuredContent")


async def rich(face):
    same(without_defaults(await face.raw_call("rich")), OFFER["results"]["rich"], "result")


async def tool_error(face):
    result = plain(await face.call("fail"))
    same(result.get("isError"), True, "isError")
    same(result["content"], OFFER["results"]["fail"]["content"], "content")


async def protocol_error(face):
    try:
        result = await face.call("refuse")
    except Failed as failed:
        error = failed.error
    else:
        # A view of the deck stands between: there the server's error is inside of a tool error.
        if face.is_alone:
            raise Problem(f"a result instead of an error: {short(result)}")
        failure = result["structuredContent"]["error"]
        error = {"message": failure["message"], **failure["details"]["remote"]}
    for member in ("code", "message", "data"):
        same(error.get(member), OFFER["refusal"][member], f"error.{member}")


async def asked(face, tool, want, questions, **arguments):
    """Calls a tool that asks; the questions must reach the client and its answers the tool."""
    start = len(face.session.events.seen)
    result = await face.call(tool, **arguments)
    same(json.loads(text_of(result)), want, "what the tool was answered")
    check_questions(face, start, questions)


def check_questions(face, start, names):
    seen = [event for event in face.session.events.seen[start:] if event["event"] == "asked"]
    got = sorted((event["method"], json.dumps(words(event["params"]), sort_keys=True)) for event in seen)
    offered = [OFFER["questions"][name] for name in names]
    want = sorted((one["method"], json.dumps(words(one.get("params", {})), sort_keys=True)) for one in offered)
    same(got, want, "what the client was asked")


def words(params):
    """A question without what belongs to one revision: ids, the mode that is the default, marks."""
    kept = {key: value for key, value in params.items() if key not in ("_meta", "elicitationId")}
    if kept.get("mode") == "form":
        del kept["mode"]
    return kept


async def form(face):
    await asked(face, "ask_form", {"name": NAME}, ["name"])
    await asked(face, "ask_form", {"decline": {"action": "decline"}}, ["decline"], answer="decline")


async def url(face):
    await asked(face, "ask_url", {"page": {"action": "accept"}}, ["page"])


async def sampling(face):
    await asked(face, "ask_sampling", {"model": SAMPLE}, ["model"])


async def roots(face):
    await asked(face, "ask_roots", {"roots": ROOTS}, ["roots"])


async def twice(face):
    await asked(face, "ask_twice", {"name": NAME, "colour": COLOUR}, ["name", "colour"])


async def both(face):
    await asked(face, "ask_both", {"name": NAME, "model": SAMPLE}, ["name", "model"])


async def prompt_asks(face):
    start = len(face.session.events.seen)
    result = await face.prompt("asks")
    same(json.loads(result["messages"][0]["content"]["text"]), {"name": NAME}, "what the prompt was answered")
    check_questions(face, start, ["name"])


async def resource_asks(face):
    start = len(face.session.events.seen)
    result = await face.read("bridge://asks")
    same(json.loads(result["contents"][0]["text"]), {"name": NAME}, "what the resource was answered")
    check_questions(face, start, ["name"])


async def capabilities(face):
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta = {"example.test/sent": [1, {"deep": True}], "traceparent": trace}
    seen = json.loads(text_of(await face.raw_call("seen", meta=meta)))
    same(seen["capabilities"], ["elicitation", "roots", "sampling"], "what the server knows of the client")
    same(seen["modes"], ["form", "url"], "the ways to elicit the server knows of")
    same(seen["meta"], meta, "`_meta` of the request")


async def unable(face):
    session = await face.session.bare()
    try:
        bare = type(face)(session, face.id, face.view)
        seen = json.loads(text_of(await bare.raw_call("seen")))
        same(seen["capabilities"], [], "what the server knows of a client that cannot be asked")
        try:
            result = await bare.call("ask_form")
        except Failed as failed:
            text = failed.error["message"]
        else:
            same(result.get("isError"), True, "isError of a tool that could not ask")
            text = result["content"][0]["text"]
        check_refusal(face, text)
    finally:
        await session.close()


def check_refusal(face, text):
    """What failed and what to do, in the words of the host or of the modern era; without a view a server says it in its own."""
    if face.view is None:
        missing = [] if text.strip() and "no answer" not in text else ["why it failed"]
    elif "needs a client that declares `elicitation.form`" in text:
        missing = []
    else:
        missing = [] if f"`{face.id}.ask_form`" in text and "(`elicitation`)" in text else ["what failed"]
        missing += [] if "turn on elicitation" in text and f"capdeck call {face.id} ask_form" in text else ["what to do"]
    if missing:
        raise Problem(f"the call does not say {' and '.join(missing)}: {short(text)}")


async def until(face, tool, matches):
    """Calls a tool that ends when it is released, which happens once the client received what matches."""
    key, start = secrets.token_hex(8), len(face.session.events.seen)
    _number, future = face.session.start_call(*face.tool(tool, {"key": key}))
    await face.session.events.wait(matches, start)
    text_of(await face.call("release", key=key))
    text_of(await settled(future, tool))
    return face.session.events.seen[start:]


async def logging(face):
    await face.session.order("level", level="info")
    seen = await until(face, "log_levels", lambda event: event["event"] == "log" and event["level"] == "error")
    got = [[event["level"], event["data"], event["logger"]] for event in seen if event["event"] == "log"]
    same(got, [[level, data, "bridge"] for level, data in OFFER["logs"][1:]], "logs from `info` on")


async def progress(face):
    seen = await until(face, "progress", lambda event: event["event"] == "progress" and event["step"][0] == 3)
    steps = [event["step"] for event in seen if event["event"] == "progress"]
    same(steps, OFFER["steps"], "progress, before the result")


async def cancellation(face):
    key = secrets.token_hex(8)
    name, arguments = face.tool("slow", {"key": key})
    number, future = face.session.start_call(name, arguments)
    text_of(await face.call("await_started", key=key))
    if future.done():
        raise Problem(f"the call ended by itself: {short(future.result())}")
    await face.session.client.order("cancel", call=number)
    text_of(await face.call("await_cancelled", key=key))
    try:
        result = await settled(future, "the cancelled call")
    except Failed:
        return
    if not result.get("isError"):
        raise Problem(f"the cancelled call has a result: {short(result)}")


async def resources(face):
    for uri in ("bridge://note", "bridge://bytes"):
        same(plain(await face.read(uri))["contents"], [OFFER["contents"][uri]], uri)
    item = (await face.read("bridge://items/7"))["contents"][0]
    same(item["text"], "item 7", "a resource of a template")


async def no_resource(face):
    try:
        result = await face.read("bridge://nothing")
    except Failed as failed:
        if "bridge://nothing" not in json.dumps(failed.error):
            raise Problem(f"the error does not name the resource: {short(failed.error)}") from None
        return
    raise Problem(f"a result instead of an error: {short(result)}")


async def interface(face):
    tools, _pages = await face.listing("tools/list")
    link = next(tool for tool in tools if tool["name"] == "show")["_meta"]["ui"]
    same(link, {"resourceUri": "ui://bridges/view", "visibility": ["model", "app"]}, "`_meta.ui` of the tool")
    contents = plain(await face.read(link["resourceUri"]))["contents"]
    same(contents, [OFFER["contents"][link["resourceUri"]]], "the resource")


async def prompts(face):
    result = await face.prompt("greet", name="Grace")
    same(result["messages"], [{"role": "user", "content": {"type": "text", "text": "Greet Grace."}}], "messages")


async def completions(face):
    for ref in ({"type": "ref/prompt", "name": "greet"}, {"type": "ref/resource", "uri": "bridge://people/{name}"}):
        params = {"ref": ref, "argument": {"name": "name", "value": "Ad"}}
        result = await face.session.order("request", method="completion/complete", params=params)
        same(result["completion"]["values"], ["Ada", "Adele"], f"values for {ref['type']}")


async def updates(face):
    await face.session.order("listen", uri="bridge://counter")
    start = len(face.session.events.seen)
    count = text_of(await face.call("touch"))
    event = await face.session.events.wait(lambda event: event["event"] == "updated", start)
    if event is None:
        raise Problem("the client got no notification of update")
    same(event["uri"], "bridge://counter", "uri")
    same((await face.read("bridge://counter"))["contents"][0]["text"], count, "the new contents")


def list_changed(kind):
    """A check that a changed list is announced, and is the new one once it is."""

    async def check(face):
        await face.session.order("listen", uri="bridge://counter")
        start = len(face.session.events.seen)
        revision = text_of(await face.call(f"change_{kind}"))
        event = await face.session.events.wait(
            lambda event: event["event"] == "changed" and event["kind"] == kind, start
        )
        if event is None:
            raise Problem("the client got no notification of change")
        items, _pages = await face.listing(f"{kind}/list")
        found = [item["description"] for item in items if item["name"] == "extra"]
        same(found, [f"revision {revision}"], "the new item")

    return check


async def task(face):
    done = await face.session.order("task", name="work")
    same(without_defaults(done["result"])["content"], OFFER["results"]["work"]["content"], "the task's result")
    if not done["states"] or done["states"][-1] != "completed":
        raise Problem(f"the states were {done['states']}")
    same(done.get("listed", True), True, "the task in the list of tasks")


async def no_task(face):
    """Without tasks in common the tool runs at once."""
    same(text_of(await face.call("work")), "worked", "the tool's result")
