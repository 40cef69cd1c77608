// @zk-kit/lean-imt over poseidon2 of poseidon-lite, which its documentation takes: `node lean_imt.mjs`.
//
// Each line of standard input names a file of leaves (32 bytes each, little-endian integers); one line answers with the seconds of
// insertMany into an empty tree, and the root, 32 bytes little-endian in hexadecimal digits.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { LeanIMT } from "@zk-kit/lean-imt";
import { poseidon2 } from "poseidon-lite/poseidon2";

const reversed = (hex) => Buffer.from(hex, "hex").reverse().toString("hex");

for await (const path of createInterface({ input: process.stdin })) {
  const bytes = readFileSync(path);
  const leaves = Array.from({ length: bytes.length / 32 }, (_, i) =>
    BigInt("0x" + reversed(bytes.toString("hex", 32 * i, 32 * i + 32))),
  );
  const tree = new LeanIMT((left, right) => poseidon2([left, right]));
  const began = process.hrtime.bigint();
  tree.insertMany(leaves);
  const seconds = Number(process.hrtime.bigint() - began) / 1e9;
  console.log(seconds, reversed(tree.root.toString(16).padStart(64, "0")));
}
