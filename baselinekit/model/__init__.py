"""The words of the house: frozen dataclasses, standard library only; no parsing, no IO."""
