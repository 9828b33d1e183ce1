"""A keyboard-driven cockpit for training on a lab's own GPU machines."""
