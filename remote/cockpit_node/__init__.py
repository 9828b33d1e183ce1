"""The node's side: standard library only, Python 3.8, shipped by the cockpit itself."""
