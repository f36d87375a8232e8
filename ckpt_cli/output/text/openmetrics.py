"""Figures as OpenMetrics text (OpenMetrics 1.0), which Prometheus' textfile collector reads too."""

from collections.abc import Iterable, Iterator

from ckpt_cli.output.line import Line
from ckpt_cli.views.stats import Sample


def render(samples: Iterable[Sample]) -> Iterator[Line]:
    """The samples, each family once with its type and help; the samples of a family come together."""
    family = ""
    for one in samples:
        if one.name != family:
            family = one.name
            yield [("exact", f"# HELP {one.name} {_escaped(one.help)}")]
            yield [("exact", f"# TYPE {one.name} gauge")]
        labels = ",".join(f'{name}="{_quoted(text)}"' for name, text in one.labels)
        yield [("exact", f"{one.name}{{{labels}}} {one.value:.15g}")]
    yield [("exact", "# EOF")]


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')
