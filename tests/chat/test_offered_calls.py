"""Calls as the model families write them, in samples of our own that have the shapes of real outputs.

The shapes were taken from the tests of serving stacks and from issues about calls that stayed in the text.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracerank.chat.offered_calls import calls_in, tool_meant

QUERY = "capital of Chad"
ONE = [("search", {"query": QUERY})]
NAMES = ("search", "get_page")
BROWSER = ("browser_search", "browser_open", "browser_find")

SHAPES = {
    "hermes": '<tool_call>\n{"name": "search", "arguments": {"query": "capital of Chad"}}\n</tool_call>',
    "hermes, the end cut by the server": '<tool_call>\n{"name": "search", "arguments": {"query": "capital of Chad"}}',
    "hermes, a brace missing": '<tool_call>{"name": "search", "arguments": {"query": "capital of Chad"}</tool_call>',
    "hermes, arguments encoded twice": (
        '<tool_call>{"name": "search", "arguments": "{\\"query\\": \\"capital of Chad\\"}"}</tool_call>'
    ),
    "hermes, after thinking": (
        "<think>I could call <tool_call>{}</tool_call> first.</think>\n"
        '<tool_call>{"name": "search", "arguments": {"query": "capital of Chad"}}</tool_call>'
    ),
    "hermes, as Python prints": "<tool_call>{'name': 'search', 'arguments': {'query': 'capital of Chad'}}</tool_call>",
    "hermes, a fence inside": (
        '<tool_call>\n```json\n{"name": "search", "arguments": {"query": "capital of Chad"}}\n```\n</tool_call>'
    ),
    "qwen2.5-coder, fenced": '```json\n{\n  "name": "search",\n  "arguments": {"query": "capital of Chad"}\n}\n```',
    "qwen2.5-coder, bare": '{"name": "search", "arguments": {"query": "capital of Chad"}}',
    "qwen2.5-coder, after words": (
        'To find out, I will search.\n\n{"name": "search", "arguments": {"query": "capital of Chad"}}'
    ),
    "qwen2.5-coder, tools": '<tools>\n{"name": "search", "arguments": {"query": "capital of Chad"}}\n</tools>',
    "qwen2.5-coder, tools not closed": '<tools>{"name": "search", "arguments": {"query": "capital of Chad"}}',
    "qwen2.5-coder, xml fence": (
        '```xml\n<function-call>\n{"name": "search", "arguments": {"query": "capital of Chad"}}\n</function-call>\n```'
    ),
    "qwen3-coder": (
        "<tool_call>\n<function=search>\n<parameter=query>\ncapital of Chad\n</parameter>\n</function>\n</tool_call>"
    ),
    "qwen3-coder, no tool_call": "<function=search>\n<parameter=query>\ncapital of Chad\n</parameter>\n</function>",
    "qwen3-coder, cut": "<tool_call>\n<function=search>\n<parameter=query>\ncapital of Chad",
    "llama 3.1": '{"name": "search", "parameters": {"query": "capital of Chad"}}',
    "llama 3.1, typed": '{"type": "function", "name": "search", "parameters": {"query": "capital of Chad"}}',
    "llama 3.1, python tag": '<|python_tag|>{"name": "search", "parameters": {"query": "capital of Chad"}}',
    "llama 3.1, built in": '<|python_tag|>search.call(query="capital of Chad")',
    "llama 3.1, function": '<function=search>{"query": "capital of Chad"}</function>',
    "llama 3.2, pythonic": '[search(query="capital of Chad")]',
    "llama 4": "<|python_start|>[search(query='capital of Chad')]<|python_end|>",
    "mistral, list": '[TOOL_CALLS] [{"name": "search", "arguments": {"query": "capital of Chad"}}]',
    "mistral, name and object": '[TOOL_CALLS]search{"query": "capital of Chad"}',
    "mistral, args": '[TOOL_CALLS]search[ARGS]{"query": "capital of Chad"}',
    "mistral, with an id": '[TOOL_CALLS]search[CALL_ID]a1B2c3D4e[ARGS]{"query": "capital of Chad"}',
    "phi": 'functools[{"name": "search", "arguments": {"query": "capital of Chad"}}]',
    "phi 4 mini": '<|tool_call|>[{"name": "search", "arguments": {"query": "capital of Chad"}}]<|/tool_call|>',
    "granite": '<|tool_call|>[{"name": "search", "arguments": {"query": "capital of Chad"}}]',
    "granite 20b": '<function_call> {"name": "search", "arguments": {"query": "capital of Chad"}}',
    "deepseek v3": (
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>search\n"
        '```json\n{"query": "capital of Chad"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>'
    ),
    "deepseek v3.1": '<｜tool▁call▁begin｜>search<｜tool▁sep｜>{"query": "capital of Chad"}<｜tool▁call▁end｜>',
    "deepseek v3.2": (
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="search">\n'
        '<｜DSML｜parameter name="query" string="true">capital of Chad</｜DSML｜parameter>\n'
        "</｜DSML｜invoke>\n</｜DSML｜function_calls>"
    ),
    "kimi": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>"
        '{"query": "capital of Chad"}<|tool_call_end|><|tool_calls_section_end|>'
    ),
    "glm 4.5": "<tool_call>search\n<arg_key>query</arg_key>\n<arg_value>capital of Chad</arg_value>\n</tool_call>",
    "glm 4": 'search\n{"query": "capital of Chad"}',
    "gpt-oss": (
        '<|channel|>commentary to=functions.search <|constrain|>json<|message|>{"query": "capital of Chad"}<|call|>'
    ),
    "gpt-oss, tokens lost": 'commentary to=functions.search json{"query": "capital of Chad"}',
    "gpt-oss, after analysis": (
        "<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>commentary to=functions.search"
        '<|constrain|>json<|message|>{"query": "capital of Chad"}'
    ),
    "minimax m1": '<tool_calls>\n{"name": "search", "arguments": {"query": "capital of Chad"}}\n</tool_calls>',
    "minimax m2": (
        '<minimax:tool_call>\n<invoke name="search">\n<parameter name="query">capital of Chad</parameter>\n'
        "</invoke>\n</minimax:tool_call>"
    ),
    "jamba": '<tool_calls>[{"name": "search", "arguments": {"query": "capital of Chad"}}]</tool_calls>',
    "nemotron": '<TOOLCALL>[{"name": "search", "arguments": {"query": "capital of Chad"}}]</TOOLCALL>',
    "internlm": (
        '<|action_start|><|plugin|>{"name": "search", "parameters": {"query": "capital of Chad"}}<|action_end|>'
    ),
    "command r": (
        '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "search", "parameters": {"query": "capital of Chad"}}]'
        "<|END_ACTION|>"
    ),
    "seed": (
        "<seed:tool_call>\n<function=search>\n<parameter=query>capital of Chad</parameter>\n</function>\n"
        "</seed:tool_call>"
    ),
    "apertus": '<|tools_prefix|>[{"search": {"query": "capital of Chad"}}]<|tools_suffix|>',
    "lfm": '<|tool_call_start|>[search(query="capital of Chad")]<|tool_call_end|>',
    "olmo": '<function_calls>\nsearch(query="capital of Chad")\n</function_calls>',
    "gemma 3": '```tool_code\nprint(default_api.search(query="capital of Chad"))\n```',
    "gemma function": "<start_function_call>call:search{query:<escape>capital of Chad<escape>}<end_function_call>",
    "gemma 4": '<|tool_call>call:search{query:<|"|>capital of Chad<|"|>}<tool_call|>',
    "lm studio": '[TOOL_REQUEST]{"name": "search", "arguments": {"query": "capital of Chad"}}[END_TOOL_REQUEST]',
    "react": 'Thought: I should look it up.\nAction: search\nAction Input: {"query": "capital of Chad"}',
    "react, bold": '**Action:** `search`\n**Action Input:** {"query": "capital of Chad"}',
    "react, made-up observation": (
        'Action: search\nAction Input: {"query": "capital of Chad"}\nObservation: It is Moundou.\n'
        'Action: search\nAction Input: {"query": "Moundou"}'
    ),
    "react, JSON": 'Action:\n```json\n{"action": "search", "action_input": {"query": "capital of Chad"}}\n```',
    "a trailing comma": '{"name": "search", "arguments": {"query": "capital of Chad",},}',
    "no quotes around keys": '{name: "search", arguments: {query: "capital of Chad"}}',
    "cut at the end": '```json\n{"name": "search", "arguments": {"query": "capital of Chad"',
    "the description beside the arguments": (
        '{"name": "search", "arguments": {"query": "capital of Chad", "required": ["query"], "properties":'
        ' {"query": {"type": "string", "description": "What to search for."}}}}'
    ),
    "two braces": '{{"name": "search", "arguments": {"query": "capital of Chad"}}}',
    "a function around it": (
        '{"type": "function", "function": {"name": "search", "arguments": {"query": "capital of Chad"}}}'
    ),
    "a list under a key": '{"tool_calls": [{"name": "search", "arguments": {"query": "capital of Chad"}}]}',
    "the tool as the key": '{"search": {"query": "capital of Chad"}}',
    "arguments beside the name": '{"tool": "search", "query": "capital of Chad"}',
    "name and argument tags": (
        "<tool_call><name>search</name><arguments><query>capital of Chad</query></arguments></tool_call>"
    ),
    "name and JSON in tags": (
        '<tool_use>\n<tool_name>search</tool_name>\n<arguments>{"query": "capital of Chad"}</arguments>\n</tool_use>'
    ),
    "the tool as a tag": "<search><query>capital of Chad</query></search>",
    "the tool as a tag around JSON": '<search>{"query": "capital of Chad"}</search>',
    "a name attribute": '<function name="search">{"query": "capital of Chad"}</function>',
    "python": 'search(query="capital of Chad")',
    "python, assigned": "```python\nresult = search(query='capital of Chad')\nprint(result)\n```",
    "made-up response": (
        '<tool_call>{"name": "search", "arguments": {"query": "capital of Chad"}}</tool_call>\n<tool_response>\nMoundou'
        '\n</tool_response>\n<tool_call>{"name": "search", "arguments": {"query": "Moundou"}}</tool_call>'
    ),
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_a_call_is_read_as_its_family_writes_it(text):
    written = calls_in(text, NAMES)
    assert [(call.name, call.arguments) for call in written.calls] == ONE
    assert not written.is_malformed


UNNAMED = {
    "python": 'search("capital of Chad")',
    "react": "Action: search\nAction Input: capital of Chad",
    "react, quoted": 'Action: search\nAction Input: "capital of Chad"',
    "react, brackets": "Action: search[capital of Chad]",
    "react, numbered": "Thought 1: hm\nAction 1: search[capital of Chad]",
    "react, parentheses": 'Action: search("capital of Chad")',
    "react, next line": "Action: search\ncapital of Chad",
    "a tag": "I look it up. <search>capital of Chad</search>",
    "a tag that is open": "<search>capital of Chad",
    "the key": '{"search": "capital of Chad"}',
}


@pytest.mark.parametrize("text", UNNAMED.values(), ids=UNNAMED.keys())
def test_what_is_given_without_a_name_is_the_input(text):
    [call] = calls_in(text, NAMES).calls
    assert (call.name, call.arguments) == ("search", {"input": QUERY})


def test_a_description_said_again_before_the_call_is_passed_over():
    said = '<tools>\n{"type": "function", "function": {"name": "search", "parameters": {"properties": {}}}}'
    text = f'{said}\n</tools>\n```json\n{{"name": "search", "arguments": {{"query": "capital of Chad"}}}}\n```'
    assert [(call.name, call.arguments) for call in calls_in(text, NAMES).calls] == ONE


def test_several_calls_keep_their_order():
    for text in (
        '<tool_call>{"name": "search", "arguments": {"query": "a"}}</tool_call>\n'
        '<tool_call>{"name": "get_page", "arguments": {"id": 2}}</tool_call>',
        '[TOOL_CALLS][{"name": "search", "arguments": {"query": "a"}}, {"name": "get_page", "arguments": {"id": 2}}]',
        '[TOOL_CALLS]search{"query": "a"}[TOOL_CALLS]get_page{"id": 2}',
        '{"name": "search", "parameters": {"query": "a"}}; {"name": "get_page", "parameters": {"id": 2}}',
        '[search(query="a"), get_page(id=2)]',
        '<|tool_call_begin|>functions.search:0<|tool_call_argument_begin|>{"query": "a"}<|tool_call_end|>'
        '<|tool_call_begin|>functions.get_page:1<|tool_call_argument_begin|>{"id": 2}<|tool_call_end|>',
    ):
        calls = calls_in(text, NAMES).calls
        assert [(call.name, call.arguments) for call in calls] == [("search", {"query": "a"}), ("get_page", {"id": 2})]


def test_line_ends_and_quotes_inside_a_string_are_read():
    text = '<tool_call>{"name": "search", "arguments": {"query": "who said "hello"\nin Chad"}}</tool_call>'
    [call] = calls_in(text, NAMES).calls
    assert call.arguments == {"query": 'who said "hello"\nin Chad'}


def test_the_words_before_a_call_are_kept_and_thinking_is_not():
    written = calls_in('<think>hm</think>I look it up:\n```json\n{"name": "search", "arguments": {}}\n```', NAMES)
    assert (written.words, written.calls[0].arguments) == ("I look it up:", {})
    assert calls_in('{\n{"name": "search", "arguments": {"query": "x"}}}', NAMES).words == ""


def test_a_tool_that_was_not_offered_keeps_its_name_so_that_the_model_can_be_told():
    for text in (
        '{"name": "Wikipedia", "arguments": {"page": "Chad"}}',
        '<tool_call>{"name": "Wikipedia", "arguments": {"page": "Chad"}}</tool_call>',
        'Action: Wikipedia\nAction Input: {"page": "Chad"}',
    ):
        assert [call.name for call in calls_in(text, NAMES).calls] == ["Wikipedia"]


def test_arguments_alone_between_marks_are_those_of_the_only_tool():
    text = '<tool_call>{"query": "capital of Chad"}</tool_call>'
    assert [(call.name, call.arguments) for call in calls_in(text, ("search",)).calls] == ONE
    assert calls_in(text, NAMES).is_malformed


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>\nsearch for it\n</tool_call>",
        "<tools>\n</tools>",
        "[TOOL_CALLS]",
        "```json\n{",
        '{"query": "capital of Chad"}',
        '```json\n{"queries": ["capital of Chad"]}\n```',
        '{"type": "function", "function": {"name": "search", "description": "Searches.", "parameters": {"type":'
        ' "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}',
        "<tools>\n  <function>\n    <name>search</name>\n    <parameters>\n      <type>object</type>\n"
        "      <properties>\n        <query>\n          <type>string</type>\n        </query>\n      </properties>\n"
        "    </parameters>\n  </function>\n</tools>",
    ],
)
def test_what_looks_like_a_call_and_cannot_be_read_is_malformed(text):
    written = calls_in(text, NAMES)
    assert (written.calls, written.is_malformed) == ((), True)


@pytest.mark.parametrize(
    "text",
    [
        "The capital of Chad is N'Djamena.",
        "<answer>N'Djamena</answer>",
        "I did a search (twice) and the answer is N'Djamena [1].",
        'The search("capital of Chad") gave nothing, so: N\'Djamena',
        '{"answer": "N\'Djamena"}',
        "Thought: I know it.\nFinal Answer: N'Djamena",
        "Thought: done\nAction: None\nFinal Answer: N'Djamena",
        'Action: Finish\nAction Input: {"answer": "N\'Djamena"}',
        "The function f(x) = {x} is even.",
        "My next action: I will look it up.",
        "",
    ],
)
def test_an_answer_is_no_call(text):
    written = calls_in(text, NAMES)
    assert (written.calls, written.is_malformed, written.words) == ((), False, text)


def test_names_are_taken_as_they_are_meant():
    assert tool_meant("browser.search", BROWSER) == "browser_search"
    assert tool_meant("functions.browser_open", BROWSER) == "browser_open"
    assert tool_meant("Search", BROWSER) == "browser_search"
    assert tool_meant("find", BROWSER) == "browser_find"
    assert tool_meant("browser", BROWSER) is None
    assert tool_meant("", BROWSER) is None


def test_an_offered_finish_is_a_call():
    text = 'Action: finish\nAction Input: {"solution": "x"}'
    assert [call.name for call in calls_in(text, ("finish", "get_solution")).calls] == ["finish"]


def test_hostile_texts_cost_little():
    for text in (
        "<tool_call>" * 20_000,
        "<function=a>" * 20_000,
        "{" * 50_000,
        '{"a":' * 20_000,
        "[" * 50_000,
        "Action: x\n" * 10_000,
        "search(" * 15_000,
        "<search>" * 12_000,
        "to=functions.a " * 8_000,
        "commentary to=functions.a{" * 4_000,
        '<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>' * 1_500,
    ):
        assert len(calls_in(text, NAMES).calls) <= 16


@given(st.lists(st.sampled_from([*SHAPES.values(), *UNNAMED.values(), "{", "<", "\n", "</tool_call>", "é", "\\", '"'])))
def test_any_mixture_is_read_without_an_error(parts):
    calls_in("".join(parts), NAMES)
