"""A proxy of the server that cuts streams at random bytes, as a network does."""

import contextlib
import random
import socket
import threading
import urllib.parse

from client import URL

CUTS = 20
STREAM = b"content-type: text/event-stream"


class Cutting:
    """Cuts the first `most` streams, each after up to `size` bytes of its body."""

    def __init__(self, size, most=CUTS):
        self.size, self.most, self.cuts = size, most, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                to = urllib.parse.urlsplit(URL)
                server = socket.create_connection((to.hostname, to.port))
                for work in [self.ask, self.answer]:
                    threading.Thread(target=self.pass_on, args=(work, client, server), daemon=True).start()

    def pass_on(self, work, client, server):
        with contextlib.suppress(OSError):
            work(client, server)
        for end in [client, server]:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def ask(self, client, server):
        while piece := client.recv(1 << 16):
            server.sendall(piece)

    def answer(self, client, server):
        left = None
        while piece := server.recv(1 << 16):
            body = 0
            if left is None and STREAM in piece and self.cuts < self.most:
                body, left = piece.index(b"\r\n\r\n") + 4, random.randint(1, self.size)
            if left is not None and self.cuts < self.most and len(piece) - body >= left:
                self.cuts += 1
                client.sendall(piece[: body + left])
                return
            client.sendall(piece)
            if left is not None:
                left -= len(piece) - body

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.listener.close()
        assert kind is not None or self.cuts == self.most, f"{self.cuts} cuts of {self.most}"
