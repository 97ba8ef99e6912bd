"""The tasks extension, which the Python SDK leaves to its users: one task is finished at its second look."""

import secrets

EXTENSION = "io.modelcontextprotocol/tasks"
TIME = "2026-11-01T00:00:00Z"


class Tasks:
    """The tasks of one server."""

    def __init__(self):
        self.tasks = {}

    def create(self, result):
        task = {"taskId": secrets.token_urlsafe(24), "status": "working", "createdAt": TIME}
        task |= {"lastUpdatedAt": TIME, "ttlMs": 60_000, "pollIntervalMs": 50}
        self.tasks[task["taskId"]] = {"task": task, "result": result, "looks": 0}
        return {"resultType": "task", **task}

    def handlers(self):
        return {"tasks/get": self.get, "tasks/cancel": self.cancel}

    async def get(self, context, _params):
        kept = self.tasks[context.params["taskId"]]
        kept["looks"] += 1
        if kept["looks"] > 1 and kept["task"]["status"] == "working":
            kept["task"] |= {"status": "completed", "result": kept["result"]}
        return {"resultType": "complete", **kept["task"]}

    async def cancel(self, context, _params):
        self.tasks[context.params["taskId"]]["task"]["status"] = "cancelled"
        return {"resultType": "complete"}
