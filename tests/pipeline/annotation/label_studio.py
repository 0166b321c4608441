"""A stub of Label Studio: projects, tasks and annotations behind a token, as version 1.23 answers."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

REFRESH = "aaaa.bbbb.cccc"


class Stub:
    """The server. People's answers are added with `annotate`."""

    def __init__(self) -> None:
        self.projects: list[dict[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.accesses = 0
        self.most_imports: int | None = None
        self.has_hook = True
        self.messages: list[dict[str, Any]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(*stub.get(self.path, self.headers))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self._answer(*stub.post(self.path, self.headers, body))

            def _answer(self, status: int, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def _is_known(self, headers: Any) -> bool:
        return headers["Authorization"] == f"Bearer access{self.accesses}"

    def get(self, path: str, headers: Any) -> tuple[int, Any]:
        if not self._is_known(headers):
            return 401, {"detail": "Token is expired"}
        if path.startswith("/api/projects/?"):
            return 200, {"results": self.projects}
        if path.endswith("/export?exportType=JSON"):
            return 200, [task for task in self.tasks if task["annotations"]]
        return 200, {"id": 1, "task_number": len(self.tasks)}

    def post(self, path: str, headers: Any, body: Any) -> tuple[int, Any]:
        if path == "/hook" and self.has_hook:
            self.messages.append(body)
            return 200, {}
        if path == "/api/token/refresh":
            self.accesses += 1
            return (200, {"access": f"access{self.accesses}"}) if body["refresh"] == REFRESH else (401, {})
        if not self._is_known(headers):
            return 401, {"detail": "Token is expired"}
        if path == "/api/projects/":
            self.projects.append({"id": 1, **body})
            return 201, self.projects[-1]
        if self.most_imports is not None and len(self.tasks) >= self.most_imports:
            return 500, {"detail": "the disk is full"}
        self.tasks += [{"id": 900 + len(self.tasks), "annotations": [], **task} for task in body]
        return 201, {"task_count": len(body)}

    def annotate(self, task: int, value: dict[str, Any], user: int = 7, *, is_skipped: bool = False) -> None:
        result = [] if is_skipped else [{"from_name": "answer", "to_name": "text", "type": "any", "value": value}]
        annotation = {"completed_by": user, "was_cancelled": is_skipped, "result": result}
        self.tasks[task]["annotations"].append(annotation)
