"""The command line: modules with its commands, and their shared parts."""
