"""How fast the library is, as shares of this machine's matrix-product rate measured in the same run."""
