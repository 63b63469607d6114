"""What all packages share: frozen dataclasses, standard library only; no parsing, no IO."""
