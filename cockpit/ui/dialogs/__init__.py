"""Questions that are asked before something is done."""
