"""Views of a sample's names and values: the views of `collections.abc`, but reversible like the views of a dict."""

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any


class SampleKeys(KeysView[str]):
    """The names; nothing is decoded."""

    __slots__ = ()

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))


class SampleValues(ValuesView[Any]):
    """The values, each decoded when it is reached."""

    __slots__ = ()

    def __reversed__(self) -> Iterator[Any]:
        return reversed(list(self))


class SampleItems(ItemsView[str, Any]):
    """Names and values, each decoded when it is reached."""

    __slots__ = ()

    def __reversed__(self) -> Iterator[tuple[str, Any]]:
        return reversed(list(self))
