"""The operator's side of SSH."""
