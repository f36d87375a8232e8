"""One text renderer for each view: it takes the view and gives styled lines."""
