"""A question for which a graph waits, in the views of `show`, `writes`, `log`, `threads` …"""

from typing import Any, NamedTuple


class RequestView(NamedTuple):
    """A tool call about which a person decides.

    Attributes:
        allowed: the answers that the graph accepts, in its own words (``approve``, ``edit``, ``accept`` …).
        description: the text for the person, as stored.
        remark: the description without the part that only repeats tool and arguments.
    """

    tool: str
    args: dict[str, Any]
    allowed: tuple[str, ...]
    description: str
    remark: str


class InterruptView(NamedTuple):
    """A question that waits for an answer. ``Command(resume={id: …})`` takes the `id`; some questions have none.

    Attributes:
        requests: the tool calls that the question is about; empty if it isn't in one of LangChain's forms.
        answer_form: ``decisions``, ``decision``, ``responses`` or ``response``: the form of an answer to `requests`;
            null if there are none.
        response_schema: the JSON schema of an answer, if the graph gave one.
    """

    id: str | None
    value: Any
    requests: tuple[RequestView, ...] = ()
    answer_form: str | None = None
    response_schema: Any = None


def interrupt_view(interrupt_id: str | None, value: Any, response_schema: Any = None) -> InterruptView:
    """The view of a question; a question about tool calls is recognized by its structure."""
    from ckpt_cli.values.questions import tool_question

    question = tool_question(value, response_schema)
    if question is None:
        return InterruptView(interrupt_id, value, response_schema=response_schema)
    requests = tuple(RequestView(*request, request.remark) for request in question.requests)
    return InterruptView(interrupt_id, value, requests, str(question.form), response_schema)
