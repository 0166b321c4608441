"""Search by vectors."""

from typing import TYPE_CHECKING, Any, Literal

from jinx._dataset.remote_reading import RemoteReading

if TYPE_CHECKING:
    import os

    from jinx._vectors.index_build import VectorIndex
    from jinx._vectors.nearest import Nearest


class Searching(RemoteReading):
    """Methods of `Dataset` for columns of vectors."""

    def nearest(
        self,
        query: Any,
        column: str,
        k: int = 10,
        metric: Literal["cosine", "dot", "l2"] = "cosine",
        where: Any = None,
        *,
        index: "str | os.PathLike[str] | bool | None" = None,
        probes: int | None = None,
    ) -> "Nearest":
        """The samples whose vectors are nearest to a query. All vectors are compared, unless there is an `index`.

        `ds.select(ds.nearest(ds[7]["emb"], "emb").positions)` shows what is similar to sample 7. The vectors of a saved
        view are mapped and converted block by block, so memory does not grow with them. Equal scores are in the order
        of the samples. Vectors that are missing or contain a number that is not finite are never found.

        Args:
            query: A vector, or an array of vectors of shape (queries, width).
            column: A column of vectors of one length.
            k: How many samples; there are fewer if the dataset has not as many.
            metric: `cosine` and `dot` are similarities, of which the largest are first; `l2` is the distance.
            where: Search only among these samples: an expression, a function or a mask as in `filter`.
            index: An index that `make_vector_index` made of this column: its path, or True for the one beside the
                dataset. Most of the nearest samples are found, as its recall says, and their scores are exact. It also
                serves selections of the dataset; where few samples are left, these are compared without it.
            probes: How many lists of the index to search, which finds more and takes longer. By default as many as its
                recall needs, and more where `where` leaves out samples.

        Returns:
            Positions in this dataset and scores, each of shape (k,), or (queries, k) for several queries.

        Raises:
            TypeError: The column does not hold vectors of one length.
            ValueError: The query has another length.
            FileNotFoundError: There is no such index.
            MismatchError: The index is of another column, or the column changed since.
            CorruptFileError: The index is damaged.
        """
        from jinx._vectors.nearest import nearest

        return nearest(self, query, column, k=k, metric=metric, where=where, index=index, probes=probes)

    def make_vector_index(
        self,
        column: str,
        path: "str | os.PathLike[str] | None" = None,
        *,
        metric: Literal["cosine", "dot", "l2"] = "cosine",
        recall: float = 0.95,
        lists: int | None = None,
        seed: int = 0,
        overwrite: bool = False,
    ) -> "VectorIndex":
        """Make an index of a column of vectors, so that `nearest` need not compare all of them.

        This is worthwhile for millions of vectors. K-means divides the vectors into lists, and a search looks at the
        lists whose centres are nearest to the query. The file has one byte for each number and 16 for each vector. When
        it is made, 400 vectors of the column are searched for with and without it, to measure its recall. The same
        arguments give the same file on the same machine.

        Args:
            column: A column of vectors that is stored as an array (a typed column of a saved view). All its vectors are
                in the index, also if this dataset is a selection.
            path: The file; by default `view.emb.ivf` beside `view.jinx` for the column `emb`.
            metric: What `nearest` will compare by.
            recall: Which share of the 10 nearest vectors a search is to find on average; decides how many lists it
                looks at.
            lists: How many lists; by default the square root of the number of vectors.
            seed: Which vectors the first centres are.
            overwrite: Replace an index that exists.

        Returns:
            Its path, and the recall that was measured.

        Raises:
            TypeError: The column does not hold vectors that are stored as an array.
            ValueError: No vector has only finite numbers, or some are too long.
            FileExistsError: The file exists.
        """
        from jinx._vectors.index_build import make_vector_index

        return make_vector_index(
            self, column, path, metric=metric, recall=recall, lists=lists, seed=seed, overwrite=overwrite
        )
