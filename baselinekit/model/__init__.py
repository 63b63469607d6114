"""What all packages share: structs, without parsing and without IO."""
