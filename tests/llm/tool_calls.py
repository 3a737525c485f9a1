"""tool_calls.py HOLOGRAM: calls of tools through `hologram serve`, in the two forms that templates have them.

Models write what a script says (scripted_model.py), so that what is tested is all between: the template with tools and
with their results, calls found in the text, whole and in streams, and calls that are asked for and fit their schema.
"""

import json
import pathlib
import sys
import tempfile

import scripted_model
from serving import Server

TOOLS = [
    {"type": "function", "function": {"name": "weather", "parameters": {
        "type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}, "hourly": {"type": "boolean"}},
        "required": ["city", "hourly"], "additionalProperties": False}}},
    {"type": "function", "function": {"name": "time", "parameters": {
        "type": "object", "properties": {"zone": {"const": "UTC"}}, "required": ["zone"]}}},
]  # fmt: skip

# Begins the script `answer` if all that a client has sent is where templates look for it.
TEMPLATE = """{%- if tools %}MARK {{ tools | tojson }}{% endif %}
{%- for m in messages %}{{ m.role }}: {{ m.content or '' }}
{% endfor %}
{%- set call = messages[-2].tool_calls[0].function if messages | length > 1 and messages[-2].tool_calls else none %}
{%- if call and call.name == 'weather' and call.arguments.city == 'Rome' and tools[1].function.name == 'time'
       and messages[-1].role == 'tool' and messages[-1].content == '21 degrees' and messages[-1].tool_call_id == 'c1' -%}
<go:answer>
{%- else -%}
<go:{{ script }}>
{%- endif %}"""

TAGGED = {
    "answer": ["It is", " 21 degrees."],
    "plain": ["No", " call."],
    "call": ["Let", " me look.", "\n<tool", "_call>\n", '{"name": "weather", ', '"arguments": {"city": "Rome", "hourly": false}}',
             "\n</tool_", "call>"],
    "two": ["<tool_call>", '{"name": "weather", "arguments": {"city": "Oslo"}}', "</tool_call>\n<tool_call>",
            '{"name": "time", "arguments": {}}', "</tool_call>"],
    "broken": ["<tool_call>", "{no JSON", "</tool_call>"],
    "almost": ["A <tool", " shed", " is < 3 m", " <"],
}  # fmt: skip
BARE = {
    "answer": ["It is", " 21 degrees."],
    "plain": ["No", " call."],
    "call": ['{"name": "weather", ', '"parameters": {"city": "Rome", "hourly": false}}'],
    "object": ['{"degrees"', ": 21}"],
}


def ask(server, script, **more):
    """The choice of a whole answer, after making sure that a stream says the same."""
    body = {
        "messages": [{"role": "user", "content": "What of the weather?"}], "tools": TOOLS, "temperature": 0,
        "max_tokens": 400, "chat_template_kwargs": {"script": script}, **more,
    }  # fmt: skip
    status, answer = server.ask("/v1/chat/completions", body)
    assert status == 200, answer
    choice = answer["choices"][0]
    events = [e["choices"][0] for e in server.stream("/v1/chat/completions", body)]
    deltas = [e["delta"] for e in events]
    assert deltas[0]["role"] == "assistant" and not any("role" in d for d in deltas[1:]), deltas
    assert "".join(d.get("content") or "" for d in deltas) == (choice["message"]["content"] or ""), (deltas, choice)
    calls = [call for d in deltas for call in d.get("tool_calls", [])]
    whole = choice["message"].get("tool_calls", [])
    assert [call["index"] for call in calls] == list(range(len(whole))), calls
    assert [call["function"] for call in calls] == [call["function"] for call in whole], (calls, whole)
    assert [e["finish_reason"] for e in events] == [None] * (len(events) - 1) + [choice["finish_reason"]], events
    assert len({call["id"] for call in calls + whole}) == 2 * len(whole)
    assert all(call["type"] == "function" and call["id"].startswith("call_") for call in calls + whole)
    return choice


def calls_of(choice):
    assert choice["finish_reason"] == "tool_calls", choice
    functions = [call["function"] for call in choice["message"]["tool_calls"]]
    return [(function["name"], json.loads(function["arguments"])) for function in functions]


def no_call(choice, text, finish="stop"):
    message = choice["message"]
    assert message["content"] == text and "tool_calls" not in message and choice["finish_reason"] == finish, choice


def results_reach_the_template(server):
    arguments = json.dumps({"city": "Rome", "hourly": False})
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "What of the weather?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "21 degrees"},
    ]
    no_call(ask(server, "plain", messages=messages), "It is 21 degrees.")
    messages[2]["content"] = "22 degrees"
    no_call(ask(server, "plain", messages=messages), "No call.")


def calls_are_asked_for(server):
    (name, arguments), = calls_of(ask(server, "plain", tool_choice="required"))  # fmt: skip
    assert name in ("weather", "time") and arguments, (name, arguments)
    for tool in TOOLS:
        function = tool["function"]
        choice = ask(server, "plain", tool_choice={"type": "function", "function": {"name": function["name"]}})
        (name, arguments), = calls_of(choice)  # fmt: skip
        assert name == function["name"] and arguments.keys() == function["parameters"]["properties"].keys(), arguments
        assert arguments.get("city", "Rome") in ("Rome", "Oslo") and arguments.get("zone", "UTC") == "UTC", arguments
        assert isinstance(arguments.get("hourly", False), bool)


def wrong_tools_are_told(server):
    good = {"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": {"script": "plain"}, "tools": TOOLS}
    for change, word in [
        ({"tools": "x"}, "tools"), ({"tools": [{"type": "retrieval"}]}, "tool"), ({"tool_choice": "maybe"}, "tool_choice"),
        ({"tools": [{"type": "function", "function": {"name": 1}}]}, "name"),
        ({"tool_choice": {"type": "function", "function": {"name": "none of them"}}}, "tool_choice"),
        ({"messages": [{"role": "assistant", "tool_calls": 1}]}, "tool_calls"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "x"}]}]}, "function"),
    ]:  # fmt: skip
        status, answer = server.ask("/v1/chat/completions", {**good, **change})
        assert status == 400 and word in answer["error"]["message"], (change, answer)


def try_tagged(server):
    choice = ask(server, "call")
    assert calls_of(choice) == [("weather", {"city": "Rome", "hourly": False})]
    assert choice["message"]["content"] == "Let me look.", choice
    choice = ask(server, "two")
    assert calls_of(choice) == [("weather", {"city": "Oslo"}), ("time", {})] and choice["message"]["content"] is None
    no_call(ask(server, "broken"), "".join(TAGGED["broken"]))
    no_call(ask(server, "almost"), "".join(TAGGED["almost"]))
    # Cut off in the middle of a call; and where no tools are to be used, calls are text.
    no_call(ask(server, "call", max_tokens=5), "".join(TAGGED["call"][:5]), "length")
    no_call(ask(server, "call", tool_choice="none"), "".join(TAGGED["call"]))
    no_call(ask(server, "call", tools=[]), "".join(TAGGED["call"]))


def try_bare(server):
    choice = ask(server, "call")
    assert calls_of(choice) == [("weather", {"city": "Rome", "hourly": False})] and choice["message"]["content"] is None
    no_call(ask(server, "object"), "".join(BARE["object"]))
    no_call(ask(server, "call", max_tokens=1), BARE["call"][0], "length")
    no_call(ask(server, "call", tools=[]), "".join(BARE["call"]))


def real_client(server):
    client = server.openai_client()
    if client is None:
        return
    ask = dict(
        model="any", messages=[{"role": "user", "content": "x"}], tools=TOOLS, temperature=0,
        extra_body={"chat_template_kwargs": {"script": "call"}},
    )  # fmt: skip
    whole = client.chat.completions.create(**ask).choices[0]
    assert whole.finish_reason == "tool_calls" and whole.message.tool_calls[0].function.name == "weather"
    with client.chat.completions.stream(**ask) as stream:
        for _ in stream:
            pass
        made = stream.get_final_completion().choices[0].message
    assert made.tool_calls[0].function.arguments == whole.message.tool_calls[0].function.arguments


def main():
    command = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for form, scripts, try_form in [("<tool_call>", TAGGED, try_tagged), ("", BARE, try_bare)]:
            model = pathlib.Path(folder) / f"{try_form.__name__}.gguf"
            scripted_model.save(model, scripts, TEMPLATE.replace("MARK", form))
            server = Server(command, model, "--context", "1024")
            try:
                no_call(ask(server, "plain"), "No call.")
                for part in [try_form, results_reach_the_template, calls_are_asked_for, wrong_tools_are_told, real_client]:
                    part(server)
                    server.idle()
                    print(f"{try_form.__name__}, {part.__name__}: right")
            finally:
                server.process.kill()
    print("passed")


if __name__ == "__main__":
    main()
