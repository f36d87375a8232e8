"""Pure logic over recorded history: lineage, next and tasks, differences. No I/O, no clock, no terminal."""
