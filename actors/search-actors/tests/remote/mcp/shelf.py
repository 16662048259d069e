"""A server made with the official Python SDK, which speaks the generation without a handshake (and the other)."""

import sys

from mcp.server.mcpserver import MCPServer

BOOKS = {
    "Pumps": "Impeller pumps leak when the valve is worn.",
    "Stars": "Planets move in ellipses.",
}

server = MCPServer("shelf")


@server.tool()
def search(query: str) -> list[dict]:
    """Searches books."""
    words = query.lower().split()
    found = [(name, text) for name, text in BOOKS.items() if any(word in text.lower() for word in words)]
    return [{"id": name, "title": name, "text": text, "url": f"https://books.example/{name}"} for name, text in found]


@server.resource("shelf://rules")
def rules() -> str:
    """House rules."""
    return "Whoever borrows a gasket brings it back."


if sys.argv[1] == "stdio":
    server.run()
else:
    server.run(transport="streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
