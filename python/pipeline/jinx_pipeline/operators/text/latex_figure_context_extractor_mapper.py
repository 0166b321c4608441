"""Makes samples of the figures of LaTeX documents: the operator `latex_figure_context_extractor_mapper`."""

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Splitter
from jinx_pipeline.operators.api.parameters import NotEmpty
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.text.latex_figures import figures, labels_in, paragraphs, without_comments

if TYPE_CHECKING:
    import numpy.typing as npt


@register("latex_figure_context_extractor_mapper", modality="text")
class LatexFigureContextExtractorMapper(Splitter):
    r"""Makes a sample of each figure with images in a LaTeX document; documents without such figures are dropped.

    Figures are the environments `figure`, `figure*` and `wrapfigure`. Of a figure with `subfigure` environments or
    `\subfigure` and `\subfloat` commands, each part is a sample; of one with several minipages, each minipage without a
    table. Comments are ignored. A sample has the columns of the document, and the columns below. `\input` is not
    followed; `latex_merge_tex_mapper` joins files.

        samples = [{"text": "See \\ref{a}.\n\n\\begin{figure}\\includegraphics{x}\\caption{X}\\label{a}\\end{figure}"}]
        create("latex_figure_context_extractor_mapper")(samples)  # images: ["x"], citing_paragraphs: ["See \\ref{a}."]

    Attributes:
        citation_commands: The commands that refer to labels; by default `\ref`, `\cref`, `\Cref` and `\autoref`. They
            may list several labels.
        paragraph_separator: The text between paragraphs; by default an empty line.
        caption_key: The column for the caption.
        label_key: The column for the label.
        context_key: The column for the paragraphs that refer to the figure, or to the figure of which it is a part.
        parent_caption_key: The column for the caption of the figure of which it is a part; empty for whole figures.
        parent_label_key: The column for the label of that figure.
    """

    citation_commands: list[str] | None = None
    paragraph_separator: Annotated[str, NotEmpty()] = "\n\n"
    caption_key: str = "caption"
    label_key: str = "label"
    context_key: str = "citing_paragraphs"
    parent_caption_key: str = "parent_caption"
    parent_label_key: str = "parent_label"

    @property
    def writes(self) -> tuple[str, ...]:
        keys = (self.caption_key, self.label_key, self.context_key, self.parent_caption_key, self.parent_label_key)
        return ("images", *keys)

    def split(self, batch: Batch, ctx: Context) -> "tuple[npt.NDArray[np.int64], dict[str, Any]]":
        commands = self.citation_commands or [r"\ref", r"\cref", r"\Cref", r"\autoref"]
        names = tuple(map(batch.roles.column, self.writes))
        parents: list[int] = []
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for row, text in enumerate(ctx.each(map(without_comments, batch.text.to_pylist()))):
            cited: list[tuple[str, set[str]]] | None = None
            for figure in figures(text):
                if cited is None:
                    prose = paragraphs(text, self.paragraph_separator)
                    cited = [(part, labels_in(part, commands)) for part in prose]
                above = figure.parent
                labels = {figure.label, above.label if above else ""} - {""}
                citing = [part for part, referred in cited if referred & labels]
                values = (figure.images, figure.caption, figure.label, citing)
                values += (above.caption, above.label) if above else ("", "")
                parents.append(row)
                for name, value in zip(names, values, strict=True):
                    columns[name].append(value)
        return np.array(parents, dtype=np.int64), columns
