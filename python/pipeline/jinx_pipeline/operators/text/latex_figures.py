"""Figures of LaTeX documents: captions, labels, images, and the paragraphs that refer to them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_FIGURES: Final = ("figure", "figure*", "wrapfigure")
# Environments that are no prose.
_NOT_PROSE: Final = (
    *_FIGURES,
    *("table", "table*", "tabular", "tabular*", "equation", "equation*", "align", "align*", "alignat", "alignat*"),
    *("gather", "gather*", "multline", "multline*", "flalign", "flalign*", "algorithm", "algorithm*"),
    *("lstlisting", "verbatim", "minted"),
)
_BEGIN: Final = re.compile(r"\\begin\{([a-zA-Z]+\*?)\}")
_COMMENT: Final = re.compile(r"(?<!\\)%[^\n]*")
_SPACE: Final = re.compile(r"\s*")
_LABEL: Final = re.compile(r"\\label\{([^{}]+)\}")
_IMAGE: Final = re.compile(r"\\includegraphics\*?\s*")
_CAPTION: Final = re.compile(r"\\(?:caption\*?|subcaption|captionof\{figure\})(?![a-zA-Z])")
_OF_TABLE: Final = re.compile(r"\\captionof\{table\}")
_PART: Final = re.compile(r"\\begin\{subfigure\}|\\(?:subfigure|subfloat)(?![a-zA-Z])")


class Figure(NamedTuple):
    """A figure, or a part of one.

    Attributes:
        caption: Its caption.
        label: Its label.
        images: The paths of its images.
        parent: The figure that it is a part of.
    """

    caption: str
    label: str
    images: list[str]
    parent: "Figure | None" = None


@dataclass
class _Parts:
    """What is in a figure.

    Attributes:
        parts: The content of each part, with a caption that stands before it.
        outside: The content outside of the parts.
    """

    parts: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    outside: str = ""


def without_comments(text: str) -> str:
    """The text without comments."""
    return _COMMENT.sub("", text)


def figures(text: str) -> Iterator[Figure]:
    """The figures with images of a document without comments, and instead of a figure with parts its parts."""
    for _, body in _environments(text, _FIGURES):
        found = _parts(body)
        if found.parts:
            parent = _figure("", found.outside)
            for caption, content in found.parts:
                part = _figure(caption, content, parent)
                if part.images:
                    yield part
            continue
        pages = [content for _, content in _environments(body, ("minipage",))]
        # Several minipages are figures of their own, side by side.
        alone = [page for page in pages if not _OF_TABLE.search(page)] if len(pages) > 1 else [body]
        yield from (figure for content in alone if (figure := _figure("", content)).images)


def paragraphs(text: str, separator: str) -> list[str]:
    """The paragraphs of prose: the text without figures, tables, formulas and code."""
    kept: list[str] = []
    place = 0
    for start, stop, _ in _spans(text, _NOT_PROSE):
        kept.append(text[place:start])
        place = stop
    prose = "".join([*kept, text[place:]])
    parts = re.split(r"\n[ \t]*\n", prose) if separator == "\n\n" else prose.split(separator)
    return [part.strip() for part in parts if part.strip()]


def labels_in(paragraph: str, commands: Sequence[str]) -> set[str]:
    """The labels to which a paragraph refers by one of the commands."""
    names = "|".join(re.escape(command.lstrip("\\")) for command in commands)
    lists = re.findall(rf"\\(?:{names})\*?\{{([^{{}}]*)\}}", paragraph) if names else []
    return {label.strip() for labels in lists for label in labels.split(",")}


def _figure(caption: str, content: str, parent: Figure | None = None) -> Figure:
    label = _LABEL.search(content)
    return Figure(caption or _caption(content), label[1].strip() if label else "", _images(content), parent)


def _caption(content: str) -> str:
    match = _CAPTION.search(content)
    if match is None:
        return ""
    place = _after_options(content, match.end())
    return content[place + 1 : _closing(content, place)].strip() if content[place : place + 1] == "{" else ""


def _images(content: str) -> list[str]:
    images: list[str] = []
    for match in _IMAGE.finditer(content):
        place = _after_options(content, match.end())
        if content[place : place + 1] == "{":
            images.append(content[place + 1 : _closing(content, place)].strip())
    return [image for image in images if image]


def _parts(body: str) -> _Parts:
    """The parts of a figure: environments `subfigure`, commands `subfigure` and `subfloat`."""
    found = _Parts()
    outside: list[str] = []
    place = 0
    while (match := _PART.search(body, place)) is not None:
        outside.append(body[place : match.start()])
        caption, content, stop = "", "", match.end()
        if match[0].startswith("\\begin"):
            end = body.find("\\end{subfigure}", stop)
            end = len(body) if end < 0 else end
            content, stop = body[stop:end], end + len("\\end{subfigure}")
        else:
            start = _SPACE.match(body, stop).end()  # pyright: ignore[reportOptionalMemberAccess] - it always matches
            if body[start : start + 1] == "[":
                after = _after_options(body, start)
                caption = body[start + 1 : after].rstrip().removesuffix("]").strip()
                start = after
            if body[start : start + 1] == "{":
                closing = _closing(body, start)
                content, stop = body[start + 1 : closing], closing + 1
        found.parts.append((caption, content))
        place = min(stop, len(body))
    found.outside = "".join([*outside, body[place:]])
    return found


def _after_options(text: str, place: int) -> int:
    """The position after white space and options in brackets."""
    while True:
        place = _SPACE.match(text, place).end()  # pyright: ignore[reportOptionalMemberAccess] - it always matches
        if text[place : place + 1] != "[":
            return place
        closing = _closing(text, place, "[", "]")
        if closing == len(text):
            return place
        place = closing + 1


def _closing(text: str, place: int, opener: str = "{", closer: str = "}") -> int:
    """The position of the bracket that closes the one at a position; the end of the text if there is none."""
    depth = 0
    for match in re.compile(rf"\\.|[{re.escape(opener + closer)}]", re.DOTALL).finditer(text, place):
        if match[0] == opener:
            depth += 1
        elif match[0] == closer:
            depth -= 1
            if depth == 0:
                return match.start()
    return len(text)


def _environments(text: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names and contents of environments that are not inside of each other."""
    for start, stop, name in _spans(text, names):
        inner_start = start + len(f"\\begin{{{name}}}")
        yield name, text[inner_start : stop - len(f"\\end{{{name}}}")]


def _spans(text: str, names: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The starts and ends of environments; one that does not end is skipped."""
    wanted = set(names)
    ended = 0
    for match in _BEGIN.finditer(text):
        name = match[1]
        if match.start() < ended or name not in wanted:
            continue
        end = f"\\end{{{name}}}"
        stop = text.find(end, match.end())
        if stop < 0:
            wanted.discard(name)  # it does not end further on either
            continue
        ended = stop + len(end)
        yield match.start(), ended, name
