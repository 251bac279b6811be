"""What unit tests share: Hypothesis without deadlines, and an OpenAI-shaped endpoint on a local port."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import settings

# The first example often pays for an import, and machines that run tests are busy.
settings.register_profile("unit", deadline=None)
settings.load_profile("unit")


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[Any], tuple[int, Any]]], str]]:
    """Start an endpoint that answers each JSON body by a function; returns its base URL."""
    with ExitStack() as started:

        def start(handle: Callable[[Any], tuple[int, Any]]) -> str:
            server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(handle))
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            started.callback(server.server_close)
            started.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_port}/v1"

        yield start


def _handler(handle: Callable[[Any], tuple[int, Any]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, answer = handle(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            payload = json.dumps(answer).encode()
            # A client whose time ran out has hung up.
            with suppress(ConnectionError):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:
            return

    return Handler
