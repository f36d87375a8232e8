"""Values as people see them: plain Python data and one node type for objects of classes that are never built."""
