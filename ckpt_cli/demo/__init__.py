"""The demo database: what LangGraph 1.2.22 would have saved for a small support agent, made without LangGraph."""
