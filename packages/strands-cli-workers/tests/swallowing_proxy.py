"""A TCP proxy on loopback that loses what a server answers for some time, while every connection stays up."""

from __future__ import annotations

import contextlib
import socket
import threading


class SwallowingProxy:
    """Passes bytes on in both directions; those of the server are lost as long as `loses`.

    Attributes:
        port: Where clients connect.
        lost: How many bytes were lost.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.loses, self.lost = threading.Event(), 0
        self._sockets: list[socket.socket] = [self._listening]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                server = socket.create_connection(("127.0.0.1", self._server_port))
                self._sockets += [client, server]
                for source, target, may_lose in ((client, server, False), (server, client, True)):
                    self._threads.append(threading.Thread(target=self._pass_on, args=(source, target, may_lose)))
                    self._threads[-1].start()

    def _pass_on(self, source: socket.socket, target: socket.socket, may_lose: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if may_lose and self.loses.is_set():
                    self.lost += len(data)
                else:
                    target.sendall(data)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End all connections."""
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()
