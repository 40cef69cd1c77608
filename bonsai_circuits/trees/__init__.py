"""Append-only trees of 32-byte leaves: the lean incremental Merkle tree, its proofs, its store."""
