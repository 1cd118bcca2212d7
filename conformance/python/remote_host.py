"""Serves an app of a peer on a port of its own, says where, and ends with its parent."""

import asyncio
import os
import socket
import sys
import threading

import uvicorn


def serve(make) -> None:
    """`make` gets the URL and gives the app."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(make(url), log_level="warning"))
    # Whoever started this holds the other end.
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()

    async def run():
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        while not server.started and not serving.done():
            await asyncio.sleep(0.05)
        print(url, flush=True)
        await serving

    asyncio.run(run())
