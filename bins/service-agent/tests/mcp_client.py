"""The official Python client against the search server, over either transport.

Usage: mcp_client.py legacy|auto URL TOKEN            (HTTP)
       mcp_client.py legacy|auto PROGRAM ARGUMENTS... (standard streams)
Prints one JSON document: what the server said.
"""

import asyncio
import json
import os
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client


def transport(arguments):
    if arguments[0].startswith("http"):
        http = create_mcp_http_client(headers={"authorization": f"Bearer {arguments[1]}"})
        return streamable_http_client(arguments[0], http_client=http)
    return StdioServerParameters(command=arguments[0], args=arguments[1:], env=dict(os.environ))


async def main(mode, arguments):
    said = {}
    async with Client(transport(arguments), mode=mode) as client:
        said["version"] = client.session.protocol_version
        said["server"] = client.session.server_info.name if client.session.server_info else None
        said["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        found = await client.call_tool("search", {"query": "tides", "limit": 3})
        said["search"] = found.structured_content
        said["text"] = found.content[0].text
        identity = found.structured_content["results"][0]["id"]
        read = await client.call_tool("fetch", {"id": identity})
        said["fetch"] = read.content[0].text
        near = await client.call_tool("autocomplete", {"q": "moo"})
        said["autocomplete"] = near.structured_content
        wrong = await client.call_tool("search", {"query": "tides", "role": "Nobody"})
        said["wrong"] = [wrong.is_error, wrong.content[0].text]
        unknown = await client.call_tool("remove", {})
        said["unknown"] = unknown.is_error
    print(json.dumps(said))


asyncio.run(main(sys.argv[1], sys.argv[2:]))
