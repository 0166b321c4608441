"""The base class of `Dataset` with what people use to look at data: text, HTML, the viewer, and search for words."""

from typing import TYPE_CHECKING, Any, Self

from jinx import _core

if TYPE_CHECKING:
    from torch.utils.data import Dataset as TorchDataset

    from jinx._viewer.notebook import NotebookView

    # Torch requires its own base class for datasets, whatever their methods are. Only type checkers see this base.
    class Base(_core.Reader, TorchDataset[Any]):
        """The base class of datasets for PyTorch."""


else:
    Base = _core.Reader


class Browsing(Base):
    """The methods of `Dataset` for people who look at data."""

    def search(self, word: str) -> Self:
        """The samples that have a word, or any part of a text, in one of their strings at any depth, in their order.

        Rows are read in parallel, at the speed of the disk. ASCII letters match in both cases. Media, numbers and names
        of columns are not searched.

        Raises:
            InvalidError: The word is empty, or the samples are changed by functions (`map`, `with_transform`).
        """
        from jinx._dataset.selection import containing

        return containing(self, word)

    def view(self, *, where: str = "", sort: str = "", height: int = 720, proxy: bool | None = None) -> "NotebookView":
        """Look at the samples in a notebook: pictures, conversations, charts and filters, as `jinx view` shows them.

        The result shows the page; its `url` opens it in a tab, and `close` ends it. Needs the extra `view`.

        Args:
            where: Begin with the samples that an expression selects, as for `filter`.
            sort: Begin in this order, as for `sort`.
            height: The height of the page in pixels.
            proxy: Whether the browser reaches the page by `jupyter-server-proxy`, as it must if the notebook runs on
                another machine; None: under JupyterHub.
        """
        from jinx._viewer.notebook import view

        return view(self, where=where, sort=sort, height=height, proxy=proxy)

    def __repr__(self) -> str:
        from jinx._dataset.display import dataset_text

        return dataset_text(self)

    def _repr_html_(self) -> str:
        from jinx._dataset.display import dataset_html

        return dataset_html(self)

    def _ipython_key_completions_(self) -> list[str]:
        from jinx._dataset.columns import column_names

        return column_names(self)
