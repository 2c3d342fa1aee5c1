"""Metrics, one file a family. `base` holds the contract, `registry` the names."""
