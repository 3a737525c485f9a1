"""server.py HOLOGRAM WRITE_MODEL: `hologram serve` as its clients meet it, the rude ones among them.

A made-up model of 80 tokens answers, so that texts are noise; what is looked at is who gets which.
"""

import base64
import concurrent.futures
import http.client
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

import made_encoder
from serving import Server
from soak import Soak

PARALLEL = 6


def chat(text, **more):
    return {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": 12, **more}


def answers_are_whole(server):
    status, whole = server.ask("/v1/chat/completions", chat("hello"))
    assert status == 200, whole
    choice = whole["choices"][0]
    assert whole["object"] == "chat.completion" and choice["message"]["role"] == "assistant", whole
    usage = whole["usage"]
    assert usage["completion_tokens"] <= 12 and usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    events = server.stream("/v1/chat/completions", chat("hello", stream_options={"include_usage": True}))
    text = "".join(e["choices"][0]["delta"].get("content", "") for e in events if e["choices"])
    assert text == choice["message"]["content"], (text, whole)
    assert events[-1]["usage"]["completion_tokens"] == usage["completion_tokens"]
    assert [e["choices"][0]["finish_reason"] for e in events if e["choices"]][-1] == choice["finish_reason"]
    # The same by its tokens and texts; several prompts and answers.
    status, plain = server.ask("/v1/completions", {"prompt": ["abc", "xyz"], "n": 2, "temperature": 0, "max_tokens": 5})
    assert status == 200 and [c["index"] for c in plain["choices"]] == [0, 1, 2, 3], plain
    texts = [c["text"] for c in plain["choices"]]
    assert texts[0] == texts[1] and texts[2] == texts[3] and texts[0] != texts[2], texts
    one = {"prompt": "abc", "temperature": 1, "seed": 5, "max_tokens": 20}
    drawn = [server.ask("/v1/completions", one)[1]["choices"][0]["text"] for _ in range(2)]
    other = server.ask("/v1/completions", {**one, "seed": 6})[1]["choices"][0]["text"]
    assert drawn[0] == drawn[1] != other, (drawn, other)


def options_count(server):
    full = server.ask("/v1/completions", {"prompt": "abc", "temperature": 0, "max_tokens": 16})[1]["choices"][0]
    stop = full["text"][4:6]
    cut = server.ask("/v1/completions", {"prompt": "abc", "temperature": 0, "max_tokens": 16, "stop": stop})[1]["choices"][0]
    assert cut["text"] == full["text"].split(stop)[0] and cut["finish_reason"] == "stop", (full, cut)
    pieces = server.stream("/v1/completions", {"prompt": "abc", "temperature": 0, "max_tokens": 16, "stop": [stop]})
    assert "".join(e["choices"][0]["text"] for e in pieces) == cut["text"]
    odd = chat("hello", logprobs=True, top_logprobs=3, max_tokens=4)
    tokens = server.ask("/v1/chat/completions", odd)[1]["choices"][0]["logprobs"]["content"]
    assert len(tokens) == 4 and all(len(t["top_logprobs"]) == 3 for t in tokens), tokens
    assert all(t["logprob"] == t["top_logprobs"][0]["logprob"] <= 0 for t in tokens), tokens
    streamed = server.stream("/v1/chat/completions", odd)
    again = [t for e in streamed if e["choices"][0]["logprobs"] for t in e["choices"][0]["logprobs"]["content"]]
    assert again == tokens, (again, tokens)


def wrong_requests_are_told(server):
    good = chat("hello")
    for path, body, status, word in [
        ("/v1/chat/completions", {"messages": []}, 400, "messages"),
        ("/v1/chat/completions", {"messages": "x"}, 400, "messages"),
        ("/v1/chat/completions", {"messages": [{"role": 1, "content": "x"}]}, 400, "role"),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": 1}]}, 400, "Content"),
        ("/v1/chat/completions", {**good, "temperature": "hot"}, 400, "temperature"),
        ("/v1/chat/completions", {**good, "temperature": -1}, 400, "temperature"),
        ("/v1/chat/completions", {**good, "n": 1e9}, 400, "'n'"),
        ("/v1/chat/completions", {**good, "max_tokens": 0}, 400, "max_tokens"),
        ("/v1/chat/completions", {**good, "stop": [1]}, 400, "stop"),
        ("/v1/chat/completions", {**good, "logit_bias": {"1": 2}}, 400, "logit_bias"),
        ("/v1/chat/completions", {**good, "response_format": {"type": "xml"}}, 400, "response_format"),
        ("/v1/chat/completions", {**good, "response_format": {"type": "json_schema", "json_schema": {
            "schema": {"type": "string", "pattern": "a+"}}}}, 400, "pattern"),
        ("/v1/chat/completions", {**good, "tools": [{"type": "function", "function": {"name": "f"}}]}, 400, "tools"),
        ("/v1/chat/completions", chat("long " * 200), 400, "context"),
        ("/v1/completions", {"prompt": [99999]}, 400, "prompt"),
        ("/v1/completions", {"prompt": {}}, 400, "prompt"),
        ("/v1/completions", {"prompt": ["a"] * 17}, 400, "16"),
        ("/v1/embeddings", {"input": []}, 400, "input"),
        ("/v1/embeddings", {"input": [[1], 2]}, 400, "input"),
        ("/v1/embeddings", {"input": [99999]}, 400, "input"),
        ("/v1/embeddings", {"input": ["a"] * 3000}, 400, "2048"),
        ("/v1/embeddings", {"input": "long " * 200}, 400, "context"),
        ("/v1/embeddings", {"input": "x", "dimensions": 3}, 400, "dimensions"),
        ("/v1/embeddings", {"input": "x", "encoding_format": "int8"}, 400, "encoding_format"),
        ("/v1/nothing", {}, 404, "address"),
    ]:  # fmt: skip
        got, answer = server.ask(path, body)
        assert got == status and word in answer["error"]["message"], (path, body, got, answer)
    for raw, status in [("{", 400), ("[]", 400), ('{"messages": ' + "[" * 5000, 400), ("\xff", 400),
                        ('{"a": ' * 200 + "1" + "}" * 200, 400), (" " * (5 << 20), 413)]:  # fmt: skip
        assert server.ask("/v1/chat/completions", raw=raw)[0] == status, raw[:40]
    for headers, status in [({"Content-Type": "text/plain"}, 415), ({"Origin": "http://evil.example"}, 403),
                            ({"Host": "evil.example"}, 403)]:  # fmt: skip
        assert server.ask("/v1/chat/completions", good, headers)[0] == status, headers
    assert server.ask("/v1/models")[1]["data"][0]["id"] == "made.gguf"
    assert server.ask("/v1/models/made.gguf")[0] == 200 and server.ask("/v1/models/other")[0] == 404


TEXTS = ["a cat", "small dogs", "x", *(f"the {'cat ' * (n % 9)}dog" for n in range(60))]


def apart(rows, others):
    return max(abs(a - b) for row, other in zip(rows, others, strict=True) for a, b in zip(row, other, strict=True))


# `embed` takes activations as they are; what rounds them to bytes is near that.
def vectors_are_near_those_of_embed(server):
    vectors_are_those_of_embed(server, 0.02)


def vectors_are_those_of_embed(server, most=1e-5):
    told = subprocess.run([server.command, "embed", server.model, *TEXTS, "--json"], check=True, capture_output=True)
    expected = json.loads(told.stdout)["vectors"]
    assert 0.01 < apart(expected[:1], expected[1:2])
    status, answer = server.ask("/v1/embeddings", {"input": TEXTS, "model": "any"})
    assert status == 200 and [row["index"] for row in answer["data"]] == list(range(len(TEXTS))), answer
    assert apart([row["embedding"] for row in answer["data"]], expected) < most
    one = server.ask("/v1/embeddings", {"input": TEXTS[1], "encoding_format": "base64", "dimensions": len(expected[0])})[1]
    row = struct.unpack(f"<{len(expected[0])}f", base64.b64decode(one["data"][0]["embedding"]))
    assert apart([row], expected[1:2]) < most
    assert 3 <= one["usage"]["prompt_tokens"] == one["usage"]["total_tokens"] < answer["usage"]["total_tokens"]
    tokens = server.ask("/v1/embeddings", {"input": [[2, 5, 3], [2, 6, 6, 3]]})[1]
    assert tokens["usage"]["prompt_tokens"] == 7 and len(tokens["data"]) == 2


def vectors_come_beside_answers(server):
    ask = {"prompt": "abc", "temperature": 0, "max_tokens": 40}
    words = {"input": ["a cat", "a dog"]}
    alone = server.ask("/v1/completions", ask)[1]["choices"], server.ask("/v1/embeddings", words)[1]["data"]
    with concurrent.futures.ThreadPoolExecutor(6) as threads:
        texts = [threads.submit(server.ask, "/v1/completions", ask) for _ in range(3)]
        rows = [threads.submit(server.ask, "/v1/embeddings", words) for _ in range(20)]
        assert all(each.result()[1]["choices"] == alone[0] for each in texts)
        assert all(each.result()[1]["data"] == alone[1] for each in rows)


def encoders_make_no_text(server):
    for path, body in [("/v1/chat/completions", chat("hello")), ("/v1/completions", {"prompt": "a"})]:
        status, answer = server.ask(path, body)
        assert status == 400 and "encoder (bert)" in answer["error"]["message"], answer
        assert "/v1/embeddings" in answer["error"]["message"], answer
    about = server.ask("/v1/models")[1]["data"][0]
    assert about["architecture"] == "bert" and about["context"] == made_encoder.POSITIONS, about
    for body, word in [({"input": "cat " * 80}, "context"), ({"input": []}, "input"), ({"input": [[]]}, "empty")]:
        status, answer = server.ask("/v1/embeddings", body)
        assert status == 400 and word in answer["error"]["message"], answer


def rude_connections_end(server):
    rng = random.Random(3)
    for text in [b"", b"\x00" * 100, b"GET", b"GET / HTTP/1.1\r\n", b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                 b"POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{", b"\r\n" * 500,
                 b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n", rng.randbytes(3000)]:  # fmt: skip
        with socket.create_connection(("127.0.0.1", server.port)) as s:
            s.sendall(text)
    assert server.ask("/health")[0] == 200


def ends_well(server):
    """What is under way when it is to stop is answered."""
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        answer = threads.submit(server.stream, "/v1/completions", {"prompt": "abc", "max_tokens": 100, "temperature": 0})
        time.sleep(0.05)
        server.process.send_signal(signal.SIGTERM)
        try:
            assert answer.result()[-1]["choices"][0]["finish_reason"]
        except (ConnectionError, http.client.HTTPException, AssertionError):
            pass  # it came too late
    assert server.process.wait(60) == 0


def real_client(server):
    client = server.openai_client()
    if client is None:
        return
    assert client.models.list().data[0].id == "made.gguf"
    messages = [{"role": "user", "content": "hello"}]
    whole = client.chat.completions.create(model="made.gguf", messages=messages, temperature=0, max_tokens=9, logprobs=True)
    pieces = client.chat.completions.create(model="made.gguf", messages=messages, temperature=0, max_tokens=9, stream=True)
    assert "".join(p.choices[0].delta.content or "" for p in pieces) == whole.choices[0].message.content
    assert len(whole.choices[0].logprobs.content) == whole.usage.completion_tokens
    assert client.completions.create(model="made.gguf", prompt="abc", max_tokens=3).choices[0].text
    vector = client.embeddings.create(model="made.gguf", input="x").data[0].embedding
    assert abs(sum(number**2 for number in vector) - 1) < 1e-4


def try_parts(server, parts):
    for part in parts:
        part(server)
        server.idle()
        print(f"{part.__name__}: right")


def main():
    command, write_model = sys.argv[1:3]
    count = int(os.environ.get("HOLOGRAM_TEST_REQUESTS", "100"))
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "made.gguf")
        subprocess.run([write_model, model], check=True)
        server = Server(command, model, "--context", "256", "--parallel", str(PARALLEL), "--reproducible", "--cache-tokens", "1024")
        try:
            try_parts(server, [
                answers_are_whole, options_count, wrong_requests_are_told, vectors_are_near_those_of_embed,
                vectors_come_beside_answers, rude_connections_end, real_client,
            ])  # fmt: skip
            kinds, held, _ = Soak(server).run(count, 16)
            print(f"soak: {dict(kinds)}; MiB, threads and files: {held}")
            ends_well(server)
        finally:
            server.process.kill()
        server = Server(command, model, "--activations", "exact", "--reproducible")
        try:
            try_parts(server, [vectors_are_those_of_embed])
        finally:
            server.process.kill()
        encoder = os.path.join(folder, "encoder")
        made_encoder.save(encoder)
        server = Server(command, encoder)
        try:
            try_parts(server, [vectors_are_those_of_embed, encoders_make_no_text, rude_connections_end])
        finally:
            server.process.kill()
    print("passed")


if __name__ == "__main__":
    main()
