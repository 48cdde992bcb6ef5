"""Tool calls by their shape: a name with arguments, an id with a return, words with a role, whatever the spelling.

Takes one object at a time and says what it is; ``anything.py`` walks through a whole record. Knows no format: keys are
compared without case, dashes and underscores, so that ``toolCallId``, ``tool-call-id`` and ``tool_call_id`` are one.
"""

import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from tracerank.readers.files.loose_json import NOT_JSON, load_json, load_literal
from tracerank.readers.values import whole_number

Fields = Mapping[str, Any]
"""An object under its plain keys."""
Role = Literal["user", "agent", "tool", "system", "hidden"]

_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_PLAIN: dict[str, str] = {}
_MOST_KEYS = 4096
"""Keys whose plain form is kept."""


class Call(NamedTuple):
    """A call as logged."""

    id: str | None
    name: str
    arguments: object


class Return(NamedTuple):
    """What came back."""

    id: str | None
    name: str
    """Empty: not said."""
    output: object
    is_error: bool


_NAMES = ("toolname", "functionname", "name", "tool", "function", "action", "recipientname")
_ARGUMENTS = (
    *("arguments", "args", "toolargs", "toolkwargs", "toolinput", "actioninput", "functionargs", "input", "kwargs"),
    *("parameters", "params", "rawinput"),
)
_OUTPUTS = (
    *("output", "result", "response", "observation", "observations", "toolresult", "tooloutput", "toolresponse"),
    *("returnvalue", "content", "value", "outputs", "blocks"),
)
_INLINE = ("output", "result", "observation", "observations", "toolresult", "tooloutput", "toolresponse")
"""Where a call keeps its own return; ``content`` and ``response`` beside a call are words."""
_IDS = ("toolcallid", "callid", "tooluseid", "toolid", "functioncallid", "sourcecallid")
_WRAPPED_CALLS = ("function", "functioncall", "toolcall", "tooluse", "custom", "toolinvocation", "action")
_WRAPPED_RETURNS = ("toolresult", "functionresponse", "toolcallresult", "toolresponse", "functionresult")
_CALL_TYPES = frozenset(
    (
        *("toolcall", "tooluse", "functioncall", "servertooluse", "mcptooluse", "customtoolcall", "mcptoolcall"),
        *("mcpcall", "dynamictool", "toolinvocation", "servertoolcall", "tool"),
    )
)
_HOSTED_TYPES = frozenset(("websearch", "websearchcall", "websearchend"))
_BARE_PART = frozenset(("id", "name", "input", "type"))
"""All that a call has where a part of a message does not say its kind."""
_RETURN_TYPES = frozenset(
    (
        *("toolresult", "toolreturn", "functioncalloutput", "customtoolcalloutput", "toolresponse", "toolmessage"),
        *("functionresponse", "functionexecutionresult", "retryprompt", "toolerror", "mcptoolresult", "tool"),
    )
)
_ERROR_TYPES = frozenset(("retryprompt", "toolerror", "errortext", "errorjson", "executiondenied"))
_ERROR_STATES = ("error", "failed", "failure", "outputerror")
_ERROR_FLAGS = ("iserror", "toolcallerror", "haserror")
_ROLE_KEYS = ("role", "partkind", "type", "kind", "author", "source", "from", "sender")
_SPEAKERS = ("author", "source", "sender")
_ROLES: Mapping[str, Role] = {
    **dict.fromkeys(("user", "human", "userprompt", "humanmessage", "usermessage", "humanmessagechunk"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "gpt", "agent", "bot", "aimessage", "aimessagechunk"), "agent"),
    **dict.fromkeys(("assistantmessage", "agentmessage", "chatbot", "modelresponse"), "agent"),
    **dict.fromkeys(("tool", "function", "observation", "ipython", "toolmessage", "environment"), "tool"),
    **dict.fromkeys(("system", "developer", "systemprompt", "systemmessage", "instructions"), "system"),
    **dict.fromkeys(("reasoning", "thinking", "thought", "redactedthinking", "toolcallsummarymessage"), "hidden"),
    **dict.fromkeys(("memoryqueryevent", "thoughtevent", "reasoningmessage", "streamingchunkevent"), "hidden"),
}
_PASSING = ("delta", "chunkevent")
_NAMED_TOOL = re.compile(r"tool-(?!call\b|result\b|error\b|input|output|approval)([\w.:-]{1,200})")
"""The type of a part that names its tool, ``tool-webSearch``."""


def plain_key(key: object) -> str:
    """A key in lower case without dashes, underscores and blanks; empty for what is no text."""
    if not isinstance(key, str):
        return ""
    found = _PLAIN.get(key)
    if found is None:
        found = _NOT_PLAIN.sub("", key.lower()) or key
        if len(_PLAIN) < _MOST_KEYS:
            _PLAIN[key] = found
    return found


def fields_of(value: Mapping[Any, Any]) -> dict[str, Any]:
    """An object under its plain keys; the first of two that come out the same stays."""
    fields: dict[str, Any] = {}
    for key, inner in value.items():
        fields.setdefault(plain_key(key), inner)
    return fields


def speaker_of(message: Mapping[Any, Any]) -> Role | None:
    """Who says a text in a message that has nothing but both; None: it is no such message of the user or the agent."""
    role = message.get("role")
    if not isinstance(role, str) or not isinstance(message.get("content"), str):
        return None
    found = _ROLES.get(plain_key(role))
    return found if found in ("user", "agent") else None


def role_of(fields: Fields) -> Role | None:
    """Who speaks in an object; None: it does not say."""
    for key in _ROLE_KEYS:
        value = fields.get(key)
        if isinstance(value, str) and (role := _ROLES.get(plain_key(value))) is not None:
            return role
    if fields.get("kind") == "response":
        return "agent"
    if "parenttooluseid" in fields and "content" in fields:
        return "agent" if "model" in fields else "user"
    # Whoever has a name of his own and is not the user is an agent.
    return "agent" if any(isinstance(fields.get(key), str) for key in _SPEAKERS) and "content" in fields else None


def is_passing(fields: Fields) -> bool:
    """Whether an object is a piece of something that is logged whole as well, or nothing that was said to anybody."""
    if fields.get("partial") is True or fields.get("thought") is True or fields.get("isapierrormessage") is True:
        return True
    kind = kind_of_part(fields)
    return kind == "streamevent" or kind.endswith(_PASSING)


def message_id(fields: Fields) -> str | None:
    """The id of the message that an object is, or is a piece of; None: it is none, or has no id."""
    if isinstance(fields.get("messageid"), str):
        return str(fields["messageid"])
    is_message = fields.get("type") == "message" and fields.get("role") == "assistant"
    return fields["id"] if is_message and isinstance(fields.get("id"), str) else None


def is_result(fields: Fields) -> bool:
    """Whether an object is the line with which a command ends its run."""
    if not isinstance(fields.get("subtype"), str) or not ("result" in fields or "structuredoutput" in fields):
        return False
    return kind_of_part(fields) in ("result", "resultmessage", "")


def is_aside(fields: Fields) -> bool:
    """Whether an object's words were said to or by a helper of the agent, or by the harness: no question, no answer."""
    parent = fields.get("parenttooluseid")
    return (isinstance(parent, str) and bool(parent)) or any(
        fields.get(key) is True for key in ("issidechain", "ismeta")
    )


def kind_of_part(fields: Fields) -> str:
    """What an object calls itself."""
    for key in ("partkind", "type", "kind", "blocktype"):
        if isinstance(value := fields.get(key), str):
            return plain_key(value)
    return ""


def call_of(fields: Fields, role: Role | None = None) -> Call | None:
    """The call that an object is; None: it is none. ``role`` is that of the message around it."""
    for key in _WRAPPED_CALLS:
        inner = _decoded(fields.get(key))
        if isinstance(inner, Mapping) and (call := _bare_call(fields_of(inner), is_told=True)) is not None:
            return call if call.id is not None else call._replace(id=_id_of(fields) or _text_id(fields.get("id")))
    kind = kind_of_part(fields)
    if kind.startswith("tool") and (named := _NAMED_TOOL.fullmatch(str(fields.get("type")))) is not None:
        return Call(_id_of(fields), named[1], _first(fields, _ARGUMENTS))
    if kind in _HOSTED_TYPES and (hosted := _hosted_call(fields)) is not None:
        return hosted
    is_part = role == "agent" and fields.keys() <= _BARE_PART and isinstance(fields.get("input"), Mapping)
    return _bare_call(fields, is_told=is_part or kind in _CALL_TYPES)


def _hosted_call(fields: Fields) -> Call | None:
    """A search that the vendor's tool made, of which the item has no name: it says what was looked for or opened."""
    action = fields.get("action")
    about = fields_of(action) if isinstance(action, Mapping) else fields
    given = {key: about[key] for key in ("query", "queries", "url", "pattern") if about.get(key)}
    if not given and isinstance(fields.get("query"), str) and fields["query"]:
        given = {"query": fields["query"]}
    return Call(_id_of(fields) or _text_id(fields.get("id")), "web_search", given) if given else None


def _bare_call(fields: Fields, *, is_told: bool) -> Call | None:
    name = next((value for key in _NAMES if isinstance(value := fields.get(key), str) and value.strip()), None)
    if name is None or len(name) > 200 or _is_definition(fields):
        return None
    key = next((key for key in _ARGUMENTS if key in fields), None)
    if key is None:
        return Call(_id_of(fields) or _text_id(fields.get("id")), name, None) if is_told else None
    given = fields[key]
    is_sure = is_told or key not in ("input", "kwargs", "parameters", "params") or _id_of(fields) is not None
    is_shaped = isinstance(given, Mapping) or (isinstance(given, str) and (is_sure or given[:1] == "{"))
    if not is_shaped and not (is_told and given is None):
        return None
    # A span or a setting may have a name and an input, too: a tool is at least called one.
    if not is_sure and not ("tool" in fields or "toolname" in fields or any(one in fields for one in _INLINE)):
        return None
    return Call(_id_of(fields) or _text_id(fields.get("id")), name, given)


def return_of(fields: Fields, role: Role | None = None) -> Return | None:
    """What an object says came back from a call; None: it is no return."""
    for key in _WRAPPED_RETURNS:
        inner = fields.get(key)
        if isinstance(inner, Mapping) and (found := _bare_return(fields_of(inner), is_told=True)) is not None:
            return found
    raw = fields.get("rawitem")
    if fields.get("output") is not None and isinstance(raw, Mapping):
        # Beside what the model was sent, an item may keep what the tool returned.
        found = return_of(fields_of(raw))
        return None if found is None else found._replace(output=unwrapped(fields["output"]))
    kind = kind_of_part(fields)
    # The role is the object's own: parts inside a tool's message are its content.
    is_told = kind in _RETURN_TYPES or role_of(fields) == "tool" or role == "tool"
    return _bare_return(fields, is_told=is_told)


def inline_return(fields: Fields, call: Call) -> Return | None:
    """What a call keeps of its own return; None: nothing."""
    for key in _INLINE:
        if fields.get(key) is not None:
            return Return(call.id, call.name, unwrapped(fields[key]), _is_error(fields))
    if _is_error(fields):
        return Return(call.id, call.name, fields.get("error", fields.get("errortext", "")), is_error=True)
    return None


def _bare_return(fields: Fields, *, is_told: bool) -> Return | None:
    key = next((key for key in _OUTPUTS if key in fields), None)
    call_id = _id_of(fields)
    origin = fields.get("origin")
    name = fields.get("toolname", fields.get("name", ""))
    if isinstance(origin, Mapping):
        about = fields_of(origin)
        call_id, name = call_id or _text_id(about.get("id")), about.get("toolname", name)
    if key is None or not (is_told or call_id is not None):
        return None
    # Beside arguments the object is the call itself, which keeps its return.
    if not is_told and any(one in fields for one in _ARGUMENTS):
        return None
    output = unwrapped(fields[key])
    is_error = _is_error(fields)
    if is_told and call_id is None:
        call_id = _text_id(fields.get("id"))
    return Return(call_id, name if isinstance(name, str) else "", output, is_error)


def _is_error(fields: Fields) -> bool:
    if any(fields.get(key) is True for key in _ERROR_FLAGS) or kind_of_part(fields) in _ERROR_TYPES:
        return True
    error = fields.get("error")
    if error is True or (isinstance(error, str | Mapping) and bool(error)):
        return True
    states = (fields.get("status"), fields.get("state"))
    if any(isinstance(state, str) and plain_key(state) in _ERROR_STATES for state in states):
        return True
    inner = next((value for key in _OUTPUTS if isinstance(value := fields.get(key), Mapping)), None)
    return inner is not None and _is_error(fields_of(inner))


def unwrapped(output: object) -> object:
    """A return without the boxes that say only of what kind it is: ``{type, value}``, ``[{json}]``."""
    for _ in range(4):
        if isinstance(output, list) and len(output) == 1 and isinstance(output[0], Mapping) and len(output[0]) == 1:
            output = output[0].get("json", output[0].get("text", output))
            if isinstance(output, list):
                break
        if not isinstance(output, Mapping):
            break
        if "value" in output and len(output) <= 3 and isinstance(output.get("type"), str):
            output = output["value"]
        elif len(output) <= 6 and isinstance(output.get("rawoutput", output.get("raw_output")), str | list | Mapping):
            output = output.get("rawoutput", output.get("raw_output"))
        elif len(output) == 1 and (inner := next(iter(output.values()))) is not None and _boxes(output):
            output = inner
        else:
            break
    return output


def _boxes(output: Mapping[Any, Any]) -> bool:
    return plain_key(next(iter(output))) in ("result", "output", "ok", "success", "structuredcontent")


def _is_definition(fields: Fields) -> bool:
    """Whether an object describes a tool rather than calling it."""
    if "inputschema" in fields or "jsonschema" in fields:
        return True
    schema = fields.get("parameters", fields.get("args"))
    return isinstance(schema, Mapping) and "properties" in schema and ("description" in fields or "type" in schema)


def _id_of(fields: Fields) -> str | None:
    found = next((text for key in _IDS if (text := _text_id(fields.get(key))) is not None), None)
    kept = fields.get("additionalkwargs")
    if found is None and isinstance(kept, Mapping):
        inner = fields_of(kept)
        found = next((text for key in _IDS if (text := _text_id(inner.get(key))) is not None), None)
    return found


def _text_id(value: object) -> str | None:
    number = whole_number(value)
    return str(number) if number is not None else value or None if isinstance(value, str) else None


def _first(fields: Fields, keys: tuple[str, ...]) -> object:
    return next((fields[key] for key in keys if key in fields), None)


def _decoded(value: object) -> object:
    """The object that a text spells, in JSON or as Python prints it; else the value."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    found = load_json(value)
    if found is NOT_JSON and value[:2] in ("{'", "[{"):
        found = load_literal(value)
    return value if found is NOT_JSON else found


def decoded_value(value: object) -> object:
    """A list or an object, also where it is kept as JSON; anything else as it is."""
    return _decoded(value)
