"""LaTeX: figures with their context, archives of files; tables of HTML."""

import gzip
import io
import tarfile
import time
import zipfile

import pytest

import jinx_pipeline as jp

META = "__dj__meta__"
PAPER = r"""
\section{One}
As Figure~\ref{fig:a} shows, and \cref{fig:b, fig:sub1}.

% \begin{figure}\includegraphics{no}\end{figure}
See \autoref{fig:b}.

Nothing here \ref{fig:ab}.

\begin{figure}[t]
  \includegraphics[width=\linewidth]{img/a.png}
  \includegraphics{img/b.png}
  \caption[short]{Caption with \textbf{bold {nested}} text.} \label{fig:a}
\end{figure}
\begin{figure*}
  \begin{subfigure}[b]{0.5\textwidth}\includegraphics{s1}\caption{First}\label{fig:sub1}\end{subfigure}
  \subfloat[Second \emph{part}]{\includegraphics{s2}\label{fig:sub2}}
  \subfigure{\includegraphics{s3}}
  \caption{Whole}\label{fig:b}
\end{figure*}
\begin{figure}
  \begin{minipage}{0.5\textwidth}\includegraphics{m1}\captionof{figure}{M1}\label{m1}\end{minipage}
  \begin{minipage}{0.5\textwidth}\captionof{table}{T}\includegraphics{t}\end{minipage}
\end{figure}
\begin{wrapfigure}{r}{0.3\textwidth}\includegraphics{w}\caption*{W}\end{wrapfigure}
\begin{figure}\caption{No image}\end{figure}
"""
FIRST = "As Figure~\\ref{fig:a} shows, and \\cref{fig:b, fig:sub1}."
SEE = "See \\autoref{fig:b}."


def test_figures():
    made = jp.create("latex_figure_context_extractor_mapper")([{"text": PAPER, "id": 1}, {"text": "none", "id": 2}])
    found = [(row["images"], row["caption"], row["label"], row["parent_caption"], row["parent_label"]) for row in made]
    assert found == [
        (["img/a.png", "img/b.png"], "Caption with \\textbf{bold {nested}} text.", "fig:a", "", ""),
        (["s1"], "First", "fig:sub1", "Whole", "fig:b"),
        (["s2"], "Second \\emph{part}", "fig:sub2", "Whole", "fig:b"),
        (["s3"], "", "", "Whole", "fig:b"),
        (["m1"], "M1", "m1", "", ""),
        (["w"], "W", "", "", ""),
    ]
    citing = [[part.replace("\\section{One}\n", "") for part in row["citing_paragraphs"]] for row in made]
    assert citing == [[FIRST], [FIRST, SEE], [FIRST, SEE], [FIRST, SEE], [], []]
    assert all(row["text"] == PAPER and row["id"] == 1 for row in made)


def test_names_commands_and_separator():
    text = "a \\figref{x}|b|\\begin{figure}\\includegraphics{i}\\label{x}\\end{figure}"
    extract = jp.create(
        "latex_figure_context_extractor_mapper",
        citation_commands=["\\figref"],
        paragraph_separator="|",
        context_key="cites",
        label_key="tag",
    )
    (made,) = extract([{"text": text}])
    assert (made["tag"], made["cites"], made["images"]) == ("x", ["a \\figref{x}"], ["i"])


@pytest.mark.parametrize(
    "piece",
    ["\\begin{figure}", "\\includegraphics{", "\\caption[", "\\subfloat[", "{", "\\begin{minipage}", "\\ref{a", "%"],
)
def test_broken_documents_take_linear_time(piece):
    text = "\\begin{figure}" + piece * (60_000 // len(piece)) + "\\end{figure}"
    started = time.process_time()
    jp.create("latex_figure_context_extractor_mapper")([{"text": text}])
    assert time.process_time() - started < 10


def tar(files: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


FILES = {"b.tex": "Bücher".encode(), "fig.png": b"png", "a/c.TEX": "caf\xe9".encode("latin-1"), "a/._c.tex": b"\x00"}


@pytest.mark.parametrize(
    "archive", [tar(FILES), tar(FILES, "w:gz"), tar(FILES, "w:xz"), zipped(FILES)], ids=["tar", "gz", "xz", "zip"]
)
def test_files_of_archives(tmp_path, archive):
    (tmp_path / "x.bin").write_bytes(archive)
    for value in (archive, str(tmp_path / "x.bin")):
        (made,) = jp.create("latex_merge_tex_mapper")([{"compressed_file": value}])
        assert made["text"] == "Bücher\n\ncafé"
        assert made[META] == {"tex_files": 2, "tex_files_left_out": 0}


@pytest.mark.parametrize(
    ("parameters", "text", "left_out"),
    [
        ({"max_file_size": 9}, "bb", 2),
        ({"max_total_size": 12}, "a" * 10 + "|bb", 1),
        ({"max_total_size": 5}, "", 3),
        ({"max_file_size": None, "max_total_size": 0}, "a" * 10 + "|bb|" + "c" * 10, 0),
    ],
)
@pytest.mark.parametrize("pack", [tar, zipped])
def test_sizes_of_files(pack, parameters, text, left_out):
    data = pack({"a.tex": b"a" * 10, "b.tex": b"bb", "c.tex": b"c" * 10})
    (made,) = jp.create("latex_merge_tex_mapper", separator="|", **parameters)([{"compressed_file": data}])
    assert (made["text"], made[META]["tex_files_left_out"]) == (text, left_out)


def test_bombs_are_refused():
    bomb = tar({"x.bin": bytes(200_000), "a.tex": b"a"}, "w:gz")
    with pytest.raises(ValueError, match="expands to more than"):
        jp.create("latex_merge_tex_mapper", max_total_size=1000)([{"compressed_file": bomb}])
    data = zipped({"a.tex": bytes(10_000_000)})
    (made,) = jp.create("latex_merge_tex_mapper", max_file_size=1000)([{"compressed_file": data}])
    assert made["text"] == ""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no archive",
        gzip.compress(b"\\documentclass{x}"),
        tar(FILES, "w:gz")[:60],
        zipped(FILES)[:60],
        tar({"a.tex": b"x" * 5000})[:2000],
    ],
    ids=["empty", "no archive", "no document", "cut gzip", "cut zip", "cut tar"],  # not the bytes, which hold a time
)
def test_damaged_archives_are_errors(data):
    with pytest.raises(ValueError, match="archive"):
        jp.create("latex_merge_tex_mapper")([{"compressed_file": data}])


@pytest.mark.parametrize(
    ("html", "tables"),
    [
        ("<p>none</p>", []),
        ("<table><tr><th>a<td>1</table>", [[["a", "1"]]]),
        ("<TABLE><TR><TD> a <b>b</b>\n c</TD></TR></TABLE>", [[["a b c"]]]),
        ("<table><tr><td>1&amp;2<br>3</td><td></td></tr><tr></tr></table><table></table>", [[["1&2 3", ""]]]),
        (
            "<table><tr><td>out<table><tr><td>in</td></tr></table>side</td></tr></table>",
            [[["outside"]], [["in"]]],
        ),
        ("<table><tr><td><script>x<1</script>y", [[["y"]]]),
        ("<table><thead><tr><th>h</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>", [[["h"], ["1"]]]),
    ],
)
def test_tables(html, tables):
    (made,) = jp.create("extract_tables_from_html_mapper")([{"text": html}])
    assert made == {"text": html, META: {"html_tables": tables}}


def test_tags_headers_and_known_tables():
    html = "a\n<table>\n<tr><th>h</th></tr><tr><td>1</td></tr></table > b <table x>"
    made = jp.create("extract_tables_from_html_mapper", retain_html_tags=True)([{"text": html}])
    assert made[0][META]["html_tables"] == [html[2:-12], "<table x>"]
    made = jp.create("extract_tables_from_html_mapper", include_header=False, tables_field_name="t")([{"text": html}])
    assert made[0][META]["t"] == [[["1"]]]
    known = {"text": html, META: {"html_tables": "kept", "x": 1}}
    assert jp.create("extract_tables_from_html_mapper")([known]) == [known]
