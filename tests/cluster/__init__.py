"""A cluster of real sshd nodes on one machine, made of Linux namespaces on a bridge."""
