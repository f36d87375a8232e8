"""What contradicts itself in a stored history, whatever the graph: versions, parents, writes, delta chains."""
