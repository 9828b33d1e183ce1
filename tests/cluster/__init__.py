"""A cluster of real sshd nodes on one machine: Linux namespaces on a bridge, for tests that need the real thing."""
