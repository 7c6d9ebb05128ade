"""Programs that stand where llama-server stands, as source text. They behave as b11549 was measured to behave."""

from __future__ import annotations

#: Serves /health, /metrics, /v1/models and /v1/chat/completions; the constants at its top are replaced by `serving`.
_SERVING = r"""
import http.server, json, os, signal, sys, threading
OPTIONS = __OPTIONS__
args = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "--spec-type" in args and "no_head" in OPTIONS:
    sys.exit("context type MTP requested but model doesn't contain MTP layers")
key = open(args["--api-key-file"]).read().strip()
open(args["-m"], "rb").read(4)
print("environment " + json.dumps(sorted(os.environ)), flush=True)
print("using device CUDA0 (NVIDIA A10G) - 22000 MiB free", flush=True)
print("srv  startup with key " + key, flush=True)
loading = OPTIONS.get("loading", 0)
asked = serving = terms = 0

def term(*_):
    global terms
    terms += 1
    if terms > OPTIONS.get("ignored_terms", 0):
        os._exit(0)

signal.signal(signal.SIGTERM, term)

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        global loading
        if loading > 0:
            loading -= 1
            self.answer(503, {"error": {"message": "Loading model", "code": 503}})
        elif self.path == "/health":
            self.answer(200, {"status": "ok"})
        elif self.headers.get("Authorization") != "Bearer " + key:
            self.answer(401, {"error": {"message": "Invalid API Key"}})
        elif self.path == "/metrics" and OPTIONS.get("no_metrics"):
            self.answer(501, {"error": {"message": "This server does not support metrics endpoint."}})
        elif self.path == "/slots":
            self.answer(200, [{"id": 0, "is_processing": serving > 0, "id_task": asked}])
        elif self.path == "/metrics":
            told = {"prompt_tokens_total": asked, "tokens_predicted_total": 0, "requests_processing": serving}
            self.answer(200, "".join("llamacpp:%s %d\n" % pair for pair in told.items()))
        else:
            self.answer(200, {"object": "list", "data": [{"id": OPTIONS.get("alias", args["--alias"])}]})

    def do_POST(self):
        global asked, serving
        self.rfile.read(int(self.headers["Content-Length"]))
        asked, serving = asked + 1, serving + 1
        while asked > 1 and "held" in OPTIONS and not os.path.exists(OPTIONS["held"]):
            threading.Event().wait(0.01)
        serving -= 1
        if OPTIONS.get("hang"):
            threading.Event().wait()
        if OPTIONS.get("die_on_request"):
            print(OPTIONS["die_on_request"], flush=True)
            os._exit(1)
        timings = {"predicted_per_second": 47.9, "draft_n": 26, "draft_n_accepted": 21}
        drafts = int(args.get("--spec-draft-n-max", 0))
        if "speeds" in OPTIONS:
            speed, accepted = OPTIONS["speeds"][drafts]
            timings = {"predicted_per_second": speed, "predicted_n": 48, "draft_n": 100 * bool(drafts)}
            timings["draft_n_accepted"] = accepted
        said = OPTIONS.get("said", {}).get(drafts, "hello")
        self.answer(200, {"choices": [{"message": {"content": said}}], "timings": timings})
        if OPTIONS.get("die_after"):
            print("terminating", flush=True)
            threading.Timer(0.05, lambda: os._exit(OPTIONS["die_after"])).start()

http.server.ThreadingHTTPServer((args["--host"], int(args["--port"])), Handler).serve_forever()
"""


def serving(**options: object) -> str:
    """An engine that serves.

    loading: answers 503 that often. ignored_terms: SIGTERMs it does not follow. hang: completions never come.
    no_metrics: it was started without. held: a file; until it exists every completion but the first is worked on.
    die_on_request: log line before it exits 1 at a completion. die_after: exit code after a completion. alias.
    speeds: drafts -> (tokens/s, accepted of 100 drafts). said: drafts -> the answer. no_head: MTP ends it at start.
    """
    return _SERVING.replace("__OPTIONS__", repr(options))


def ending(code: int, *lines: str) -> str:
    """An engine that writes these lines and ends with that code, or by that signal when it is negative."""
    end = f"os.kill(os.getpid(), {-code})" if code < 0 else f"sys.exit({code})"
    return (
        f"import os, sys\nsys.stderr.write({''.join(line + chr(10) for line in lines)!r})\nsys.stderr.flush()\n{end}\n"
    )
