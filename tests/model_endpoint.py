"""An OpenAI-compatible endpoint in this process, for commands that run as a whole."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def model_endpoint(answer: Callable[[int], dict[str, Any]]) -> Iterator[str]:
    """Serve a language model, and give its address; `answer` is called with the number of each request."""
    asked = 0

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal asked
            self.rfile.read(int(self.headers["Content-Length"]))
            asked += 1
            message = {"role": "assistant", "content": json.dumps(answer(asked))}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
