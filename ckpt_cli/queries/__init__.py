"""What several verbs ask of an open database, in views or plain values; nothing here prints."""
