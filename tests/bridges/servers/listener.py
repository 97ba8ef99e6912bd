"""One port of this machine for an ASGI application."""

import json
import socket

import uvicorn


async def serve(handle_request):
    """Serves `/mcp` until the process ends, after printing where that is."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))

    async def application(scope, receive, send):
        if scope["type"] == "http":
            await handle_request(scope, receive, send)

    config = uvicorn.Config(application, log_level="error", lifespan="off")
    listener.listen(100)
    print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"}), flush=True)
    await uvicorn.Server(config).serve(sockets=[listener])
