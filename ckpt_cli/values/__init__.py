"""Values as people see them: plain Python data, and one node type for objects whose classes are never built."""
