"""The version of the package, written into every file it makes."""

__version__ = "0.1.0"
