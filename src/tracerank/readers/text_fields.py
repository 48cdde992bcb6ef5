"""Search results in a text whose parts have names: elements of XML and HTML, tables, CSV, data frames, YAML.

Each function takes a text and returns the fields of every result under the names that the tool gave them; empty: the
text is laid out otherwise. Words without a name stand under the empty one. A name that occurs twice counts once, so
that a page inside a field cannot rename its source. Every step is linear in the length of the text.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import unescape

from tracerank.pools.urls import canonical_url

Fields = dict[str, str]

_MAX_CHILDREN = 30
_MAX_DEPTH = 3
_MAX_SIBLINGS = 400
_DECLARATION = re.compile(r"\A\s*(?:<[?!][^<>]{0,300}>\s*)+")
_OPEN = re.compile(r"<([A-Za-z][\w:.-]{0,40})((?:[ \t\r\n][^<>]{0,600})?)>")
_BETWEEN = re.compile(r"\s*+(?:-{3,}\s*+)?")
_ITEM = re.compile(
    r"(?:(?:web|search)[_-]?)?(?:document|doc|result|passage|source|item|snippet|page|article|chunk|context)", re.I
)
"""Elements that are a result even if there is only one."""
_MARKUP = re.compile(r"html|head|body|p|h[1-6]|[abiu]|em|strong|span|br|hr|pre|code|think|answer", re.I)
"""Elements of a page."""
_ATTRIBUTE = re.compile(r"""\b([A-Za-z][\w:.-]{0,40})=(?:"([^"]{1,2000})"|'([^']{1,2000})')""")
_HTML = re.compile(r"<(ul|ol|dl|table)\b[^<>]{0,300}>", re.I)
_HTML_ITEM = re.compile(r"<(?:li|dt|tr)\b[^<>]{0,300}>", re.I)
_HTML_CELL = re.compile(r"<t[dh]\b[^<>]{0,300}>", re.I)
_HTML_LINK = re.compile(r"<a\s[^<>]{0,300}?\bhref=[\"']([^\"'<>]{1,2000})[\"'][^<>]{0,300}>([^<]{0,300})", re.I)
_HTML_TITLE = re.compile(r"<(?:h[1-6]|b|strong|cite|dfn)\b[^<>]{0,300}>(?:<[^<>]{1,300}>)?([^<]{1,300})", re.I)
_HTML_LIKE = re.compile(r"<(?:a\s[^<>]{0,300}?\bhref=|h[1-6]\b|p\b|li\b)", re.I)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,600}>")
_DEFINED = re.compile(r"</dt>\s*<dd", re.I)

_BORDER = re.compile(r"[\s|+:=\-\u2500-\u257f]+")
_CELLS = re.compile(r"(?<!\\)[|\u2502\u2506]")
_TYPES = frozenset(("---", "str", "cat", "i32", "i64", "u32", "u64", "f32", "f64", "bool", "date", ""))
_FRAME_TOP = re.compile(r"shape: \([\d_, ]{1,40}\)\s*\n|┌")
_FRAME_END = re.compile(r"\n\s*\[\d{1,9} rows? x \d{1,9} columns?\]\s*\Z")
_FRAME_NAME = re.compile(r"\S{1,40}")
_INDEX = re.compile(r"\d{1,6}(?= )")
_NAME = re.compile(r"[A-Za-z_#][\w .#-]{0,30}")
_TELLING = re.compile(
    r"text|content|snippet|abstract|description|summary|body|passage|excerpt|chunk|headline|title|url|link|href|address"
    r"|quote|extract|blurb",
    re.I,
)
_KEY = re.compile(r"([ \t]*(?:[-*] )?)[*_\"']{0,3}([A-Za-z][\w -]{0,30})[*_\"']{0,3}:[*_]{0,2}(?:[ \t]+|$)")
_BLOCK_SCALAR = re.compile(r"[>|][+-]?")


# ---- elements


def elements(text: str) -> list[Fields]:
    """``<document …> … </document>`` after each other, or the same inside elements around them."""
    return _elements(_DECLARATION.sub("", text, count=1), _MAX_DEPTH)


def _elements(text: str, depth: int) -> list[Fields]:
    found = _siblings(text)
    if not found or not depth:
        return []
    names = Counter(name for name, _, _ in found)
    name, count = names.most_common(1)[0]
    if count > 1:
        return [_element(*one) for one in found if one[0] == name]
    for name, attributes, inner in found:
        inside = _elements(inner.strip(), depth - 1)
        is_result = len(found) == 1 and _ITEM.fullmatch(name) is not None
        if len(inside) > is_result:
            return inside
        own = _element(name, attributes, inner)
        if is_result or (len(found) == 1 and depth < _MAX_DEPTH and len(own) > 2):
            return [own]
    return []


def _siblings(text: str) -> list[tuple[str, str, str]]:
    """Name, attributes and inner text of the elements that a text consists of, rules between them."""
    found: list[tuple[str, str, str]] = []
    at = 0
    while (opened := _OPEN.match(text, at)) is not None:
        name = opened[1]
        close = text.find(f"</{name}>", opened.end())
        if close < 0 or _MARKUP.fullmatch(name) or len(found) > _MAX_SIBLINGS:
            return []
        found.append((name, opened[2], text[opened.end() : close]))
        between = _BETWEEN.match(text, close + len(name) + 3)
        at = between.end() if between is not None else len(text)
    return found if at == len(text) else []


def _element(name: str, attributes: str, inner: str) -> Fields:
    fields = _attributes(attributes)
    if _HTML_LIKE.search(inner, 0, 600):
        return {**fields, **_html_fields(inner)}
    rest: list[str] = []
    at = 0
    for _ in range(_MAX_CHILDREN):
        opened = _OPEN.search(inner, at)
        close = -1 if opened is None else inner.find(f"</{opened[1]}>", opened.end())
        if opened is None or (close < 0 and not opened[2].endswith("/")):
            break
        rest.append(inner[at : opened.start()])
        at = opened.end()
        if close < 0:
            fields = _attributes(opened[2]) | fields
        else:
            fields.setdefault(opened[1].lower(), inner[at:close].strip())
            at = close + len(opened[1]) + 3
    rest.append(inner[at:])
    return {**fields, "": "\n".join(filter(str.strip, rest))}


def _attributes(text: str) -> Fields:
    return {key.lower(): double or single for key, double, single in _ATTRIBUTE.findall(text)}


def html(text: str) -> list[Fields]:
    """The items of an HTML list or the rows of an HTML table."""
    opened = _HTML.match(text)
    if opened is None:
        return []
    items = _HTML_ITEM.split(text[opened.end() :])[1:]
    if opened[1].lower() != "table":
        return [_html_fields(item) for item in items]
    rows = [_HTML_CELL.split(item)[1:] for item in items]
    if rows and "<th" in items[0].lower():
        named = [_named([_words(name) for name in rows[0]], [_words(cell) for cell in row]) for row in rows[1:]]
        links = [_HTML_LINK.search(item) for item in items[1:]]
        pairs = zip(named, links, strict=True)
        return [{"href": link[1], **fields} if link is not None else fields for fields, link in pairs if fields]
    return [_html_fields(item) for item in items]


def _html_fields(item: str) -> Fields:
    link = _HTML_LINK.search(item)
    titled = link if link is not None and link[2].strip() else _HTML_TITLE.search(item)
    title = "" if titled is None else _words(titled[titled.re.groups])
    if titled is None and (cut := _DEFINED.search(item)) is not None:
        title, item = _words(item[: cut.start()]), item[cut.end() - 3 :]
    said = _words(item)
    body = said if titled is None else said.removeprefix(title).lstrip(" :-–—|.\n")
    found = {"title": title, "href": "" if link is None else unescape(link[1]), "text": body}
    return {key: value for key, value in found.items() if value}


def _words(markup: str) -> str:
    return "\n".join(filter(None, (" ".join(line.split()) for line in unescape(_TAG.sub(" ", markup)).split("\n"))))


# ---- tables


def table(text: str) -> list[Fields]:
    """The rows of a table in Markdown, or of one that a terminal shows in a box."""
    names, rows = _table(text)
    return _records(names, rows)


def is_empty_table(text: str) -> bool:
    """Whether a text is the head of a table and nothing else."""
    if text.startswith("Empty DataFrame") or ((names := _table(text))[0] and not names[1]):
        return True
    if "\n" in text or len(text) > 200:
        return False
    return any(len(cells := text.split(mark)) > 1 and _are_names(cells, 2) for mark in ("\t", ",", " | "))


def _table(text: str) -> tuple[list[str], list[list[str]]]:
    """The names of the columns and the rows below; empty: it is no table."""
    top = _FRAME_TOP.match(text)
    lines = (text if top is None else text[top.start() + len(top[0].rstrip("┌")) :]).split("\n")
    lines = [line.strip() for line in lines if line.strip()]
    rows = [line for line in lines if not _BORDER.fullmatch(line)]
    if len(rows) == len(lines) or not all(line[0] in "|\u2502" and line[-1] in "|\u2502" for line in rows):
        return [], []
    cells = [[cell.strip().replace("\\|", "|") for cell in _CELLS.split(line[1:-1])] for line in rows]
    names = [name.strip("*_") for name in cells[0]] if cells else []
    return names, [row for row in cells[1:] if not set(row) <= _TYPES]


def separated(text: str) -> list[Fields]:
    """Rows of values between tabs, commas or semicolons below the names of the columns."""
    head = text.partition("\n")[0]
    for mark in ("\t", ",", ";"):
        if len(names := head.split(mark)) > 1 and _are_names(names, 2):
            try:
                rows = list(csv.reader(text.split("\n")[1:], delimiter=mark, skipinitialspace=True))
            except csv.Error:
                return []
            return _records(names, [row for row in rows if row])
    return []


def columns(text: str) -> list[Fields]:
    """Lines of values between tabs or bars without names: an address, words, and a title."""
    rows: list[Fields] = []
    mark = "\t" if "\t" in text.partition("\n")[0] else " | "
    for line in filter(str.strip, text.split("\n")):
        cells = [cell.strip() for cell in line.split(mark)]
        url = next((cell for cell in cells if "://" in cell and canonical_url(cell) is not None), "")
        rest = [cell for cell in cells if cell != url and not cell.replace(".", "").isdecimal()]
        said = max(rest, key=len, default="")
        if not 1 < len(cells) < 9 or " " not in said or (not url and mark != "\t"):
            return []
        title = next((cell for cell in rest if cell != said), "")
        rows.append({key: cell for key, cell in (("title", title), ("url", url), ("text", said)) if cell})
    return rows if len({len(row) for row in rows}) == 1 else []


def data_frame(text: str) -> list[Fields]:
    """The rows of a data frame as pandas prints it: columns end where their names end."""
    rows: dict[str, Fields] = {}
    for section in re.split(r"\n[ \t]*\n", _FRAME_END.sub("", text)):
        head, *lines = section.rstrip().split("\n")
        head = head.rstrip("\\ ")
        lines = [line.rstrip() for line in lines]
        widest = max(map(len, lines), default=0)
        starts = [_INDEX.match(line) for line in lines]
        has_index = all(starts)
        is_even = len(lines) > 1 and all(len(line) == widest for line in lines)
        if not (lines and (has_index or is_even) and _are_names(head.split(), 0 if rows else 1)):
            return []
        # Where the text was trimmed, its first line has lost the blanks before the first name.
        shift = max(0, widest - len(head)) if not rows and not head.startswith(" ") else 0
        ends = [(name[0].lower(), name.end() + shift) for name in _FRAME_NAME.finditer(head)]
        for number, (line, index) in enumerate(zip(lines, starts, strict=True)):
            at = index.end() if index is not None and has_index else 0
            fields = rows.setdefault(line[:at] or str(number), {})
            for name, end in ends:
                fields.setdefault(name, line[at:end].strip())
                at = end
    return list(rows.values())


def _records(names: Sequence[str], rows: Sequence[Sequence[str]]) -> list[Fields]:
    has_addresses = bool(rows) and all(any(map(canonical_url, row)) for row in rows)
    if not has_addresses and not _are_names(names, 1):
        return []
    found = [_named(names, row) for row in rows]
    return found if all(found) else []


def _named(names: Sequence[str], cells: Sequence[str]) -> Fields:
    """The cells of a row under their names; empty: there are more or fewer of them."""
    if len(names) != len(cells):
        return {}
    return {_plain(name): cell.strip() for name, cell in zip(names, cells, strict=True) if name.strip()}


def _are_names(cells: Iterable[str], least: int) -> bool:
    """Whether these are names of columns, of which so many tell what a search result has."""
    names = [cell.strip(" *_\"'") for cell in cells]
    return (
        all(name in ("", "...") or _NAME.fullmatch(name) for name in names)
        and sum(_TELLING.search(name) is not None for name in names) >= least
    )


def _plain(name: str) -> str:
    return name.strip(" *_\"'").lower().replace(" ", "_").replace("-", "_")


# ---- blocks of keys and values


def keyed(text: str) -> list[Fields]:
    """Blocks of ``key: value`` lines that all begin with the same two keys, as YAML and the like have them."""
    lines = text.split("\n")
    found = [_KEY.match(line) for line in lines]
    if found[0] is not None and found[0].end() == len(lines[0]) and not found[0][1]:
        lines, found = lines[1:], found[1:]  # the name of the list
    first = _two_keys(found, 0)
    starts = [at for at in range(len(lines)) if first is not None and _two_keys(found, at) == first]
    if len(starts) < 2 or starts[0] != 0:
        return []
    ends = [*starts[1:], len(lines)]
    spans = list(zip(starts, ends, strict=True))
    shared = set.intersection(*({one[2] for one in found[start:end] if one} for start, end in spans))
    return [_block(lines[start:end], found[start:end], shared) for start, end in spans]


def is_keyed(text: str) -> bool:
    """Whether every line of a text is a key with its value, as in front matter."""
    return all(_KEY.match(line) for line in text.strip().split("\n"))


def _two_keys(found: Sequence[re.Match[str] | None], at: int) -> tuple[str, str, str] | None:
    here, below = (*found[at : at + 2], None, None)[:2]
    return None if here is None or below is None else (here[1], here[2], below[2])


def _block(lines: Sequence[str], found: Sequence[re.Match[str] | None], shared: set[str]) -> Fields:
    """The values of a block; a line whose key is not in every block goes on with the value above."""
    values: dict[str, list[str]] = {}
    last: list[str] = []
    for line, key in zip(lines, found, strict=True):
        if key is not None and key[2] in shared and key[2] not in values:
            value = line[key.end() :].strip()
            last = values[key[2]] = [] if _BLOCK_SCALAR.fullmatch(value) else [value]
        else:
            last.append(line.strip())
    return {_plain(name): _unquoted("\n".join(said).strip()) for name, said in values.items()}


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
