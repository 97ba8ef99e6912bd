"""What the person, the model and the file system of every test client answer."""

ANSWERS = {"name": "Ada", "colour": "green"}
SAMPLE = {"role": "assistant", "content": {"type": "text", "text": "four"}, "model": "test-model"}
SAMPLE["stopReason"] = "endTurn"
ROOTS = {"roots": [{"uri": "file:///workspace", "name": "workspace"}]}


def elicit(params):
    if "decline" in params["message"]:
        return {"action": "decline"}
    if params.get("mode") == "url":
        return {"action": "accept"}
    asked = params["requestedSchema"]["properties"]
    return {"action": "accept", "content": {name: ANSWERS[name] for name in asked}}
