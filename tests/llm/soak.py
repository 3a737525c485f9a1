"""soak.py HOLOGRAM MODEL [--requests N] [--clients N] [--seed N]: many clients of `hologram serve` at once.

Some go away before, in the middle of or just behind their answers, some read slowly, send half a request, broken JSON,
or prompts as long as the context. Requests of a kind that are answered are drawn from a pool, and the server, which is
`--reproducible`, answers each of the pool alone first: tokens and log probabilities have to be the same to the bit
later, so that nobody gets another's text and nothing is lost. At each fifth of the way the server has to become idle,
with the memory, threads and open files that it had before.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import random
import socket
import struct
import sys
import threading
import time

from serving import Server

PATH = "/v1/completions"
# MiB by which the resident memory may change, once it has seen a fifth of all; the address sanitizer keeps what is freed.
MEMORY = 16 if "UBSAN_OPTIONS" not in os.environ else 512


class Soak:
    def __init__(self, server, seed=0):
        self.server = server
        self.context = server.ask("/v1/models")[1]["data"][0]["context"]
        rng = random.Random(seed)
        names = ["Ann", "Bob", "the small cat", "x", "Ümit", "a dog and " * 4 + "a bird", "Lily", "zebra 3"]
        self.pool = [self.drawn(rng, names[i % len(names)]) for i in range(40)]
        # Prompts that nothing else begins like.
        self.long = [self.drawn(rng, [rng.randrange(5, 80) for _ in range(self.context - 40 - i)]) for i in range(4)]
        self.alone = {id(body): self.told(body) for body in self.pool + self.long}
        self.tokens = 0
        self.lock = threading.Lock()

    def drawn(self, rng, prompt):
        if isinstance(prompt, str):
            prompt += f" {rng.randrange(100)}"
        cold = rng.random() < 0.5
        return {
            "prompt": prompt, "max_tokens": rng.randrange(1, 40), "seed": rng.randrange(1000),
            "temperature": 0 if cold else 1, "logprobs": 1, "n": rng.choice([1, 1, 1, 2]),
        }  # fmt: skip

    def told(self, body):
        """What a whole answer says, in a form that streams have, too."""
        status, answer = self.server.ask(PATH, body)
        assert status == 200, answer
        return [(c["text"], c["logprobs"]["tokens"], c["logprobs"]["token_logprobs"]) for c in answer["choices"]]

    def streamed(self, body, pause=0.0):
        connection = self.server.connect()
        connection.request("POST", PATH, json.dumps({**body, "stream": True}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        told = [["", [], []] for _ in range(body["n"])]
        last = None
        for line in answer:
            time.sleep(pause)
            if not line.startswith(b"data: {"):
                last = line if line.strip() else last
                continue
            event = json.loads(line[6:])
            assert "error" not in event, event
            choice = event["choices"][0]
            told[choice["index"]][0] += choice["text"]
            if choice["logprobs"]:
                told[choice["index"]][1] += choice["logprobs"]["tokens"]
                told[choice["index"]][2] += choice["logprobs"]["token_logprobs"]
        connection.close()
        assert last == b"data: [DONE]\n", last
        return [tuple(each) for each in told]

    def compare(self, body, told):
        for made, alone in zip(told, self.alone[id(body)], strict=True):
            for one, other in zip(made, alone, strict=True):
                assert one == other, f"{body}: {one} is not {other}"
        with self.lock:
            self.tokens += sum(len(tokens) for _, tokens, _ in told)

    # What clients do.

    def whole(self, rng):
        body = rng.choice(self.pool)
        self.compare(body, self.told(body))

    def stream(self, rng):
        body = rng.choice(self.pool)
        self.compare(body, self.streamed(body))

    def slow(self, rng):
        body = rng.choice(self.pool)
        self.compare(body, self.streamed(body, 0.01))

    def long_prompt(self, rng):
        body = rng.choice(self.long)
        self.compare(body, rng.choice([self.told, self.streamed])(body))

    def too_long(self, rng):
        status, answer = self.server.ask(PATH, {"prompt": [7] * rng.randrange(self.context + 1, 5 * self.context)})
        assert status == 400 and "context" in answer["error"]["message"], answer

    def malformed(self, rng):
        text = json.dumps(rng.choice(self.pool))
        cut = rng.choice([text[: rng.randrange(len(text))], text.replace(":", ";", 1), "[" * 3000, '{"prompt": 3}', "\x00"])
        status, answer = self.server.ask(PATH, raw=cut or "{")
        assert status == 400 and answer["error"]["message"], answer

    def vanishes(self, rng):
        """Closes, or resets, its connection at some time; what it had asked for is long."""
        body = {**rng.choice(self.pool + self.long), "max_tokens": 400, "stream": rng.random() < 0.5, "n": rng.choice([1, 3])}
        text = json.dumps(body).encode()
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.server.port)) as s:
            if rng.random() < 0.5:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            part = rng.randrange(len(text)) if rng.random() < 0.2 else len(text)
            s.sendall(head.encode() + text[:part])
            time.sleep(rng.choice([0, 0.01, 0.05, 0.2, 0.5]) * rng.random())

    KINDS = {whole: 8, stream: 8, slow: 2, long_prompt: 2, too_long: 1, malformed: 2, vanishes: 6}

    def one(self, number):
        rng = random.Random(f"request {number}")
        kind = rng.choices(list(self.KINDS), self.KINDS.values())[0]
        kind(self, rng)
        return kind.__name__

    def run(self, count, clients):
        """The kinds of all requests, and what the server holds after each fifth."""
        kinds, held, most = collections.Counter(), [], [0.0]
        done = threading.Event()

        def sample():
            while not done.wait(0.1):
                most[0] = max(most[0], self.server.memory())

        sampler = threading.Thread(target=sample)
        sampler.start()
        try:
            for part in range(5):
                with concurrent.futures.ThreadPoolExecutor(clients) as threads:
                    kinds.update(threads.map(self.one, range(part * count // 5, (part + 1) * count // 5)))
                self.server.idle()
                held.append(self.server.held())
        finally:
            done.set()
            sampler.join()
        sizes, threads, files = zip(*held, strict=True)
        for name, numbers, least in [("memory", sizes, MEMORY), ("threads", threads, 2), ("files", files, 70)]:
            assert max(numbers[1:]) - numbers[0] <= least, f"{name} grow: {numbers}"
        # Behind all the others, the pool once more.
        for body in self.pool[:10]:
            self.compare(body, self.told(body))
        return kinds, held, most[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("hologram")
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    server = Server(options.hologram, options.model, "--parallel", "8", "--reproducible")
    try:
        soak = Soak(server, options.seed)
        start = time.monotonic()
        kinds, held, most = soak.run(options.requests, options.clients)
        seconds = time.monotonic() - start
    finally:
        server.process.terminate()
        code = server.process.wait(60)
    assert code == 0, f"the server ended with {code}"
    print(f"{kinds.total()} requests by {options.clients} clients in {seconds:.1f} s: {dict(sorted(kinds.items()))}")
    print(f"{soak.tokens} tokens, with their log probabilities those of each request alone, to the bit")
    for name, numbers in zip(("MiB resident", "threads", "open files"), zip(*held, strict=True), strict=True):
        print(f"{name} after each fifth: {', '.join(f'{number:.4g}' for number in numbers)}")
    print(f"MiB resident at most: {most:.4g}")


if __name__ == "__main__":
    sys.exit(main())
