"""Does it still answer as it did when we said that it was right?"""

__version__ = "0.1.0"
