"""The features of the table, in its order, each with its check and with the reasons why it may not exist."""

from dataclasses import dataclass, field

import checks

LL, LM, ML, MM = "legacy→legacy", "legacy→modern", "modern→legacy", "modern→modern"
BRIDGES = [LL, LM, ML, MM]
ALONE, DIRECT, PROGRESSIVE, SEARCH = "alone", "direct", "progressive", "search"
EVERYWHERE = (ALONE, DIRECT, PROGRESSIVE, SEARCH)
READERS = (ALONE, DIRECT, PROGRESSIVE)


@dataclass
class Feature:
    """A row of the table."""

    name: str
    check: object
    faces: tuple = (ALONE,)
    # Where the feature takes another form: what is checked there instead, and what the table says.
    instead: dict = field(default_factory=dict)
    # Clients whose SDK has no interface for it.
    lacking: tuple = ()
    notes: dict = field(default_factory=dict)


OWN_STREAM = "announced on the session's stream, as handshake revisions do"
LISTENING = "announced on the client's `subscriptions/listen`"
STREAMS = {LL: OWN_STREAM, LM: OWN_STREAM, ML: LISTENING, MM: LISTENING}
NO_CORE_TASKS = ("Python 2", "TypeScript 2")

FEATURES = [
    Feature("capabilities and instructions", checks.about),
    Feature("lists in pages", checks.pages),
    Feature("icons", checks.defined(["icons"])),
    Feature("`_meta` of definitions, results and content", checks.meta),
    Feature("unknown fields and content types", checks.unknown, EVERYWHERE),
    Feature("structured output", checks.structured, EVERYWHERE),
    Feature("images, sound, links, embedded resources", checks.rich, EVERYWHERE),
    Feature("tool errors", checks.tool_error, EVERYWHERE),
    Feature("protocol errors with code and data", checks.protocol_error, EVERYWHERE),
    Feature("questions by form", checks.form, EVERYWHERE),
    Feature("questions by URL", checks.url, EVERYWHERE),
    Feature("sampling", checks.sampling, EVERYWHERE),
    Feature("roots", checks.roots, EVERYWHERE),
    Feature("two questions, one after the other", checks.twice, EVERYWHERE),
    Feature("two questions at once", checks.both, EVERYWHERE),
    Feature("questions of a prompt", checks.prompt_asks, READERS),
    Feature("questions of a resource", checks.resource_asks, READERS),
    Feature("capabilities and `_meta` of the client", checks.capabilities),
    Feature("a client that cannot be asked", checks.unable, EVERYWHERE),
    Feature("logs, from the level asked for", checks.logging),
    Feature("progress", checks.progress, EVERYWHERE),
    Feature("cancellation", checks.cancellation, EVERYWHERE),
    Feature("resources and templates", checks.resources, READERS),
    Feature("a resource that is not there", checks.no_resource),
    Feature("updates of a resource", checks.updates, notes=STREAMS),
    Feature("prompts", checks.prompts, READERS),
    Feature("completions", checks.completions),
    Feature("changes of the list of tools", checks.list_changed("tools"), notes=STREAMS),
    Feature("changes of the list of prompts", checks.list_changed("prompts"), notes=STREAMS),
    Feature("changes of the list of resources", checks.list_changed("resources"), notes=STREAMS),
    Feature("user interface (`ui://` and `_meta.ui`)", checks.interface),
    Feature(
        "tasks of 2025-11-25",
        checks.task,
        instead={bridge: (None, "modern clients have the tasks extension instead") for bridge in (ML, MM)},
        lacking=NO_CORE_TASKS,
        notes={bridge: "tested with the SDKs that have an interface for it: Python 1 and TypeScript 1" for bridge in (LL, LM)},
    ),
    Feature(
        "tasks extension",
        checks.task,
        instead={bridge: (None, "legacy clients have tasks of their own instead") for bridge in (LL, LM)},
        notes={bridge: "the SDKs leave this extension to their users; the tests bring it along" for bridge in (ML, MM)},
    ),
]


def bridge(client, server):
    return f"{client.era}→{server.era}"


def check_for(feature, client, server, face):
    """The check of this feature between these two, or None when there is nothing to check."""
    if face not in feature.faces:
        return None
    where = bridge(client, server)
    if where in feature.instead:
        return feature.instead[where][0]
    if client.sdk in feature.lacking:
        return checks.no_task
    return feature.check
