"""One tool return to results: JSON, numbered or linked markdown, ``Doc 1(Title: …)`` chunks, pages, plain text.

Which call a return belongs to is the transcript's business. A text is split only where the tool's own layout says so
and, where the call is known, only at what the call asked for: a page cannot pretend to be another page. Every step is
linear in the length of the text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tracerank.answers.exact import normalize_text
from tracerank.pools.urls import canonical_url
from tracerank.readers.ranked import split_ranked
from tracerank.readers.results import Result, blocks_of, flat_text, is_failure
from tracerank.readers.sources.loose_json import NOT_JSON, load_bare, load_json, load_literal, load_objects
from tracerank.readers.sources.printed_objects import load_printed
from tracerank.readers.text_fields import is_empty_table
from tracerank.readers.text_results import announces, laid_out
from tracerank.readers.values import encodable

_MESSAGE_LENGTH = 400
"""Longer texts are taken for content even when they begin like an error message."""

_FAILURE = re.compile(
    r"\W*+(?:\w{1,20}\]\s*+)?(?:"
    r"(?:search |retrieval |request |http |server |connection |client |google |tool |call |google search )*"
    r"(?:error|failed|failure|timed? ?out|timeout)\b"
    r"|an? (?:\w+ )?(?:error|exception) (?:has |was )?(?:occurred|encountered|raised|thrown)\b"
    r"|(?:no|nothing)\b.{0,40}\b(?:results?|documents?|passages?|information|matches|content|found)\b"
    r"|(?:no|zero) (?:\w+ ){0,3}(?:hits|entries|articles|records|pages|sources|items|data)"
    r"(?: (?:were|was|are|is))?(?: (?:found|available|returned))?\W*$|nothing\W*$|empty\W*$"
    r"|invalid (?:request|link|url|tool|arguments?|location|docid|cursor)\b"
    r"|(?:cannot|can't|could not|unable to) (?:access|fetch|find|load|open|reach|read|retrieve|visit)\b"
    r"|(?:\S++ ){1,6}(?:could not be (?:accessed|fetched|found|loaded|opened|processed|reached|read|retrieved)"
    r"|(?:was )?not found\W*$|max retries exceeded\b)"
    r"|(?:\S++ ){0,6}(?:timed out|(?:is |are )?(?:temporarily )?unavailable|too many requests"
    r"|rate limit(?:ed)?(?: (?:was )?(?:exceeded|reached))?|connection (?:refused|reset|aborted))"
    r"(?: (?:by|after) (?:\S++ ?){1,3})?\W*$"
    r"|encountered (?:an )?error\b|(?:\S++ ){0,8}(?:with no|without(?: any)?) (?:output|results?)(?: or errors?)?\W*$"
    r"|(?:http )?[45]\d\d (?:\w+ ){0,2}(?:error|requests|gateway|timeout|unavailable|forbidden)\b"
    r"|too many requests\b|rate limit(?:ed)?\b.{0,30}\b(?:exceeded|reached)\b"
    r"|(?-i:[A-Z]\w{0,40}(?:Error|Exception)[:(])"
    r"|access denied|maximum length limit reached|traceback \(most recent|(?:none|null|n/?a)\W*$)",
    re.IGNORECASE,
)
_FAILURE_TRACE = re.compile(r"(?:\w{1,20} )?error\b[^\n]{0,120}\n\s{0,9}traceback \(most recent", re.IGNORECASE)
# ``503 Service Unavailable …``, ``404 Client Error: …``: how servers and their clients say it.
_STATUS = re.compile(
    r"\W*(?:http[ /\d.]{0,6} ?)?(?:error|status|code|:| ){0,4}[45]\d\d\b\W{0,3}(?:client error|server error|bad request"
    r"|unauthori[sz]ed|payment required|forbidden|not found|method not allowed|request timeout|conflict|gone"
    r"|too many requests|internal server error|not implemented|bad gateway|service unavailable|gateway time)",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"(?:<[^<>]{1,200}>|0 (?:results?|documents?|hits|matches)|[\s\[\](){}.,:;|*_#-])*", re.IGNORECASE
)
"""Marks and counts that hold no words."""
# Some environments tell the agent how it was graded: that is a label, never something the agent found.
_VERDICT = re.compile(r"^[ \t]*(?:Answer is (?:IN)?CORRECT\b|Episode finished, reward\s*=)[^\n]*$", re.M | re.I)

_GOOGLE = re.compile(r"A Google (?:scholar )?search for '([^\n]{0,2000})' found \d{1,6} results:?", re.IGNORECASE)
_RULE = re.compile(r"\n=======\n")
_SEARCH_HEADING = re.compile(r"\s*##? (?:Search|Web) Results:?[ \t]*\n", re.IGNORECASE)

_VISITED = re.compile(r"Successfully visited the url (\S{1,4000})\.\s*\n")
_USEFUL = re.compile(r"The useful information in (\S{1,4000}) for user goal ")
_USEFUL_END = " as follows:"
_MAX_GOAL = 4000
_UNREACHABLE = re.compile(r"The provided webpage content could not be accessed")
_EVIDENCE_LABEL = "Evidence in page:"
_CONTENT = ("<Content>", "</Content>")
_ABOUT_A_SOURCE = frozenset(("url", "link", "href", "title", "docid", "doc_id", "id", "metadata", "source", "score"))
_ENVELOPES = ("content", "result", "results", "output", "text", "response", "report")
_PRINTED = ("{'", "[{'", "['", "[['")
"""How lists and objects begin that Python printed."""
_PRINTED_OBJECT = re.compile(r"\s*+(?:\[\s*+\(?\s*+)?+(?:[A-Z]\w{1,60}\([a-z_]{1,40}=|page_content=['\"])")
"""How LangChain's documents and their like begin where Python printed them."""
_ANNOUNCED = re.compile(r"\s*+(?:[^\n{\[]{1,200}:[ \t]*\n\s*)?+(?:```(?:json)?[ \t]*\n\s*+)?(?=[\[{])", re.I)
"""A line that announces JSON, and the fence around it."""
_PRINTED_DOCUMENT = "page_content="
_TEXT_PARTS = ("text", "output_text", "input_text", None)


# ---- any return


def value_of(output: object, *, keeps_parts: bool = False) -> object:
    """A return as JSON where it is JSON, else as text: parts are joined, envelopes and double encoding unwrapped."""
    for _ in range(6):
        if isinstance(output, str):
            value = load_json(output) if output.lstrip()[:1] in ("{", "[", '"') else NOT_JSON
            if value is NOT_JSON and output.lstrip().startswith(_PRINTED):
                value = load_literal(output)
            if value is NOT_JSON and output.lstrip()[:1] == "{":
                value = load_objects(output)
            if value is NOT_JSON:
                value = load_bare(output)
            if value is NOT_JSON and _PRINTED_OBJECT.match(output):
                value = _printed(output)
            if value is NOT_JSON and (announced := _ANNOUNCED.match(output)) is not None:
                value = load_json(output[announced.end() :].strip().removesuffix("```"))
            if not isinstance(value, str | list | dict):
                break
            output = value
        elif _are_text_parts(output):
            if keeps_parts and isinstance(output, list) and len(output) > 1:
                break
            output = flat_text(output)
        elif isinstance(output, Mapping) and (inner := _enclosed(output)) is not None:
            output = inner
        else:
            break
    return encodable(without_verdicts(output)) if isinstance(output, str) else output


def _printed(text: str) -> Any:
    """The objects that Python printed; of pairs with a score, the objects."""
    body = text.strip()
    if body.startswith(_PRINTED_DOCUMENT):  # as LangChain's own ``str`` puts a document
        lines = [line for line in body.split("\n") if line.strip()]
        if not all(line.startswith(_PRINTED_DOCUMENT) for line in lines):
            return NOT_JSON
        body = f"[{', '.join(f'Document({line})' for line in lines)}]"
    value = load_printed(body)
    if isinstance(value, list):
        value = [one[0] if isinstance(one, list) and len(one) == 2 and _is_scored(one) else one for one in value]
    return value


def _is_scored(pair: list[Any]) -> bool:
    return isinstance(pair[0], Mapping) and isinstance(pair[1], int | float)


def _enclosed(value: Mapping[str, Any]) -> object:
    """What an object wraps that says nothing about a source itself, such as MCP's ``{"content": [parts]}``."""
    if value.get("isError") is True:
        return ""
    if is_failure(value) or _ABOUT_A_SOURCE.intersection(value):
        return None
    for key in _ENVELOPES:
        inner = value.get(key)
        if isinstance(inner, str) or _are_text_parts(inner):
            return inner
    return None


_FAILING = (_FAILURE.match, _STATUS.match, _NOTHING.fullmatch)


def is_failure_text(text: str) -> bool:
    """Whether a text is the tool's message about a failure rather than content."""
    bare = text.strip()
    return (
        not bare
        or is_empty_table(bare)
        or _FAILURE_TRACE.match(bare) is not None
        or (len(bare) <= _MESSAGE_LENGTH and any(each(bare) for each in _FAILING))
    )


def without_verdicts(text: str) -> str:
    """The text without lines that an environment wrote about the correctness of the answer."""
    return _VERDICT.sub("", text) if "nswer is " in text or "pisode finished" in text else text


def _are_text_parts(value: object) -> bool:
    """Whether a list is one text in parts; a list of mere strings is a list of results."""
    if not isinstance(value, list) or not any(isinstance(part, Mapping) for part in value):
        return False
    return all(isinstance(part, str) or (isinstance(part, Mapping) and _is_text_part(part)) for part in value)


def _is_text_part(part: Mapping[str, Any]) -> bool:
    is_text = isinstance(part.get("text"), str) and part.get("type") in _TEXT_PARTS
    return is_text and not _ABOUT_A_SOURCE.intersection(part)


# ---- search returns


def read_search(output: object, queries: Sequence[str] = ()) -> tuple[tuple[Result, ...], ...]:
    """The results of a search call: a block per query when the return keeps them apart, else one block or none."""
    value = value_of(output, keeps_parts=True)
    if isinstance(value, list) and _are_text_parts(value):
        return _part_results(value, queries)
    if not isinstance(value, str):
        blocks = blocks_of(value)
        return blocks if len(blocks) <= 1 or len(blocks) == len(queries) else (_joined(blocks),)
    parts = list(_query_parts(value, queries))
    if len(parts) > 1:
        return tuple(_text_results(part) for part in parts)
    results = _text_results(value)
    return (results,) if results else ()


def _part_results(parts: Sequence[Any], queries: Sequence[str]) -> tuple[tuple[Result, ...], ...]:
    """The results of a return in several texts, as MCP servers send them: one or more a part."""
    texts = [text for part in parts if (text := flat_text(part)).strip()]
    if len(texts) > 1 and announces(texts[0]):
        texts = texts[1:]
    blocks = [read_search(text, ()) for text in texts]
    if len(texts) == len(queries) > 1 and all(len(found) <= 1 for found in blocks):
        return tuple(found[0] if found else () for found in blocks)
    joined = _joined([block for found in blocks for block in found])
    return (joined,) if joined else ()


def stated_queries(output: object) -> tuple[str, ...]:
    """The queries that a return names itself, for calls whose arguments are lost."""
    value = value_of(output)
    if isinstance(value, Mapping):
        parameters = value.get("searchParameters")
        query = parameters.get("q") if isinstance(parameters, Mapping) else value.get("query")
        return (query,) if isinstance(query, str) and query.strip() else ()
    if not isinstance(value, str):
        return ()
    places = [0, *(rule.end() for rule in _RULE.finditer(value))]
    return tuple(heading[1] for start in places if (heading := _GOOGLE.match(value, start)))


def _joined(blocks: Sequence[tuple[Result, ...]]) -> tuple[Result, ...]:
    results = (result for block in blocks for result in block)
    return tuple(replace(result, rank=rank) for rank, result in enumerate(results, start=1))


def _query_parts(text: str, queries: Sequence[str]) -> Iterator[str]:
    """The parts of a batch's return, as many as there were queries; the whole text when that does not work out."""
    cuts = list(_RULE.finditer(text)) if len(queries) > 1 else []
    if len(cuts) != len(queries) - 1:
        # A page may hold such a rule, too: those count behind which a query's own heading stands.
        asked = {normalize_text(query) for query in queries}
        cuts = [cut for cut in cuts if (head := _GOOGLE.match(text, cut.end())) and normalize_text(head[1]) in asked]
    if not cuts or len(cuts) != len(queries) - 1:
        yield text
        return
    for start, end in zip([0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(text)], strict=True):
        yield text[start:end]


def _text_results(text: str) -> tuple[Result, ...]:
    body = text.lstrip()
    if google := _GOOGLE.match(body):
        body = body[google.end() :].lstrip()
    if heading := _SEARCH_HEADING.match(body):
        body = body[heading.end() :]
    chunks = split_ranked(body)
    is_whole = len(chunks) == 1 and chunks[0].title is None
    results = laid_out(body, google is not None or heading is not None) if is_whole else ()
    # Several results are results, also where the first of them is called "Failure".
    if len(results) < 2 and is_failure_text(body):
        return ()
    return results or tuple(Result(c.text, c.title, rank=c.rank) for c in chunks)


# ---- page returns


def read_pages(output: object, targets: Sequence[str] = ()) -> tuple[Result, ...]:
    """What an open or find call showed, per page; ``targets`` are the addresses or ids that it asked for."""
    value = value_of(output)
    if isinstance(value, str):
        pages = [_page(part, targets) for part in _page_parts(value, targets)]
    elif isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        pages = [_page("\n\n".join(value), targets)]
    else:
        pages = [replace(result, rank=None) for block in blocks_of(value) for result in block]
    shown = (page for page in pages if page is not None and not (page.text and is_failure_text(page.text)))
    return tuple(_identified(page, targets) for page in shown)


def _identified(page: Result, targets: Sequence[str]) -> Result:
    """The page under the name by which it was asked for: what it says about itself may be part of the page."""
    if len(targets) == 1:
        if canonical_url(targets[0]) is not None:
            return replace(page, url=targets[0], doc_id=None)
        return page if page.url or page.doc_id else replace(page, doc_id=targets[0])
    asked = {canonical_url(target) for target in targets} - {None}
    return replace(page, url=None) if asked and canonical_url(page.url) not in asked else page


def _page_parts(text: str, targets: Sequence[str]) -> Iterator[str]:
    """The pages of a batch, cut where a rule is followed by the heading of another page that was asked for."""
    start = 0
    for cut in _RULE.finditer(text) if len(targets) > 1 else ():
        if _heading(text, cut.end(), targets) is not None:
            yield text[start : cut.start()]
            start = cut.end()
    yield text[start:]


def _page(text: str, targets: Sequence[str]) -> Result | None:
    body = text.strip()
    heading = _heading(body, 0, targets)
    url = None
    if heading is not None:
        url, end = heading
        body = body[end:].lstrip().removeprefix(_EVIDENCE_LABEL).lstrip()
    if is_failure_text(body) or (url and _UNREACHABLE.match(body)):
        return None
    return Result(_page_text(body), url=url)


def _heading(text: str, at: int, targets: Sequence[str]) -> tuple[str, int] | None:
    """The address in a heading that the tool wrote, and where the page begins: it names what was asked for."""
    found = _VISITED.match(text, at) or _USEFUL.match(text, at)
    if found is None or (targets and found[1] not in targets):
        return None
    end = found.end()
    if found.re is _USEFUL:
        close = text.find(_USEFUL_END, end - 1, end + _MAX_GOAL)
        end = close + len(_USEFUL_END) if close >= 0 else end
    return found[1], end


def _page_text(text: str) -> str:
    """The page without the marks that the tool put around it; marks inside belong to the page."""
    start, end = _CONTENT
    return text[len(start) : -len(end)].strip() if text.startswith(start) and text.endswith(end) else text
