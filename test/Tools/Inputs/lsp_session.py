"""Talks to a language server as an editor does that leaves its pipe open: lsp_session.py SERVER.

The server has to end by itself behind `exit`: with 0 where `shutdown` came before, else with 1."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any, BinaryIO

BROKEN = "kernel f(q: [B, T]) -> [B, T] {\n  scaled = q * 2;\n  return scaled + nowhere;\n}\n"
Server = subprocess.Popen


def send(server: Server, method: str, params: Any, number: int | None = None) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    body = json.dumps(message).encode()
    assert server.stdin
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()


def receive(stream: BinaryIO, number: int) -> Any:
    """The answer to a request; what comes before it is skipped."""
    while True:
        length = 0
        while line := stream.readline().strip():
            if line.startswith(b"Content-Length:"):
                length = int(line.split(b":")[1])
        message = json.loads(stream.read(length))
        if message.get("id") == number:
            return message.get("result")


def start(path: str) -> Server:
    server = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    send(server, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
    assert server.stdout
    assert receive(server.stdout, 1)["capabilities"]["hoverProvider"]
    send(server, "initialized", {})
    return server


def main(path: str) -> None:
    server = start(path)
    document = {"uri": "file:///f.nsa", "languageId": "nsa", "version": 1, "text": BROKEN}
    send(server, "textDocument/didOpen", {"textDocument": document})
    place = {"textDocument": {"uri": "file:///f.nsa"}, "position": {"line": 2, "character": 12}}
    send(server, "textDocument/hover", place, 2)
    assert "scaled = q * 2" in receive(server.stdout, 2)["contents"]["value"]
    send(server, "textDocument/definition", place, 3)
    assert receive(server.stdout, 3)["range"]["start"] == {"line": 1, "character": 2}
    send(server, "shutdown", None, 4)
    receive(server.stdout, 4)
    send(server, "exit", None)
    assert server.wait(timeout=60) == 0
    abrupt = start(path)
    send(abrupt, "exit", None)
    assert abrupt.wait(timeout=60) == 1


main(sys.argv[1])
