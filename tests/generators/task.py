"""The task, with the client that openapi-python-client made."""

import sys

from capdeck_client import Client
from capdeck_client.api.capsules import create_capsule, export_capsule, get_capsule, get_entry, list_entries, put_entry
from capdeck_client.api.deck import call_tool
from capdeck_client.models import (
    Capsule, Entry, EntryMetaPage, EntryWriteResult, NewCapsule, NewEntry, Problem, ToolCall, ToolCallArguments,
)

client = Client(base_url=sys.argv[1])


def expect(answer, status, shape):
    assert (answer.status_code, type(answer.parsed)) == (status, shape), answer
    return answer.parsed


made = expect(create_capsule.sync_detailed(client=client, body=NewCapsule(name="Python")), 201, Capsule)

# Written only where there is nothing, read, and written only on the version that was read.
place = {"capsule": made.id, "scheme": "docs", "path": "guides/start", "client": client}
written = expect(put_entry.sync_detailed(**place, body=NewEntry(content="one"), if_none_match="*"), 201, EntryWriteResult)
answer = get_entry.sync_detailed(**place)
entry, tag = expect(answer, 200, Entry), answer.headers["etag"]
assert (entry.body, entry.version, tag) == ("one", 1, '"1"'), (entry, tag)
expect(put_entry.sync_detailed(**place, body=NewEntry(content="two"), if_match=tag), 200, EntryWriteResult)
problem = expect(put_entry.sync_detailed(**place, body=NewEntry(content="three"), if_match=tag), 412, Problem)
assert problem.status == 412 and problem.code and problem.detail and problem.request_id, problem

# A list in pages of one.
put_entry.sync_detailed(**{**place, "path": "guides/next"}, body=NewEntry(content="next"))
found, cursor = [], None
while True:
    more = {"cursor": cursor} if cursor else {}
    page = expect(list_entries.sync_detailed(made.id, client=client, limit=1, **more), 200, EntryMetaPage)
    found += [item.uri for item in page.items]
    cursor = page.next_cursor
    if not cursor:
        break
assert sorted(found) == ["docs://guides/next", "docs://guides/start"], found

expect(get_capsule.sync_detailed("nothing", client=client), 404, Problem)

archive = export_capsule.sync_detailed(made.id, client=client)
assert archive.status_code == 200 and archive.parsed.payload.read(2) == b"\x1f\x8b", archive

result = call_tool.sync_detailed("weather", "look", client=client, body=ToolCall(arguments=ToolCallArguments()))
assert result.status_code == 200 and "clear" in str(result.parsed.to_dict()), result
print("python: the task is done")
