"""`Rule`: which order of tool calls and results a vendor's API accepts, with its source.

A model call sends the whole list, so one fault anywhere makes every call fail. LangChain sends a list as it is stored
(seen in langchain-openai ``chat_models/base.py: _convert_message_to_dict``, langchain-anthropic
``chat_models.py: _format_messages``, langchain-google-genai ``chat_models.py: _parse_chat_history``).
"""

from typing import Any, NamedTuple


class Rule(NamedTuple):
    """What an API accepts.

    Attributes:
        name: the API.
        source: the vendor's own page, and the words of its error.
        anywhere: whether a result may have other messages between it and its call.
        sends_invalid: whether LangChain also sends calls whose arguments couldn't be parsed (``invalid_tool_calls``),
            although the content has no block for them.
    """

    name: str
    source: str
    anywhere: bool = False
    sends_invalid: bool = False


CHAT_COMPLETIONS = Rule(
    "Chat Completions",
    "platform.openai.com/docs/guides/function-calling. \"An assistant message with 'tool_calls' must be followed by "
    "tool messages responding to each 'tool_call_id'\"; \"messages with role 'tool' must be a response to a preceding "
    "message with 'tool_calls'\"",
    sends_invalid=True,
)
RESPONSES = Rule(
    "Responses",
    'platform.openai.com/docs/guides/function-calling. "No tool output found for function call call_…"; "No tool call '
    "found for function call output with call_id call_…\"; \"Item 'rs_…' of type 'reasoning' was provided without its "
    'required following item". Calls and outputs are paired by call_id.',
    anywhere=True,
    sends_invalid=True,
)
ANTHROPIC = Rule(
    "Anthropic",
    'platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls. "`tool_use` ids were found without '
    "`tool_result` blocks immediately after: toolu_…. Each `tool_use` block must have a corresponding `tool_result` "
    'block in the next message"; "unexpected `tool_use_id` found in `tool_result` blocks". Server tools '
    "(``server_tool_use``, ``mcp_tool_use``) have their results in the same message.",
)
GEMINI = Rule(
    "Gemini",
    'ai.google.dev/gemini-api/docs/function-calling. "Please ensure that the number of function response parts is '
    'equal to the number of function call parts of the function call turn"',
)
BEDROCK = Rule(
    "Bedrock",
    'docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html. "Expected toolResult blocks at '
    'messages.2.content for the following Ids: tooluse_…"; "The number of toolResult blocks at messages.2.content '
    'exceeds the number of toolUse blocks of previous turn". A ToolUseBlock of type ``server_tool_use`` is exempt.',
)

_BY_PROVIDER = {
    "anthropic": ANTHROPIC,
    "bedrock": BEDROCK,
    "bedrock_converse": BEDROCK,
    "google_genai": GEMINI,
    "google_vertexai": GEMINI,
}
"""``response_metadata["model_provider"]``, as langchain-core 1 has it (``messages/block_translators``)."""
_BY_BLOCK = {
    "tool_use": ANTHROPIC,
    "toolUse": BEDROCK,
    "functionCall": GEMINI,
    "function_call": RESPONSES,
    "custom_tool_call": RESPONSES,
    "computer_call": RESPONSES,
}
_BY_ID = {"toolu_": ANTHROPIC, "tooluse_": BEDROCK}


def rule_of(fields: dict[str, Any], block_kinds: set[str], ids: list[str]) -> Rule:
    """The rule for an assistant message: as its metadata, its blocks or its ids show, else Chat Completions.

    Chat Completions is what most other vendors copied, and what it accepts, all others accept.

    Args:
        fields: the message's fields.
        block_kinds: the kinds of the blocks that are calls.
        ids: the ids of its calls.
    """
    metadata = fields.get("response_metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if _is_response(metadata):
        return RESPONSES
    if (known := _BY_PROVIDER.get(str(metadata.get("model_provider")))) is not None:
        return known
    for kind in sorted(block_kinds & _BY_BLOCK.keys()):
        return _BY_BLOCK[kind]
    return next((rule for start, rule in _BY_ID.items() if any(one.startswith(start) for one in ids)), CHAT_COMPLETIONS)


def _is_response(metadata: dict[str, Any]) -> bool:
    """Whether a message came from the Responses API (langchain-openai keeps the response's own fields)."""
    return metadata.get("object") == "response" or str(metadata.get("id", "")).startswith("resp_")
