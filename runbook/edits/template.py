"""Whole files from templates/, by Jinja2 with strict undefined names."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import jinja2

from runbook import shipped
from runbook.errors import EditRefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping


def edit(text: str, *, template: str, variables: Mapping[str, object]) -> str:
    """The file as the template says, whatever it was; see render."""
    del text
    return render(template, variables)


def render(template: str, variables: Mapping[str, object]) -> str:
    """A template's text filled in; `template` is a path below templates/, or the text itself if it has braces or lines.
    The filter `sh` quotes a value as one shell word.

    Raises EditRefusedError, with the line, for a name that is not given or a mistake in the template, and UsageError
    for a template that does not exist.
    """
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        loader=jinja2.FileSystemLoader(shipped.path("templates")),
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["sh"] = lambda value: shlex.quote(str(value))
    try:
        found = (
            environment.from_string(template) if _is_text(template) else environment.get_template(template)
        )
        return found.render(dict(variables))
    except jinja2.TemplateNotFound as error:
        raise UsageError(f"no template {error.name!r} in templates/") from error
    except jinja2.TemplateSyntaxError as error:
        raise EditRefusedError(f"the template has a mistake: {error.message}", line=error.lineno) from error
    except jinja2.UndefinedError as error:
        raise EditRefusedError(
            f"the template needs a name it was not given: {error.message}", line=_line(error)
        ) from error


def _is_text(template: str) -> bool:
    return "\n" in template or "{" in template


def _line(error: BaseException) -> int | None:
    """The template line an error was raised on; Jinja2 puts template frames into the traceback."""
    step, line = error.__traceback__, None
    while step is not None:
        if (
            step.tb_frame.f_code.co_filename in ("<template>", "<unknown>")
            or "templates" in step.tb_frame.f_code.co_filename
        ):
            line = step.tb_lineno
        step = step.tb_next
    return line
