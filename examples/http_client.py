#!/usr/bin/env python3
"""Runs a prompt on an Orrery server and tells what happens, with nothing but the standard library (3.9 or newer).

    python3 http_client.py URL TOKEN_FILE PROMPT [SESSION]

Whatever breaks the connection, also a restart of the server, costs nothing: the stream is taken up behind the last
event that was seen. Calls that need a word are asked about on a terminal, and denied without one.
"""
import http.client
import json
import sys
import time
import urllib.error
import urllib.request
import uuid

QUIET_S = 25  # The server's heartbeat comes every 8 seconds.


class Problem(Exception):
    """What the server answers when it does not do what it was asked (RFC 9457)."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body.get('type', '')}: {body.get('detail', '')}")
        self.status = status
        self.code = body.get("type", "").rpartition(":")[2]


class Client:
    def __init__(self, url, token):
        self.url = url.rstrip("/")
        self.token = token

    def ask(self, method, path, body=None, headers=None):
        """The JSON of the answer."""
        with self._open(method, path, body, headers or {}) as response:
            text = response.read()
        return json.loads(text) if text else None

    def follow(self, session, after=0):
        """Every event of the session behind number `after`, once and in order, and live ones between, without end."""
        pause = 0.1
        while True:
            try:
                for number, event, value in self._events(session, after):
                    pause = pause if value["type"] == "connected" else 0.1
                    if event == "reset":
                        yield value
                        if value["reason"] == "removed":
                            return
                        after = 0  # What follows is the log from its beginning.
                    elif number is None:
                        yield value
                    elif number > after:
                        if number != after + 1:
                            break
                        after = number
                        yield value
            except Problem as problem:
                if problem.status < 500 and problem.status not in (408, 429):
                    raise
            except (OSError, http.client.HTTPException):
                pass  # The connection broke, or the server is not there at the moment.
            time.sleep(pause)
            pause = min(pause * 2, 5)

    def _events(self, session, after):
        """The messages of one connection: number, kind and JSON of each. One that broke off is not a message."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        with self._open("GET", f"/v1/sessions/{session}/events", None, headers) as response:
            yield None, "message", {"type": "connected", "after": after}
            number, event, data = None, "message", []
            for line in response:
                field, _, value = line.decode("utf-8").rstrip("\n").partition(":")
                value = value[1:] if value.startswith(" ") else value
                if field == "id":
                    number = int(value)
                elif field == "event":
                    event = value
                elif field == "data":
                    data.append(value)
                elif line == b"\n":
                    if data:
                        yield number, event, json.loads("\n".join(data))
                    number, event, data = None, "message", []

    def _open(self, method, path, body, headers):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {self.token}")
        for name, value in headers.items():
            request.add_header(name, value)
        if body is not None:
            request.add_header("Content-Type", "application/json")
            request.data = json.dumps(body).encode()
        try:
            return urllib.request.urlopen(request, timeout=QUIET_S)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read()
            is_problem = error.headers.get_content_type() == "application/problem+json"
            raise Problem(error.code, json.loads(text) if is_problem else {}) from None


def main(url, token_file, prompt, session=None):
    with open(token_file, encoding="utf-8") as file:
        client = Client(url, file.read().strip())
    session = session or client.ask("POST", "/v1/sessions", {})["session"]
    seen = client.ask("GET", f"/v1/sessions/{session}")["seq"]
    turn = client.ask(
        "POST", f"/v1/sessions/{session}/prompts", {"text": prompt}, {"Idempotency-Key": str(uuid.uuid4())}
    )["turn"]
    print(f"{session}, turn {turn}", file=sys.stderr)
    for event in client.follow(session, seen):
        tell(event)
        if event["type"] == "connected":
            catch_up(client, session)
        elif event["type"] == "approval_requested":
            answer(client, session, event)
        elif event["type"] == "turn_ended" and event["turn"] == turn:
            return 0 if event["reason"] == "completed" else 1


def tell(event):
    if event["type"] == "reply_committed":
        print(event["text"], flush=True)
    elif event["type"] in ("call_started", "call_ended", "turn_ended"):
        print(event["seq"], event["type"], event.get("name", event.get("reason", "")), file=sys.stderr, flush=True)


def catch_up(client, session):
    """A turn whose server died waits for somebody to say that it shall go on, with the questions that were open."""
    try:
        state = client.ask("GET", f"/v1/sessions/{session}")
        if state["status"] == "interrupted":
            client.ask("POST", f"/v1/sessions/{session}/resume", {})
            for question in state["approvals"]:
                answer(client, session, question)
    except Problem as problem:
        if problem.status != 409 and problem.status < 500:  # Else somebody was faster, or the next connection tells.
            raise
    except (OSError, http.client.HTTPException):
        pass  # The next connection tells.


def answer(client, session, event):
    decision = "deny"
    if sys.stdin.isatty():
        said = input(f"{event['reason']}. Run {event['call']}? [y/N] ")
        decision = "allow" if said.strip().lower() == "y" else "deny"
    try:
        client.ask("POST", f"/v1/sessions/{session}/approvals/{event['call']}", {"decision": decision})
    except Problem as problem:
        if problem.code != "settled":  # Somebody else was faster.
            raise


if __name__ == "__main__":
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    try:
        sys.exit(main(*sys.argv[1:]))
    except (Problem, OSError, http.client.HTTPException) as error:
        sys.exit(f"Cannot run the prompt: {error}")
