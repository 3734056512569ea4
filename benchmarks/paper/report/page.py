"""A page: paragraphs, tables and plots, written as Markdown with PNG files beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plot:
    """A figure and what it shows."""

    name: str
    caption: str
    figure: Figure


@dataclass(frozen=True)
class Page:
    """Text blocks and plots in their order."""

    name: str
    title: str
    blocks: list[str | Plot] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        """Write the Markdown file and its plots; returns the former."""
        folder.mkdir(parents=True, exist_ok=True)
        texts = [f"# {self.title}", *(_written(block, folder) for block in self.blocks)]
        file = folder / f"{self.name}.md"
        file.write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        return file


def table(header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    """A Markdown table; columns after the first ``text_columns`` are aligned to the right."""
    alignment = ["---" if i < text_columns else "---:" for i in range(len(header))]
    return "\n".join("| " + " | ".join(line) + " |" for line in (header, alignment, *rows))


def _written(block: str | Plot, folder: Path) -> str:
    if isinstance(block, str):
        return block
    file = folder / f"{block.name}.png"
    block.figure.savefig(file, dpi=110, metadata={"Software": None})
    return f"![{block.caption}]({file.name})\n\n*{block.caption}*"
