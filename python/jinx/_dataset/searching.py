"""Search by vectors."""

from typing import TYPE_CHECKING, Any, Literal

from jinx._dataset.remote_reading import RemoteReading

if TYPE_CHECKING:
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
    ) -> "Nearest":
        """The samples whose vectors are nearest to a query, exactly: all vectors are compared.

        `ds.select(ds.nearest(ds[7]["emb"], "emb").positions)` shows what is similar to sample 7. The vectors of a saved
        view are mapped and converted block by block, so memory does not grow with them. Equal scores are in the order
        of the samples. A vector that is missing or has a number that is not finite is near to nothing.

        Args:
            query: A vector, or an array of vectors of shape (queries, width).
            column: A column of vectors of one length.
            k: How many samples; there are fewer if the dataset has not as many.
            metric: `cosine` and `dot` are similarities, of which the largest are first; `l2` is the distance.
            where: Search only among these samples: an expression, a function or a mask as in `filter`.

        Returns:
            Positions in this dataset and scores, each of shape (k,), or (queries, k) for several queries.

        Raises:
            TypeError: The column does not hold vectors of one length.
            ValueError: The query has another length.
        """
        from jinx._vectors.nearest import nearest

        return nearest(self, query, column, k=k, metric=metric, where=where)
