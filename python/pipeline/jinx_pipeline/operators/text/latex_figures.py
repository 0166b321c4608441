"""Figures of LaTeX documents: captions, labels, images, and the paragraphs that refer to them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_FIGURES: Final = ("figure", "figure*", "wrapfigure")
# LaTeX environments that are not prose.
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
_PART_END: Final = "\\end{subfigure}"
_BRACKET: Final = re.compile(r"\\.|[{}\[\]]", re.DOTALL)
_CLOSERS: Final = {"{": "}", "[": "]"}
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
    """The parts that make up a figure.

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
    """The figures that contain images, in a text without comments. A figure with subfigures is replaced by them."""
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
        # If there are several minipages, each is a figure of its own.
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
    """The labels to which a paragraph refers with one of the commands."""
    names = "|".join(re.escape(command.lstrip("\\")) for command in commands)
    lists = re.findall(rf"\\(?:{names})\*?\{{([^{{}}]*)\}}", paragraph) if names else []
    return {label.strip() for labels in lists for label in labels.split(",")}


class _Source:
    """LaTeX source with its brackets matched, in linear time.

    Args:
        text: The source.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._closing: dict[int, int] = {}
        openers: dict[str, list[int]] = {"}": [], "]": []}
        for match in _BRACKET.finditer(text):
            if match[0] in _CLOSERS:
                openers[_CLOSERS[match[0]]].append(match.start())
            elif openers.get(match[0]):
                self._closing[openers[match[0]].pop()] = match.start()

    def group(self, place: int) -> tuple[str, int]:
        """The content of the bracket at a position, and the position after it; the whole rest if it is not closed."""
        stop = self._closing.get(place, len(self.text))
        return self.text[place + 1 : stop].strip(), stop + 1

    def is_at(self, place: int, opener: str) -> bool:
        """Whether a bracket opens at a position."""
        return self.text.startswith(opener, place)

    def after_space(self, place: int) -> int:
        """The position after white space."""
        match = _SPACE.match(self.text, place)
        return place if match is None else match.end()

    def after_options(self, place: int) -> int:
        """The position after white space and after options in closed brackets."""
        place = self.after_space(place)
        while self.is_at(place, "[") and place in self._closing:
            place = self.after_space(self._closing[place] + 1)
        return place


def _figure(caption: str, content: str, parent: Figure | None = None) -> Figure:
    source, label = _Source(content), _LABEL.search(content)
    return Figure(caption or _caption(source), label[1].strip() if label else "", _images(source), parent)


def _caption(source: _Source) -> str:
    match = _CAPTION.search(source.text)
    place = 0 if match is None else source.after_options(match.end())
    return source.group(place)[0] if match is not None and source.is_at(place, "{") else ""


def _images(source: _Source) -> list[str]:
    places = (source.after_options(match.end()) for match in _IMAGE.finditer(source.text))
    return [image for place in places if source.is_at(place, "{") and (image := source.group(place)[0])]


def _parts(body: str) -> _Parts:
    """The parts of a figure: `subfigure` environments, and `subfigure` and `subfloat` commands."""
    source = _Source(body)
    found = _Parts()
    outside: list[str] = []
    place = 0
    while (match := _PART.search(body, place)) is not None:
        outside.append(body[place : match.start()])
        caption, content, place = "", "", match.end()
        if match[0].startswith("\\begin"):
            end = body.find(_PART_END, place)
            end = len(body) if end < 0 else end
            content, place = body[place:end], end + len(_PART_END)
        else:
            start = source.after_space(place)
            if source.is_at(start, "["):
                caption, start = source.group(start)
                start = source.after_space(start)
            if source.is_at(start, "{"):
                content, place = source.group(start)
        found.parts.append((caption, content))
    found.outside = "".join([*outside, body[place:]])
    return found


def _environments(text: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The names and contents of environments that are not nested in each other."""
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
            wanted.discard(name)  # later environments with this name have no end either
            continue
        ended = stop + len(end)
        yield match.start(), ended, name
