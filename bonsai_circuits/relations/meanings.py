"""What the inputs of the built-in relations are, a line each; a name means the same in all three."""

MEANINGS = {
    "A": "the account's identifier",
    "com": "its commitment before",
    "com_new": "its commitment after",
    "rho": "the receipt that the operation publishes",
    "root_rho": "root of the receipt tree",
    "fee": "the fee",
    "receive": "1 to receive, 0 to send",
    "b": "the balance before",
    "v": "the value, below 2^64",
    "pid": "position of the receipt, below 2^40",
    "sen": "who made the receipt out",
    "rec": "who may claim the new receipt; 0 is nobody",
    "root": "root of the nullifier tree",
    "s": "blinding of com (over Pedersen, like the others, below r_J)",
    "s_new": "blinding of com_new",
    "t": "blinding of the receipt rho; in recv of the one that is claimed",
    "t_in": "blinding of the receipt that is claimed",
    "nullifier_leaf": "the bits of the neighbouring positions, as one number",
    "nullifier_path": "siblings in the nullifier tree, from the leaves up: [level][child]",
    "receipt_path": "siblings in the receipt tree, from the leaves up: [level][child]",
}
