"""What in a value is a library's own: classes, keys, words of messages; which texts are names."""

from typing import Any

from ckpt_cli.values.node import Node


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LIBRARIES = _words(
    """
    langchain langchain_core langgraph builtins datetime uuid decimal pathlib re ipaddress zoneinfo collections
    numpy pydantic pydantic_core typing enum
    """
)
_JAVASCRIPT = frozenset({"", "Set", "Map", "RegExp", "Error", "Uint8Array", "undefined"})

MESSAGE_KEYS = _words(
    """
    additional_kwargs args arguments artifact cache_creation cache_read content example finish_reason function
    function_call id image_url index input_token_details input_tokens invalid_tool_calls kwargs lc logprobs message
    messages metadata model_name model_provider name node output_token_details output_tokens reasoning refusal
    response_metadata role source_type status system_fingerprint text token_usage tool_call_chunks tool_call_id
    tool_calls total_tokens type update url usage_metadata value
    """
)
"""Keys of messages and their parts, which an outline keeps wherever they are."""

_WORD_KEYS = frozenset({"type", "role", "status"})
_WORDS = _words(
    """
    human user ai assistant system developer tool function remove chat text tool_call tool_use tool_result
    invalid_tool_call image_url image audio file reasoning thinking success error constructor AIMessageChunk
    HumanMessageChunk ToolMessageChunk SystemMessageChunk
    """
)
_NAME_KEYS = frozenset({"id", "name", "node", "thread_id"})
_NAME_FIELDS = frozenset({"id", "interrupt_id", "ns", "when", "node", "goto", "graph"})


_TRIGGERS = ("branch:", "join:", "start:")
_SOURCES = ("input", "loop", "update", "fork")
_NODES = frozenset({"__error_source_node__", "__scheduled__", "__no_writes__"})


def is_trigger(channel: str) -> bool:
    """Whether a channel's values are names of nodes: it starts a node, or says which one failed."""
    return channel.startswith(_TRIGGERS) or channel in _NODES


def is_metadata_word(key: str, value: Any) -> bool:
    """Whether an entry of the metadata is LangGraph's own: the step, and what made the checkpoint."""
    return (key == "step" and type(value) is int) or (key == "source" and value in _SOURCES)


def is_library_class(module: str) -> bool:
    """Whether the class of an object is one of Python's, LangChain's or LangGraph's."""
    return module.partition(".")[0] in _LIBRARIES or module in _JAVASCRIPT


def is_library_word(key: Any, text: str) -> bool:
    """Whether a text is one of a message's own words, such as its role."""
    return key in _WORD_KEYS and text in _WORDS


def is_name_key(key: Any) -> bool:
    """Whether the text at a key names something that other records name too, such as a tool call."""
    return isinstance(key, str) and (key in _NAME_KEYS or key.endswith("_id"))


def is_name_field(node: Node, key: str) -> bool:
    """Whether a field of an object names nodes, namespaces or a question of the graph."""
    return key in _NAME_FIELDS and node.module.startswith("langgraph") and node.name in ("Interrupt", "Command", "Send")
