"""templates.py RENDERER: chat templates beside Python's jinja2 as transformers sets it up.

RENDERER reads {"template", "variables"} a line and writes {"text"} or {"error"}. The templates are those below,
snippets of the language, random ones, and those of real models, where scripts/models has downloaded them.
"""

import functools
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import warnings

try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
except ImportError:
    print("skipped: Python's jinja2 is not installed (scripts/packages)")
    sys.exit(77)


def environment():
    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            next(parser.stream)
            return parser.parse_statements(["name:endgeneration"], drop_needle=True)

    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )

    def refuse(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = lambda form: f"<{form}>"
    return made


ENVIRONMENT = environment()

# `safe` makes what it is added to be escaped there, which nobody who wrote that has wanted.
LEFT_OUT = {"meetkai-functionary-medium-v3.1.jinja"}

# What the language has, one thing a row.
SNIPPETS = r"""
{{ 1 + 2 * 3 ** 2 - 7 // 2 - 7 % 3 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 ** -1 }} {{ -2 ** 2 }}
{{ 1.0 }} {{ 1e20 }} {{ 0.1 + 0.2 }} {{ 1e-7 }} {{ 100000.0 }} {{ 12345678901234567.0 }} {{ 3.0 * 2 }}
{{ "a" ~ 1 ~ none ~ true }} {{ 'x' * 3 }} {{ [1, 2] + [3] }} {{ (1, 2) }} {{ (1,) }} {{ () }} {{ {'a': [1, "b'c", 'd"e']} }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' in 'abc' }} {{ 'z' not in ['a', 'b'] }} {{ 'k' in {'k': 1} }} {{ 1 == 1.0 }} {{ true == 1 }}
{{ not true or true and false }} {{ '' or 'x' }} {{ 0 and 1 }} {{ none or [] }} {{ 'a' if false }}|{{ 'a' if x is defined else 'b' }}
{{ text[0] }} {{ text[-1] }} {{ text[1:4] }} {{ text[::-1] }} {{ text[:-2] }} {{ text[10:] }} {{ text[::2] }} {{ list[1:][0] }} {{ list[5] is defined }}
{{ list[-1:] }} {{ list[:-1] }} {{ list[::-1] }} {{ list[-100:2] }} {{ list[2:-100:-1] }} {{ list[100::-2] }}
{{ missing }}|{{ missing is defined }}|{{ missing | default('d') }}|{{ '' | default('d', true) }}|{{ missing.x is defined }}
{{ object.a }} {{ object['a'] }} {{ object.missing is undefined }} {{ object.items() | list }} {{ object.keys() | list }} {{ object.get('q', 3) }} {{ object.get('q') }}
{{ object | tojson }} {{ object | tojson(indent=2) }} {{ "é\n\"\\/\t" | tojson }} {{ 1.5 | tojson }} {{ [] | tojson }} {{ {} | tojson(indent=4) }} {{ none | tojson }}
{{ object | dictsort }} {{ list | sort }} {{ list | sort(reverse=true) }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A', 'c'] | sort(case_sensitive=true) }}
{{ list | first }} {{ list | last }} {{ list | length }} {{ text | length }} {{ list | join(', ') }} {{ list | join }} {{ list | sum }} {{ list | max }} {{ list | min }}
{{ list | reverse | list }} {{ text | reverse }} {{ [1, 1, 2, 'a', 'A'] | unique | list }} {{ list | batch(2) | list }} {{ [[1, 2], [3]] | sum(start=[]) }}
{{ people | map(attribute='name') | join(' ') }} {{ people | selectattr('age', 'gt', 30) | map(attribute='name') | list }} {{ people | rejectattr('age') | list | length }}
{{ people | selectattr('name', 'equalto', 'Ann') | list | length }} {{ people | sort(attribute='age') | map(attribute='age') | list }} {{ list | select('odd') | list }} {{ list | reject('eq', 2) | list }}
{{ list | map('string') | list }} {{ ['a', 'b'] | map('upper') | list }} {{ [' a '] | map('trim') | list }}
{{ '  a b ' | trim }}|{{ '--a--' | trim('-') }}|{{ ' x'.strip() }}|{{ 'x\n'.rstrip() }}|{{ 'xxyx'.lstrip('x') }}|{{ 'a,b,c'.split(',') }}|{{ ' a  b '.split() }}|{{ 'a b c'.split(' ', 1) }}|{{ 'a,b,c'.rsplit(',', 1) }}
{{ 'a</think>b</think>c'.split('</think>')[-1] }} {{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'aXb'.replace('X', '-') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'abc' | replace('b', '') }}
{{ 'hello world'.title() }} {{ 'hELLO'.capitalize() }} {{ 'Ab'.upper() }} {{ 'Ab'.lower() }} {{ 'hello world' | title }} {{ 'abcabc'.find('c') }} {{ 'abcabc'.rfind('c') }} {{ 'abc'.find('z') }} {{ 'abcabc'.count('bc') }} {{ 'a\nb\r\nc'.splitlines() }}
{{ '12'.isdigit() }} {{ 'a1'.isalpha() }} {{ ' '.isspace() }} {{ ', '.join(['a', 'b']) }} {{ '7'.zfill(3) }} {{ 'a'.ljust(3) }}| {{ 'a=b=c'.partition('=') }} {{ 'prefix-x'.removeprefix('prefix-') }} {{ '{} {{}} {1}{a}'.format('x', 'y', a=3) if false else '{}-{a}'.format(1, a=2) }}
{{ '3' | int + 1 }} {{ 'x' | int }} {{ '2.7' | int }} {{ '2.5' | float }} {{ 2.567 | round(1) }} {{ 2.5 | round }} {{ 3.2 | round(0, 'ceil') }} {{ -3 | abs }} {{ 'a' | string }} {{ 5 | string }}
{{ 'a\nb' | indent }} {{ 'a\n\nb' | indent(2, true) }} {{ 'a\nb' | indent(width=1, first=true) }} {{ '<a&b>' | escape }}
{{ 1 is number }} {{ 'a' is string }} {{ none is none }} {{ [] is iterable }} {{ {} is mapping }} {{ [] is sequence }} {{ 1 is integer }} {{ 1.5 is float }} {{ true is boolean }} {{ true is true }} {{ 1 is not none }} {{ 4 is divisibleby 2 }} {{ 3 is odd }} {{ 'a' is in ['a'] }} {{ 2 is eq 2 }} {{ range is callable }}
{% for a in list %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.first }}/{{ loop.last }}/{{ loop.length }}:{{ a }};{% endfor %}
{% for a in list %}{{ loop.previtem }}<{{ a }}>{{ loop.nextitem }} {{ loop.cycle('x', 'y') }} {{ loop.changed(a) }} {% endfor %}
{% for k, v in object.items() %}{{ k }}={{ v }} {% endfor %}{% for a, b in [(1, 2), [3, 4]] %}{{ a + b }} {% endfor %}{% for k in object %}{{ k }}{% endfor %}
{% for a in [] %}x{% else %}none{% endfor %}{% for a in list if a > 1 %}{{ loop.index }}{{ a }}{% endfor %}{% for c in 'äb' %}[{{ c }}]{% endfor %}
{% for a in list %}{% if a == 2 %}{% continue %}{% endif %}{{ a }}{% if a == 3 %}{% break %}{% endif %}{% endfor %}
{% set x = 1 %}{% for a in list %}{% set x = x + a %}{{ x }} {% endfor %}{{ x }}{% for a in list %}{{ y is defined }}{% set y = 1 %}{% endfor %}
{% set ns = namespace(n=0, s='') %}{% for a in list %}{% set ns.n = ns.n + a %}{% endfor %}{{ ns.n }}{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d) = [3, 4] %}{{ c }}{{ d }}
{% set t %}block {{ text }}{% endset %}{{ t }}{% set u | upper | trim %} abc {% endset %}[{{ u }}]
{% macro m(a, b='B', c=none) %}<{{ a }}|{{ b }}|{{ c }}>{% endmacro %}{{ m(1) }}{{ m(1, 2) }}{{ m(c=3, a=1) }}{{ m() }}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}{% macro w() %}({{ caller() }}){% endmacro %}{% call w() %}in{% endcall %}
{% macro v(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ v(1, 2, 3) }}{% set g = 5 %}{% macro h() %}{{ g }}{% endmacro %}{% set g = 6 %}{{ h() }}
{% filter upper %}abc {{ text }}{% endfilter %}{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a is defined }}{% raw %}{{ x }} {% y %}{% endraw %}{% generation %}g{% endgeneration %}
{%- if true -%} a {%- elif x -%} b {%- else -%} c {%- endif -%} d {{- ' e ' -}} f {#- c -#} g {# c #} h
{% if list and list[0] == 1 %}yes{% elif false %}no{% endif %}{% if not missing %}none{% endif %}{{ '}}' }}{{ {'a': {'b': 1}}.a.b }}{{ {'a':{'b':1}}}}
{{ 'a' 'b' }}{{ "it's" }}{{ 'say "x"' }}{{ '\x41\u00e9\'\\n' }}{{ "a\nb" }}{{ 'c' | e }}{{ raise }}{{ joiner('-')() }}{{ strftime_now('%d %b') }}{{ dict(a=1, b=2) }}{{ range(3) | list }}{{ range(5, 0, -2) | list }}
{{ '%s is %d and %.2f%%' % ('x', 3, 2.5) }}{{ '%5s|%-5s|%05d' % ('a', 'b', 42) }}{{ people[0].name }}{{ people.0.name }}{{ list.index(2) }}{{ object | items | list }}
{{ ['é', "\u200b", '\x07'] }} {{ [1.0, none, true, 'a'] }} {{ text | upper | lower | capitalize }} {{ 5 | default(3) }} {{ [[1, [2]], {'a': ()}] }} {{ (1, 2) + (3,) }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }}
{{ 1 if a is not defined and true else 2 }} {{ [x for x in list] }}
{{ missing.a.b }}
{{ missing + 1 }}
{{ 1 + 'a' }}
{{ list.append(4) }}
{{ object.update({'z': 1}) }}
{{ text.foo() }}
{{ raise_exception('no') }}
{% if %}x{% endif %}
{% for x in 5 %}{% endfor %}
{{ 'a' | nofilter }}
{{ 1 is notest }}
{{ 1 / 0 }}
{{ (1 }}
{{ range(1000000) }}
{% unknown %}
{% if true %}
{{ missing | tojson }}
{{ ''.__class__ }}{{ ''.__class__.__mro__ }}
{{ {1: 'a', 'b': 2}[1] }} {{ {1: 2} }} {{ {1: 2} | tojson }} {{ 1 in {1: 2} }} {{ 2.0 is even }}
{{ [3, 'a'] | sort }}
{{ 5[0] }}
{{ none.x is defined }} {{ none.x.y }}
{% set object.a = 3 %}
""".strip("\n").split("\n")
LONG = [
    "  {% if true %}\n  a\n  {% endif %}\nb\n   {{ 1 }}\n {# c #}\n x {% if true %} y\n{% endif %}\n\n",
    "a\r\nb {%- if true %}\r\n c\r\n{%- endif +%}\nd\n\n",
    "{%+ if true %}\n x{% endif %}\n  {%+ if true +%}\n y {%- endif %}\n z",
    "{% for a in list -%}\n  {{ a }}\n{%- endfor %}\n{% for a in list %}\n  {{- a }}\n{% endfor %}\n",
    "{% raw -%}\n {{ a }} \n{%- endraw %}\n  {# x -#}  \n b\n  {% set a = 1 %}  \n  {% set b = 2 -%}  \n c",
    "{%- macro a(x) %}\n  {%- for i in x %}\n{{ i }}\n  {%- endfor %}\n{%- endmacro %}\n[{{ a(list) }}]\n",
    "{{- 'x' }}\n   \n  {%- if true %} {{ ' y ' -}}   \n  {% endif %}   \n.",
]
VARIABLES = {
    "text": "héllo wörld", "list": [1, 2, 3, 4], "object": {"b": 1, "a": "x", "C": [1, {"d": None}]},
    "people": [{"name": "Ann", "age": 40}, {"name": "Bob", "age": 20}, {"name": "Cy", "age": 0}],
}  # fmt: skip

TOOLS = [
    {"type": "function", "function": {
        "name": "get_weather", "description": "The weather's \"state\" <now> & 'then'.",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string", "description": "A city, as “Zürich”"},
            "unit": {"type": "string", "enum": ["C", "F"]}, "days": {"type": ["integer", "null"]}},
            "required": ["city"]}}},
    {"type": "function", "function": {
        "name": "stop", "description": "", "parameters": {"type": "object", "properties": {}}}},
]  # fmt: skip
CALL = {"id": "call12345", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2}}}
TEXT_CALL = {"id": "call12346", "type": "function",
             "function": {"name": "get_weather", "arguments": json.dumps(CALL["function"]["arguments"])}}  # fmt: skip
SYSTEM = {"role": "system", "content": "  Be brief.\nAlways. "}
USER = {"role": "user", "content": " What's up in Zürich? \n"}
ANSWER = {"role": "assistant", "content": "Not <much>.\n"}
THOUGHT = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nRain."}
REASONED = {"role": "assistant", "content": "Rain.", "reasoning_content": "hm"}
RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": '{"rain": true}'}
PARTS = {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]}
CHATS = [
    [USER],
    [SYSTEM, USER],
    [USER, ANSWER, USER],
    [SYSTEM, USER, THOUGHT, USER],
    [SYSTEM, USER, REASONED, USER, ANSWER, USER],
    [USER, {"role": "assistant", "content": "", "tool_calls": [CALL]}, RESULT],
    [SYSTEM, USER, {"role": "assistant", "content": None, "tool_calls": [CALL, CALL]}, RESULT, RESULT, ANSWER, USER],
    [USER, {"role": "assistant", "content": "Let me see.", "tool_calls": [TEXT_CALL]}, RESULT, ANSWER, USER],
    [PARTS],
    [USER, USER],
    [ANSWER],
    [SYSTEM],
    [],
]
FLAGS = [
    {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>"},
    {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>", "tools": TOOLS, "date_string": "1 Jan"},
    {"add_generation_prompt": False, "bos_token": "", "eos_token": "</s>", "enable_thinking": False, "tools": None},
    {"add_generation_prompt": True, "bos_token": "<s>", "eos_token": "</s>", "enable_thinking": True,
     "documents": [{"title": "A", "text": "b c", "doc_id": 1}]},
]  # fmt: skip

# The forms that models are trained with, in words of our own.
FORMS = {
    "chatml": "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
    "llama 2": "{{ bos_token }}{% if messages[0].role == 'system' %}{% set front = '<<SYS>>\n' ~ messages[0].content ~ '\n<</SYS>>\n\n' %}"
    "{% set rest = messages[1:] %}{% else %}{% set front = '' %}{% set rest = messages %}{% endif %}{% for m in rest %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must take turns') }}{% endif %}"
    "{% if m.role == 'user' %}[INST] {{ (front if loop.first else '') ~ m.content.strip() }} [/INST]{% else %} {{ m.content | trim }} {{ eos_token }}{% endif %}{% endfor %}",
    "gemma": "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('there is no system role') }}{% endif %}"
    "{% for m in messages %}{% set role = 'model' if m.role == 'assistant' else m.role %}<start_of_turn>{{ role }}\n{{ m.content | trim }}<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
    "tools": "{%- if tools %}\n<tools>{% for t in tools %}\n{{ t | tojson }}{% endfor %}\n</tools>\n{%- endif %}\n"
    "{%- set last = namespace(user=-1) %}\n{%- for m in messages[::-1] %}{% if last.user < 0 and m.role == 'user' %}"
    "{% set last.user = messages | length - loop.index %}{% endif %}{% endfor %}\n{%- for m in messages %}\n"
    "{%- if m.role == 'tool' %}{% if loop.previtem is undefined or loop.previtem.role != 'tool' %}<|user|>{% endif %}<response>{{ m.content }}</response>\n"
    "{%- elif m.tool_calls is defined and m.tool_calls %}{% for c in m.tool_calls %}<tool_call>\n{\"name\": \"{{ c.function.name }}\", \"arguments\": "
    "{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}{% endif %}}\n</tool_call>{% endfor %}\n"
    "{%- else %}<|{{ m.role }}|>{{ m.content.split('</think>')[-1].lstrip('\n') if m.content is string else m.content | map(attribute='text') | join }}"
    "{{ ' (last)' if loop.index0 == last.user }}{% endif %}\n{%- endfor %}",
}


def random_templates(count, rng):
    """Templates of pieces that fit together by chance."""
    values = ["text", "list", "object", "missing", "1", "'a b'", "people", "none", "[1, 'x']", "people[0]", "2.5", "true"]
    filters = ["trim", "length", "upper", "join('-')", "first", "last", "tojson", "string", "default('q')", "list", "int",
               "map('string') | list", "reverse | list", "sort", "title", "replace('a', 'b')", "capitalize", "sum"]  # fmt: skip
    operators = ["+", "-", "*", "~", "==", "!=", "<", "in", "not in", "and", "or", "%", "//"]
    tests = ["defined", "none", "string", "number", "mapping", "iterable", "sequence", "odd", "true", "boolean"]
    methods = [".strip()", ".split()", ".upper()", "[0]", "[-1]", "[1:]", "[::-1]", ".a", ".name", "['b']",
               ".get('a')", ".title()", ".startswith('h')"]  # fmt: skip

    def value(depth):
        kind = rng.randrange(7) if depth > 0 else 0
        if kind < 2:
            return rng.choice(values)
        if kind == 2:
            return f"{value(depth - 1)} | {rng.choice(filters)}"
        if kind == 3:
            return f"({value(depth - 1)} {rng.choice(operators)} {value(depth - 1)})"
        if kind == 4:
            return f"({value(depth - 1)} is {rng.choice(['', 'not '])}{rng.choice(tests)})"
        if kind == 5:
            return f"{rng.choice(values[:9])}{rng.choice(methods)}"
        return f"({value(depth - 1)} if {value(depth - 1)} else {value(depth - 1)})"

    space = ["", " ", "\n", "  \n ", "x"]

    def tag(inside):
        return "{%" + rng.choice(["", "-", "+"]) + f" {inside} " + rng.choice(["", "-", "+"]) + "%}"

    def body(depth):
        parts = []
        for _ in range(rng.randint(1, 3)):
            parts.append(rng.choice(space))
            kind = rng.randrange(5) if depth > 0 else 0
            if kind < 2:
                parts.append("{{" + rng.choice(["", "-"]) + f" {value(2)} " + rng.choice(["", "-"]) + "}}")
            elif kind == 2:
                parts.append(tag(f"if {value(2)}") + body(depth - 1) + tag("else") + body(depth - 1) + tag("endif"))
            elif kind == 3:
                parts.append(tag(f"for e in {value(1)}") + body(depth - 1) + "{{ e }}{{ loop.index }}" + tag("endfor"))
            else:
                parts.append(tag(f"set v{rng.randrange(3)} = {value(2)}") + "{{ v0 }}{{ v1 }}" + "{#" + rng.choice(["-", ""]) + "c#}")
            parts.append(rng.choice(space))
        return "".join(parts)

    return [body(3) for _ in range(count)]


@functools.lru_cache(maxsize=8)
def compiled(template):
    return ENVIRONMENT.from_string(template)


def expected(template, variables):
    try:
        return {"text": compiled(template).render(**variables)}
    except Exception as error:  # whatever Python says: the words are our own
        return {"error": f"{type(error).__name__}: {error}"}


def cases(folder):
    for snippet in SNIPPETS + LONG:
        yield snippet, snippet, VARIABLES
    rng = random.Random(7)
    for template in random_templates(400, rng):
        # What Python refuses by chance, or prints by its address, is nothing that anybody would write.
        want = expected(template, VARIABLES)
        if "text" in want and " at 0x" not in want["text"]:
            yield template, template, VARIABLES
    templates = dict(FORMS)
    if folder is not None:
        templates |= {file.name: file.read_text() for file in sorted(folder.glob("*.jinja")) if file.name not in LEFT_OUT}
    for (name, template), (c, chat), (f, flags) in itertools.product(
        templates.items(), enumerate(CHATS), enumerate(FLAGS)
    ):
        yield f"{name}, chat {c}, flags {f}", template, {"messages": chat, **flags}


def main():
    warnings.simplefilter("ignore", SyntaxWarning)  # of what the random ones are compiled to
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    models = os.environ.get("HOLOGRAM_MODELS") or os.path.join(caches, "hologram", "models")
    folder = pathlib.Path(models, "vocabularies", "templates")
    if not folder.is_dir():
        print("templates of real models are left out: scripts/models downloads them")
        folder = None
    all_cases = list(cases(folder))
    lines = "".join(json.dumps({"template": t, "variables": v}) + "\n" for _, t, v in all_cases)
    answers = subprocess.run([sys.argv[1]], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(all_cases), (len(answers), len(all_cases))
    wrong = texts = 0
    for (name, template, variables), answer in zip(all_cases, answers):
        got, want = json.loads(answer), expected(template, variables)
        texts += "text" in want
        # Lists here are generators there, of which Python takes some for no lists.
        if got.get("text") == want.get("text") or "generator" in want.get("error", ""):
            continue
        wrong += 1
        if wrong <= 20:
            first = next((i for i, (a, b) in enumerate(zip(str(want), str(got))) if a != b), 0)
            begin = max(0, first - 60)
            print(f"{name}\n  jinja2:   {str(want)[begin:first + 200]}\n  hologram: {str(got)[begin:first + 200]}\n")
    print(f"{len(all_cases)} templates and chats, {texts} of them with a text: {wrong} differ")
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
