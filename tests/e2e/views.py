"""How one question is put in each view, and how its answer is brought back to the server's own words.

A step of downstreams.py is in the server's terms. `ask` puts it in the view's terms, or gives None when
the view has no such thing; `answer` turns what came back into what the server itself would have said.
"""

import json
import re
from urllib.parse import quote, unquote

LISTS = {
    "resources": ("resources", "uri"),
    "templates": ("resource_templates", "uriTemplate"),
    "prompts": ("prompts", "prompt"),
}
FIELDS = {"resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}
KEYS = {"resources": "uri", "templates": "uriTemplate", "prompts": "name"}


class Transparent:
    """One server alone, names and URIs untouched."""

    name = "transparent"
    is_alone = True

    def ask(self, _id, step):
        return step

    def answer(self, _id, _step, result):
        return result


class Direct:
    """Everything side by side, each name with its capability in front."""

    name = "direct"
    is_alone = False

    def ask(self, id, step):
        step = dict(step)
        if step["do"] in ("call", "prompt"):
            step["name"] = f"{id}__{step['name']}"
        elif step["do"] == "read":
            step["uri"] = resource_uri(id, step["uri"])
        elif step["do"] == "complete":
            step["ref"] = self.reference(id, step["ref"])
        return step

    def reference(self, id, ref):
        if ref["type"] == "ref/prompt":
            return {**ref, "name": f"{id}__{ref['name']}"}
        template = f"caplets://{id}/resources/{{encodedUri}}?template={encode(ref['uri'])}"
        return {**ref, "uri": template}

    def answer(self, id, step, result):
        if step["do"] == "tools":
            mine = [tool for tool in result["tools"] if tool["name"].startswith(f"{id}__")]
            for tool in mine:
                tool["name"] = tool["name"].removeprefix(f"{id}__")
            return {"tools": mine}
        if step["do"] in FIELDS:
            return self.listing(id, step["do"], result)
        return result

    def listing(self, id, kind, result):
        field = FIELDS[kind]
        mine = []
        for item in result[field]:
            origin = item.get("_meta", {}).get("caplets", {})
            if origin.get("capletId") != id:
                continue
            if kind == "resources":
                item["uri"] = origin["downstreamUri"]
            elif kind == "templates":
                item["uriTemplate"] = origin["downstreamUriTemplate"]
                item["name"] = item["name"].removeprefix(f"{id}:")
            else:
                item["name"] = origin["downstreamName"]
            mine.append(item)
        return {field: mine}


class Progressive:
    """One wrapper tool per capability."""

    name = "progressive"
    is_alone = False

    def ask(self, id, step):
        kind = step["do"]
        if kind == "tools":
            arguments = {"operation": "tools"}
        elif kind in LISTS:
            arguments = {"operation": LISTS[kind][0]}
        elif kind == "call":
            arguments = {"operation": "call_tool", "name": step["name"], "args": step["arguments"]}
        elif kind == "read":
            arguments = {"operation": "read_resource", "uri": step["uri"]}
        elif kind == "prompt":
            arguments = {"operation": "get_prompt", "name": step["name"], "args": step["arguments"]}
        else:
            kinds = {"ref/prompt": "prompt", "ref/resource": "resourceTemplate"}
            ref = {**step["ref"], "type": kinds[step["ref"]["type"]]}
            arguments = {"operation": "complete", "ref": ref, "argument": step["argument"]}
        return {"do": "call", "name": id, "arguments": arguments, "progress": step.get("progress")}

    def answer(self, _id, step, result):
        kind = step["do"]
        if kind == "call":
            return result
        if kind == "read":
            # A resource travels in a tool result as what tool results have for resources.
            return {"contents": [block["resource"] for block in result["content"]]}
        if kind in ("prompt", "complete"):
            return json.loads(result["content"][0]["text"])
        items = result["structuredContent"]["result"]["items"]
        label = "name" if kind == "tools" else LISTS[kind][1]
        return {"names": sorted(item[label] for item in items)}


class Search:
    """Three tools, whatever is installed."""

    name = "search"
    is_alone = False

    def ask(self, id, step):
        if step["do"] == "call":
            arguments = {"name": f"{id}__{step['name']}", "data": step["arguments"]}
            return {"do": "call", "name": "call_tool", "arguments": arguments, "progress": step.get("progress")}
        return None

    def answer(self, _id, _step, result):
        return result


VIEWS = [Transparent(), Direct(), Progressive(), Search()]


def expected(view, step, result):
    """The server's own answer, cut down to what the view shows of it."""
    if view.name == "progressive" and step["do"] in FIELDS:
        return {"names": sorted(item[KEYS[step["do"]]] for item in result[FIELDS[step["do"]]])}
    if view.name == "progressive" and step["do"] == "tools":
        return {"names": sorted(tool["name"] for tool in result["tools"])}
    return result


def normalise(id, value):
    """Takes out what may differ between two honest answers: our marks, our URIs, the time of day."""
    text = json.dumps(strip(value), sort_keys=True, ensure_ascii=False)
    text = re.sub(rf"caplets://{re.escape(id)}/resources/([^\"?]+)", lambda m: unquote(m[1]), text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", "TIME", text)
    text = re.sub(r"\d{1,2}:\d\d:\d\d( [AP]M)?", "TIME", text)
    text = re.sub(r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day", "DAY", text)
    return text


def strip(value):
    if isinstance(value, list):
        return [strip(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, item in value.items():
        if key == "_meta":
            item = {name: part for name, part in item.items() if name != "caplets"}
            if not item:
                continue
        kept[key] = strip(item)
    return kept


def resource_uri(id, uri):
    return f"caplets://{id}/resources/{encode(uri)}"


def encode(text):
    return quote(text, safe="-_.!~*'()")
