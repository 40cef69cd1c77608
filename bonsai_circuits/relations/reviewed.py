"""What the linter finds in the built-in circuits and what was decided about it: relation -> check -> wire -> reason."""

REVIEWED = {
    "op": {
        "changes alone": {
            "root_rho": "a send opens no receipt, so its root is compared with nothing; the ledger checks that it is the newest final one",
        },
    },
}
