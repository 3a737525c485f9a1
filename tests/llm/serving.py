"""`hologram serve` as a process, and what is asked of it."""

import http.client
import json
import pathlib
import subprocess
import time


class Server:
    def __init__(self, command, model, *options):
        self.process = subprocess.Popen(
            [command, "serve", model, "--port", "0", *options], stdout=subprocess.PIPE, text=True
        )
        self.command, self.model = command, model
        line = self.process.stdout.readline()
        assert "http://" in line, f"the server did not start: {line}"
        self.port = int(line.split(":")[-1].split("/")[0])

    def openai_client(self):
        """OpenAI's own client of this server; None, which it says, where that is not installed."""
        try:
            import openai
        except ImportError:
            print("the openai client is left out: it is not installed")
            return None
        return openai.OpenAI(base_url=f"http://127.0.0.1:{self.port}/v1", api_key="none")

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)

    def ask(self, path, body=None, headers=None, raw=None):
        """Status and JSON."""
        connection = self.connect()
        data = raw if raw is not None else None if body is None else json.dumps(body)
        headers = {"Content-Type": "application/json", **(headers or {})}
        connection.request("GET" if data is None else "POST", path, data, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)

    def stream(self, path, body):
        """The events of a stream."""
        connection = self.connect()
        connection.request("POST", path, json.dumps({**body, "stream": True}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200 and "text/event-stream" in answer.getheader("Content-Type"), answer.status
        events = [e[len("data: ") :] for e in answer.read().decode().split("\n\n") if e]
        connection.close()
        assert events[-1] == "[DONE]", events[-1]
        return [json.loads(e) for e in events[:-1]]

    def idle(self):
        for _ in range(3000):
            state = self.ask("/health")[1]
            if state["running"] == state["waiting"] == 0:
                return
            time.sleep(0.02)
        raise AssertionError(f"answers are left: {state}")

    def memory(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    def held(self):
        """Resident memory in MiB, threads and open files."""
        process = pathlib.Path(f"/proc/{self.process.pid}")
        return self.memory(), len(list((process / "task").iterdir())), len(list((process / "fd").iterdir()))
