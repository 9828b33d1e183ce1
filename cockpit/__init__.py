"""A keyboard-driven cockpit for training on a lab's own GPU machines."""

__version__ = "0.1.0"
