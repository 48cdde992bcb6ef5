"""Tool calls by their shape: a name with arguments, an id with a return, words with a role, whatever the spelling.

Takes one object at a time and says what it is; ``walk.py`` goes through a whole record. Knows no format: keys are
compared in the plain form of ``vocabulary.py``.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.readers import vocabulary as words
from tracerank.readers.events import Called, Returned
from tracerank.readers.hosted import hosted_call, hosted_results, is_hosted_result, plain_sources
from tracerank.readers.sources.loose_json import decoded_value
from tracerank.readers.values import text_of, whole_number
from tracerank.readers.vocabulary import plain_fields, plain_key

Fields = Mapping[str, Any]
"""An object under its plain keys."""

_NUMBERED = re.compile(r"(.+?)_(\d{1,3})")
_NAMED_TOOL = re.compile(r"tool-(?!call\b|result\b|error\b|input|output|approval)([\w.:-]{1,200})")
"""The type of a part that names its tool, ``tool-webSearch``."""


def chat_message(value: Mapping[Any, Any]) -> Returned | tuple[words.Role, str, list[Called]] | None:
    """A chat message in its usual spelling, with its speaker, text and calls; None: it is spelled otherwise."""
    role, content = value.get("role"), value.get("content")
    if not (content is None or isinstance(content, str)):
        return None
    if any(inner and key not in words.CHAT_KEYS for key, inner in value.items()):
        return None
    if role == "tool":
        call_id, name = value.get("tool_call_id"), value.get("name")
        is_whole = isinstance(call_id, str) and call_id and content is not None
        return Returned(content, call_id, name if isinstance(name, str) else "") if is_whole else None
    speaker = words.ROLES.get(role) if isinstance(role, str) else None
    if speaker not in ("user", "agent") or value.get("tool_call_id") or value.get("name"):
        return None
    listed = value.get("tool_calls") or ()
    calls = [_chat_call(one) for one in listed] if isinstance(listed, list | tuple) else [None]
    made = [call for call in calls if call is not None]
    if len(made) < len(calls) or (made and speaker == "user"):
        return None
    return speaker, content if content and content.strip() else "", made


def _chat_call(call: object) -> Called | None:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(call, Mapping):
        return None
    name, call_id = function.get("name"), call.get("id")
    if not isinstance(name, str) or not name.strip() or not isinstance(call_id, str) or not call_id:
        return None
    return Called(name, function["arguments"], call_id) if "arguments" in function else None


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
    # A speaker with a name that is not the user is an agent.
    has_name = any(isinstance(fields.get(key), str) for key in words.SPEAKER_KEYS)
    return "agent" if has_name and "content" in fields else None


def constructed(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A message that LangChain keeps as a call of its class, as a message of that type; anything else as it is."""
    if value.get("type") != "constructor":
        return value
    name, given = value.get("id"), value.get("kwargs")
    return {**given, "type": name[-1]} if isinstance(name, list) and name and isinstance(given, Mapping) else value


def is_passing(fields: Fields) -> bool:
    """Whether an object is a piece of something that is logged whole as well, or was not said to the user."""
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
        if isinstance(inner, Mapping) and (call := _bare_call(plain_fields(inner), is_typed=True)) is not None:
            return call if call.id is not None else replace(call, id=_id_of(fields) or _text_id(fields.get("id")))
    kind = kind_of_part(fields)
    if kind.startswith("tool") and (named := _NAMED_TOOL.fullmatch(str(fields.get("type")))) is not None:
        return Called(named[1], _first(fields, words.ARGUMENT_KEYS), _id_of(fields))
    if (hosted := hosted_call(kind, fields)) is not None:
        return replace(hosted, id=_id_of(fields) or _text_id(fields.get("id")))
    is_part = role == "agent" and fields.keys() <= words.BARE_PART and isinstance(fields.get("input"), Mapping)
    callee = fields.get("recipient")
    if role == "agent" and isinstance(callee, str) and callee.startswith(words.CALLEES) and "content" in fields:
        return Called(callee, text_of(fields["content"]))
    call = _bare_call(fields, is_typed=is_part or kind in words.CALL_KINDS)
    # Inspect's word for a tool that the vendor ran.
    return replace(call, results=()) if call is not None and "tooltype" in fields else call


def _bare_call(fields: Fields, *, is_typed: bool) -> Called | None:
    name = next((value for key in words.NAME_KEYS if isinstance(value := fields.get(key), str) and value.strip()), None)
    if name is None or len(name) > 200 or _is_definition(fields):
        return None
    key = next((key for key in words.ARGUMENT_KEYS if key in fields), None)
    if key is None:
        return Called(name, None, _id_of(fields) or _text_id(fields.get("id"))) if is_typed else None
    given = fields[key]
    is_sure = is_typed or key not in words.LOOSE_ARGUMENT_KEYS or _id_of(fields) is not None
    is_shaped = isinstance(given, Mapping) or (isinstance(given, str) and (is_sure or given[:1] == "{"))
    if not is_shaped and not (is_typed and given is None):
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
        if isinstance(inner, Mapping) and (found := _bare_return(plain_fields(inner), is_typed=True)) is not None:
            return found
    raw = fields.get("rawitem")
    if fields.get("output") is not None and isinstance(raw, Mapping):
        # Beside what the model was sent, an item may keep what the tool returned.
        found = return_of(plain_fields(raw))
        return None if found is None else replace(found, output=unwrapped(fields["output"]))
    kind = kind_of_part(fields)
    # The role is the object's own: parts inside a tool's message are its content.
    is_typed = kind in words.RETURN_KINDS or role_of(fields) == "tool" or role == "tool"
    return _bare_return(fields, is_typed=is_typed)


def inline_return(fields: Fields, call: Called) -> Returned | None:
    """What a call keeps of its own return; None: nothing."""
    if call.results is not None and kind_of_part(fields) in ("websearchcall", "filesearchcall"):
        return Returned(None, call.id, call.name, _is_error(fields) or fields.get("status") == "incomplete")
    for key in words.WRAPPED_CALLS:
        inner = fields.get(key)
        if isinstance(inner, Mapping) and (kept := inline_return(plain_fields(inner), call)) is not None:
            return kept
    for key in words.INLINE_KEYS:
        if fields.get(key) is not None:
            return Returned(unwrapped(fields[key]), call.id, call.name, _is_error(fields))
    if _is_error(fields) and kind_of_part(fields) != "invalidtoolcall":
        return Returned(fields.get("error", fields.get("errortext", "")), call.id, call.name, is_error=True)
    return None


def _bare_return(fields: Fields, *, is_typed: bool) -> Returned | None:
    key = next((key for key in words.OUTPUT_KEYS if key in fields), None)
    call_id = _id_of(fields)
    origin = fields.get("origin")
    name = fields.get("toolname", fields.get("name", ""))
    if isinstance(origin, Mapping):
        about = plain_fields(origin)
        call_id, name = call_id or _text_id(about.get("id")), about.get("toolname", name)
    if key is None or not (is_typed or call_id is not None):
        return None
    # Beside arguments the object is the call itself, which keeps its return.
    if not is_typed and any(one in fields for one in (*words.ARGUMENT_KEYS, *words.MODEL_KEYS)):
        return None
    output = unwrapped(fields[key])
    is_error = _is_error(fields)
    if is_typed and call_id is None:
        call_id = _text_id(fields.get("parentid" if kind_of_part(fields).endswith("event") else "id"))
    kind = kind_of_part(fields)
    results = hosted_results(output) if is_hosted_result(kind) else None
    if results is not None and isinstance(output, Mapping) and output.get("error_code"):
        is_error = True
    name = name if isinstance(name, str) else ""
    return Returned(output, call_id, name, is_error, fields.get("artifact"), results)


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
    return inner is not None and _is_error(plain_fields(inner))


def unwrapped(output: object) -> object:
    """A return without the boxes that say only of what kind it is: ``{type, value}``, ``[{json}]``."""
    output = _untagged(output)
    if isinstance(output, list):
        output = plain_sources(output)
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
        elif (inner := _boxed(output)) is not None:
            output = inner
        else:
            break
    return output


def _untagged(value: object, depth: int = 6) -> object:
    """What a dump holds that keeps the names of Python classes, without them."""
    if isinstance(value, list):
        return [_untagged(one, depth) for one in value] if any(map(_is_tagged, value)) else value
    while depth and _is_tagged(value) and isinstance(value, Mapping):
        inner = next((value[key] for key in words.TAGGED_KEYS if key in value), None)
        value = inner["parts"] if isinstance(inner, Mapping) and isinstance(inner.get("parts"), list) else inner
        depth -= 1
        if isinstance(value, list):
            return _untagged(value, depth)
    return value


def _is_tagged(value: object) -> bool:
    return isinstance(value, Mapping) and any(tag in value for tag in words.CLASS_TAGS)


def _boxed(output: Mapping[Any, Any]) -> object:
    """The one value of an object that says beside it only that all went well; None: it says more."""
    if len(output) == 1:
        return next(iter(output.values())) if plain_key(next(iter(output))) in words.BOXES else None
    flags = [key for key in output if plain_key(key) in words.FLAGS]
    rest = [value for key, value in output.items() if key not in flags]
    return rest[0] if len(rest) == 1 and flags and all(_went_well(output[key]) for key in flags) else None


def _went_well(flag: object) -> bool:
    return flag in (None, True, "", 200) or (isinstance(flag, str) and flag.lower() in words.WENT_WELL)


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
        inner = plain_fields(kept)
        found = next((text for key in words.ID_KEYS if (text := _text_id(inner.get(key))) is not None), None)
    return found


def _text_id(value: object) -> str | None:
    number = whole_number(value)
    return str(number) if number is not None else value or None if isinstance(value, str) else None


def _first(fields: Fields, keys: tuple[str, ...]) -> object:
    return next((fields[key] for key in keys if key in fields), None)


# ---- several objects that belong together


def has_done(fields: Fields) -> bool:
    """Whether a message lists calls together with their returns: its words were said after them."""
    keys = (*words.CALL_LISTS, "parts")
    listed = [one for key in keys if isinstance(given := fields.get(key), list) for one in given]
    return any(isinstance(one, Mapping) and keeps_both(plain_fields(one)) for one in listed)


def keeps_both(fields: Fields) -> bool:
    """Whether an object is a call together with its return."""
    call = call_of(fields)
    return call is not None and call.arguments is not None and inline_return(fields, call) is not None


def lists_returns(fields: Fields) -> bool:
    """Whether the message of a tool holds several returns, each under its own id."""
    for key in ("content", "parts", "toolresponses"):
        listed = fields.get(key)
        if isinstance(listed, list) and any(
            isinstance(one, Mapping) and (found := return_of(plain_fields(one))) is not None and found.id is not None
            for one in listed
        ):
            return True
    return False


def side_by_side(fields: Fields) -> list[tuple[Called, object]]:
    """Calls in one list with their returns in another, of the same length and without ids of their own."""
    listed = next((value for key in words.CALL_LISTS if isinstance(value := fields.get(key), list) and value), None)
    returned = next((value for key in words.RETURN_LISTS if isinstance(value := fields.get(key), list) and value), None)
    if listed is None or returned is None or len(listed) != len(returned):
        return []
    calls = [call_of(plain_fields(one), "agent") if isinstance(one, Mapping) else None for one in listed]
    are_bare = all(isinstance(one, str) or (isinstance(one, Mapping) and _is_bare(one)) for one in returned)
    if (
        not are_bare
        or None in calls
        or any(isinstance(one, Mapping) and keeps_both(plain_fields(one)) for one in listed)
    ):
        return []
    return [(call, unwrapped(output)) for call, output in zip(calls, returned, strict=True) if call is not None]


def _is_bare(value: Mapping[Any, Any]) -> bool:
    """Whether an object does not say of which call it is the return."""
    found = return_of(plain_fields(value))
    return found is None or found.id is None


def in_time_order(items: Sequence[Any]) -> Sequence[Any]:
    """The items, turned round where they are the states of a graph, which are listed from the last to the first."""
    if len(items) < 2 or not all(
        isinstance(one, Mapping) and isinstance(one.get("metadata"), Mapping) for one in (items[0], items[-1])
    ):
        return items
    first, last = (whole_number(plain_fields(one["metadata"]).get("step")) for one in (items[0], items[-1]))
    return items[::-1] if first is not None and last is not None and first > last else items


def acted(pair: list[Any] | tuple[Any, ...]) -> Called | None:
    """The call of a pair of an action and what came of it, as executors log their steps; None: it is none."""
    action, seen = pair
    if not isinstance(action, Mapping) or (isinstance(seen, Mapping) and call_of(plain_fields(seen)) is not None):
        return None
    kept = action.get("kwargs")
    fields = plain_fields(kept if isinstance(kept, Mapping) else action)
    return call_of(fields) if "tool" in fields and "toolinput" in fields else None


def numbered_steps(value: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """The steps of an object that numbers its keys: ``tool_name_0``, ``tool_args_0``, ``observation_0``."""
    if not any(isinstance(key, str) and key.endswith("_0") for key in value):
        return []
    steps: dict[int, dict[str, Any]] = {}
    for key, inner in value.items():
        if isinstance(key, str) and (found := _NUMBERED.fullmatch(key)):
            steps.setdefault(int(found[2]), {})[found[1]] = inner
    return [steps[number] for number in sorted(steps)]
