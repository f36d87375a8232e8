"""Recognizes questions about tool calls (LangChain's human in the loop) in interrupts, by structure.

The forms, and what the graph does with the answer:

- langchain 1.4 ``agents/middleware/human_in_the_loop.py: HITLRequest``: one question about several calls, answered by
  ``{"decisions": [one for each call]}``; in LangChain.js with keys such as ``actionRequests``
- the same file, ``ToolApprovalRequest`` (``interrupt_mode="per_call"``): one question for each call, answered by one
  decision; the allowed decisions are only in the interrupt's ``response_schema``
- langgraph-prebuilt 1.1 ``interrupt.py: HumanInterrupt``: usually in a list, answered by a list of responses

A question with a key that isn't known here is not recognized: a person would decide about something that isn't shown.
"""

from enum import StrEnum
from typing import Any, NamedTuple, TypeGuard

_MOST_WORDS = 16
_LONGEST_WORD = 32
_DEFAULT_REMARK = "Tool execution requires approval"  # the middleware's `description_prefix`


class AnswerForm(StrEnum):
    """The form in which the graph expects the answer to a question about tool calls."""

    DECISIONS = "decisions"
    """``{"decisions": […]}``, one decision for each call."""
    DECISION = "decision"
    """One decision."""
    RESPONSES = "responses"
    """A list with one response for each call, in the older words (accept, edit, response, ignore)."""
    RESPONSE = "response"
    """One response, or a list of one: what is stored doesn't show which."""


class ToolRequest(NamedTuple):
    """A tool call about which a person decides.

    Attributes:
        allowed: the answers that the graph accepts, in its own words.
        description: the text for the person, as stored.
    """

    tool: str
    args: dict[str, Any]
    allowed: tuple[str, ...]
    description: str

    @property
    def remark(self) -> str:
        """The description without the part in which the middleware repeats tool and arguments."""
        remark = self.description.removesuffix(f"\n\nTool: {self.tool}\nArgs: {self.args}")
        return "" if remark == _DEFAULT_REMARK else remark


class ToolQuestion(NamedTuple):
    """A question about tool calls; `javascript` if its keys are those of LangChain.js."""

    form: AnswerForm
    requests: tuple[ToolRequest, ...]
    javascript: bool = False


def tool_question(value: Any, response_schema: Any = None) -> ToolQuestion | None:
    """The question about tool calls in the value of an interrupt; None if the value is anything else, or damaged."""
    if isinstance(value, list):
        return _human_interrupts(value, AnswerForm.RESPONSES)
    if not isinstance(value, dict):
        return None
    if "action_request" in value:
        return _human_interrupts([value], AnswerForm.RESPONSE)
    if value.get("type") == "tool_approval":
        return _tool_approval(value, response_schema)
    if "action_requests" in value:
        return _batch(value, "action_requests", "review_configs", "action_name", "allowed_decisions")
    if "actionRequests" in value:
        return _batch(value, "actionRequests", "reviewConfigs", "actionName", "allowedDecisions")
    return None


def _batch(value: dict[Any, Any], calls: str, configs: str, name: str, allowed: str) -> ToolQuestion | None:
    listed, rules = value[calls], value.get(configs)
    if value.keys() != {calls, configs} or not (_are_dicts(listed) and _are_dicts(rules)):
        return None
    if not all(rule.keys() <= {name, allowed, "args_schema", "argsSchema"} for rule in rules):
        return None
    requests = []
    for index, call in enumerate(listed):
        if not call.keys() <= {"name", "args", "description"}:
            return None
        fitting = [rule for rule in (*rules[index : index + 1], *rules) if rule.get(name) == call.get("name")]
        words = _words(fitting[0].get(allowed)) if fitting else ()
        requests.append(_request(call.get("name"), call.get("args"), words, call.get("description", "")))
    return _question(AnswerForm.DECISIONS, requests, javascript=calls == "actionRequests")


def _tool_approval(value: dict[Any, Any], response_schema: Any) -> ToolQuestion | None:
    if not value.keys() <= {"type", "tool_call_id", "name", "args", "description"}:
        return None
    words = _words(_decision_types(response_schema))
    request = _request(value.get("name"), value.get("args"), words, value.get("description", ""))
    return _question(AnswerForm.DECISION, [request])


def _human_interrupts(values: list[Any], form: AnswerForm) -> ToolQuestion | None:
    if not _are_dicts(values):
        return None
    requests = []
    for value in values:
        call, config = value.get("action_request"), value.get("config")
        if not value.keys() <= {"action_request", "config", "description"}:
            return None
        if not isinstance(call, dict) or not isinstance(config, dict) or not call.keys() <= {"action", "args"}:
            return None
        if not config.keys() <= _OLDER_WORDS.keys():
            return None
        words = tuple(word for key, word in _OLDER_WORDS.items() if config.get(key) is True)
        requests.append(_request(call.get("action"), call.get("args"), words, value.get("description") or ""))
    return _question(form, requests)


_OLDER_WORDS = {
    "allow_accept": "accept",
    "allow_edit": "edit",
    "allow_respond": "response",
    "allow_ignore": "ignore",
}


def _are_dicts(values: Any) -> TypeGuard[list[dict[Any, Any]]]:
    return isinstance(values, list) and bool(values) and all(isinstance(value, dict) for value in values)


def _request(tool: Any, args: Any, allowed: tuple[str, ...], description: Any) -> ToolRequest | None:
    if not isinstance(tool, str) or not tool or not isinstance(description, str) or not allowed:
        return None
    if not isinstance(args, dict) or not all(isinstance(key, str) for key in args):
        return None
    return ToolRequest(tool, args, allowed, description)


def _question(form: AnswerForm, requests: list[ToolRequest | None], *, javascript: bool = False) -> ToolQuestion | None:
    known = tuple(request for request in requests if request is not None)
    return ToolQuestion(form, known, javascript) if len(known) == len(requests) else None


def _words(listed: Any) -> tuple[str, ...]:
    """The allowed answers without repetitions; empty if one of them is no short word."""
    if not isinstance(listed, list) or len(listed) > _MOST_WORDS:
        return ()
    if not all(isinstance(word, str) and word.isidentifier() and len(word) <= _LONGEST_WORD for word in listed):
        return ()
    return tuple(dict.fromkeys(listed))


def _decision_types(schema: Any) -> list[Any]:
    """The ``type`` of every decision that a ``response_schema`` lists; empty if one of them isn't found.

    langchain 1.4 ``_decision_schema``: one object, or ``oneOf`` with references into ``$defs``.
    """
    if not isinstance(schema, dict):
        return []
    branches, definitions = schema.get("oneOf", [schema]), schema.get("$defs", {})
    types = []
    for branch in branches if isinstance(branches, list) else [None]:
        link = branch.get("$ref") if isinstance(branch, dict) else None
        if isinstance(link, str) and isinstance(definitions, dict):
            branch = definitions.get(link.removeprefix("#/$defs/"))
        types.append(_pinned_type(branch))
    return types


def _pinned_type(branch: Any) -> Any:
    properties = branch.get("properties") if isinstance(branch, dict) else None
    of_type = properties.get("type") if isinstance(properties, dict) else None
    return of_type.get("const") if isinstance(of_type, dict) else None
