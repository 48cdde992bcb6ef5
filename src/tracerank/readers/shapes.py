"""Tool calls by their shape: a name with arguments, an id with a return, words with a role, whatever the spelling.

Takes one object at a time and says what it is; ``walk.py`` goes through a whole record. Knows no format: keys are
compared in the plain form of ``vocabulary.py``.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tracerank.readers import vocabulary as words
from tracerank.readers.events import Called, Returned
from tracerank.readers.sources.loose_json import decoded_value
from tracerank.readers.values import whole_number

Fields = Mapping[str, Any]
"""An object under its plain keys."""

_NOT_PLAIN = re.compile(r"[^a-z0-9]+")
_PLAIN: dict[str, str] = {}
_MAX_KEYS = 4096
"""Keys whose plain form is kept."""


_NAMED_TOOL = re.compile(r"tool-(?!call\b|result\b|error\b|input|output|approval)([\w.:-]{1,200})")
"""The type of a part that names its tool, ``tool-webSearch``."""


def plain_key(key: object) -> str:
    """A key in lower case without dashes, underscores and blanks; empty for what is no text."""
    if not isinstance(key, str):
        return ""
    found = _PLAIN.get(key)
    if found is None:
        found = _NOT_PLAIN.sub("", key.lower()) or key
        if len(_PLAIN) < _MAX_KEYS:
            _PLAIN[key] = found
    return found


def fields_of(value: Mapping[Any, Any]) -> dict[str, Any]:
    """An object under its plain keys; the first of two that come out the same stays."""
    fields: dict[str, Any] = {}
    for key, inner in value.items():
        fields.setdefault(plain_key(key), inner)
    return fields


def speaker_of(message: Mapping[Any, Any]) -> words.Role | None:
    """Who says a text in a message that has nothing but both; None: it is no such message of the user or the agent."""
    role = message.get("role")
    if not isinstance(role, str) or not isinstance(message.get("content"), str):
        return None
    found = words.ROLES.get(plain_key(role))
    return found if found in ("user", "agent") else None


def role_of(fields: Fields) -> words.Role | None:
    """Who speaks in an object; None: it does not say."""
    for key in words.ROLE_KEYS:
        value = fields.get(key)
        if isinstance(value, str) and (role := words.ROLES.get(plain_key(value))) is not None:
            return role
    if fields.get("kind") == "response":
        return "agent"
    if "parenttooluseid" in fields and "content" in fields:
        return "agent" if "model" in fields else "user"
    # Whoever has a name of his own and is not the user is an agent.
    return (
        "agent" if any(isinstance(fields.get(key), str) for key in words.SPEAKER_KEYS) and "content" in fields else None
    )


def is_passing(fields: Fields) -> bool:
    """Whether an object is a piece of something that is logged whole as well, or nothing that was said to anybody."""
    if fields.get("partial") is True or fields.get("thought") is True or fields.get("isapierrormessage") is True:
        return True
    kind = kind_of_part(fields)
    return kind == "streamevent" or kind.endswith(words.PASSING_ENDS)


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


def call_of(fields: Fields, role: words.Role | None = None) -> Called | None:
    """The call that an object is; None: it is none. ``role`` is that of the message around it."""
    for key in words.WRAPPED_CALLS:
        inner = decoded_value(fields.get(key))
        if isinstance(inner, Mapping) and (call := _bare_call(fields_of(inner), is_told=True)) is not None:
            return call if call.id is not None else replace(call, id=_id_of(fields) or _text_id(fields.get("id")))
    kind = kind_of_part(fields)
    if kind.startswith("tool") and (named := _NAMED_TOOL.fullmatch(str(fields.get("type")))) is not None:
        return Called(named[1], _first(fields, words.ARGUMENT_KEYS), _id_of(fields))
    if kind in words.HOSTED_KINDS and (hosted := _hosted_call(fields)) is not None:
        return hosted
    is_part = role == "agent" and fields.keys() <= words.BARE_PART and isinstance(fields.get("input"), Mapping)
    return _bare_call(fields, is_told=is_part or kind in words.CALL_KINDS)


def _hosted_call(fields: Fields) -> Called | None:
    """A search that the vendor's tool made, of which the item has no name: it says what was looked for or opened."""
    action = fields.get("action")
    about = fields_of(action) if isinstance(action, Mapping) else fields
    given = {key: about[key] for key in ("query", "queries", "url", "pattern") if about.get(key)}
    if not given and isinstance(fields.get("query"), str) and fields["query"]:
        given = {"query": fields["query"]}
    return Called("web_search", given, _id_of(fields) or _text_id(fields.get("id"))) if given else None


def _bare_call(fields: Fields, *, is_told: bool) -> Called | None:
    name = next((value for key in words.NAME_KEYS if isinstance(value := fields.get(key), str) and value.strip()), None)
    if name is None or len(name) > 200 or _is_definition(fields):
        return None
    key = next((key for key in words.ARGUMENT_KEYS if key in fields), None)
    if key is None:
        return Called(name, None, _id_of(fields) or _text_id(fields.get("id"))) if is_told else None
    given = fields[key]
    is_sure = is_told or key not in ("input", "kwargs", "parameters", "params") or _id_of(fields) is not None
    is_shaped = isinstance(given, Mapping) or (isinstance(given, str) and (is_sure or given[:1] == "{"))
    if not is_shaped and not (is_told and given is None):
        return None
    # A span or a setting may have a name and an input, too: a tool is at least called one.
    if not is_sure and not (
        "tool" in fields or "toolname" in fields or any(one in fields for one in words.INLINE_KEYS)
    ):
        return None
    return Called(name, given, _id_of(fields) or _text_id(fields.get("id")))


def return_of(fields: Fields, role: words.Role | None = None) -> Returned | None:
    """What an object says came back from a call; None: it is no return."""
    for key in words.WRAPPED_RETURNS:
        inner = fields.get(key)
        if isinstance(inner, Mapping) and (found := _bare_return(fields_of(inner), is_told=True)) is not None:
            return found
    raw = fields.get("rawitem")
    if fields.get("output") is not None and isinstance(raw, Mapping):
        # Beside what the model was sent, an item may keep what the tool returned.
        found = return_of(fields_of(raw))
        return None if found is None else replace(found, output=unwrapped(fields["output"]))
    kind = kind_of_part(fields)
    # The role is the object's own: parts inside a tool's message are its content.
    is_told = kind in words.RETURN_KINDS or role_of(fields) == "tool" or role == "tool"
    return _bare_return(fields, is_told=is_told)


def inline_return(fields: Fields, call: Called) -> Returned | None:
    """What a call keeps of its own return; None: nothing."""
    for key in words.INLINE_KEYS:
        if fields.get(key) is not None:
            return Returned(unwrapped(fields[key]), call.id, call.name, _is_error(fields))
    if _is_error(fields):
        return Returned(fields.get("error", fields.get("errortext", "")), call.id, call.name, is_error=True)
    return None


def _bare_return(fields: Fields, *, is_told: bool) -> Returned | None:
    key = next((key for key in words.OUTPUT_KEYS if key in fields), None)
    call_id = _id_of(fields)
    origin = fields.get("origin")
    name = fields.get("toolname", fields.get("name", ""))
    if isinstance(origin, Mapping):
        about = fields_of(origin)
        call_id, name = call_id or _text_id(about.get("id")), about.get("toolname", name)
    if key is None or not (is_told or call_id is not None):
        return None
    # Beside arguments the object is the call itself, which keeps its return.
    if not is_told and any(one in fields for one in words.ARGUMENT_KEYS):
        return None
    output = unwrapped(fields[key])
    is_error = _is_error(fields)
    if is_told and call_id is None:
        call_id = _text_id(fields.get("id"))
    return Returned(output, call_id, name if isinstance(name, str) else "", is_error)


def _is_error(fields: Fields) -> bool:
    if any(fields.get(key) is True for key in words.ERROR_FLAGS) or kind_of_part(fields) in words.ERROR_KINDS:
        return True
    error = fields.get("error")
    if error is True or (isinstance(error, str | Mapping) and bool(error)):
        return True
    states = (fields.get("status"), fields.get("state"))
    if any(isinstance(state, str) and plain_key(state) in words.ERROR_STATES for state in states):
        return True
    inner = next((value for key in words.OUTPUT_KEYS if isinstance(value := fields.get(key), Mapping)), None)
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
    found = next((text for key in words.ID_KEYS if (text := _text_id(fields.get(key))) is not None), None)
    kept = fields.get("additionalkwargs")
    if found is None and isinstance(kept, Mapping):
        inner = fields_of(kept)
        found = next((text for key in words.ID_KEYS if (text := _text_id(inner.get(key))) is not None), None)
    return found


def _text_id(value: object) -> str | None:
    number = whole_number(value)
    return str(number) if number is not None else value or None if isinstance(value, str) else None


def _first(fields: Fields, keys: tuple[str, ...]) -> object:
    return next((fields[key] for key in keys if key in fields), None)
