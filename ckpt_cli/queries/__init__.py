"""Questions that verbs ask an open database. The answers are views or plain values; nothing here prints."""
