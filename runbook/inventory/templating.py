"""Fill a host file's `{{ … }}` before it is parsed; every line stays where it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runbook.errors import HostFileError
from runbook.inventory.nodes import Position, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from jinja2 import nodes


def filled(text: str, source: str, variables: Mapping[str, Any]) -> str:
    """The text with its variables filled in.

    Raises HostFileError, with the line, for a name that is not among `variables`, for a broken template, and for
    whatever else Jinja could do: a loop or a product may take all time and memory there is.
    """
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    try:
        _require_names(environment.parse(text), source)
        return environment.from_string(text).render(variables)
    except RecursionError as error:
        raise _refused(source, 1, "is no Jinja template: nested too deeply") from error
    except jinja2.TemplateSyntaxError as error:
        raise _refused(source, error.lineno, f"is no Jinja template: {error.message}") from error
    except jinja2.TemplateError as error:
        raise _refused(source, _template_line(error.__traceback__), str(error.message)) from error


def _require_names(template: nodes.Template, source: str) -> None:
    from jinja2 import nodes

    names = (nodes.Output, nodes.TemplateData, nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Const)
    for node in template.find_all(nodes.Node):
        if not isinstance(node, names):
            raise _refused(source, node.lineno, "only names are filled in, such as {{ lab.user }}")


def _template_line(traceback: TracebackType | None) -> int:
    """The line Jinja maps its own frames back to; 1 when it shows none."""
    line = 1
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line


def _refused(source: str, line: int, text: str) -> HostFileError:
    return HostFileError([str(Problem(Position(source, line, 1), "", text))])
