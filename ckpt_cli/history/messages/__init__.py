"""Lists of chat messages as models take them: tool calls, their results, faults, mends."""
