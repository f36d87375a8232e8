"""One text renderer per view: view in, styled lines out."""
