// snarkjs at Groth16 over one constraint file, all cores: `node groth16.mjs POWER PTAU ZKEY R1CS WTNS`.
//
// PTAU and ZKEY are made once, where they are missing: one contribution to the powers of tau, none to the key.  For measuring alone.
// One line of standard output says "ready" when a first proof has been verified; then each line of standard input asks for a proof, and
// one line answers with its seconds: witness and key read, proved, as `snarkjs groth16 prove` does after its start.

import { randomBytes } from "node:crypto";
import { existsSync, renameSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import * as snarkjs from "snarkjs";

const [power, ptau, zkey, r1cs, wtns] = process.argv.slice(2);

async function made(path, make) {
  if (existsSync(path)) return;
  console.error(`making ${path} with snarkjs, kept for the next run; minutes`);
  const scratch = [0, 1].map((i) => `${path}.${process.pid}.${i}.partial`);
  try {
    renameSync(await make(...scratch), path);
  } finally {
    scratch.forEach((file) => rmSync(file, { force: true }));
  }
}

await made(ptau, async (one, two) => {
  const curve = await snarkjs.curves.getCurveFromName("bls12381");
  await snarkjs.powersOfTau.newAccumulator(curve, Number(power), one);
  await snarkjs.powersOfTau.contribute(one, two, "measured", randomBytes(32).toString("hex"));
  await snarkjs.powersOfTau.preparePhase2(two, one);
  return one;
});
await made(zkey, async (one) => {
  if ((await snarkjs.zKey.newZKey(r1cs, ptau, one)) === -1) throw new Error(`no key of ${r1cs} from ${ptau}`);
  return one;
});

const { proof, publicSignals } = await snarkjs.groth16.prove(zkey, wtns);
const key = await snarkjs.zKey.exportVerificationKey(zkey);
if (!(await snarkjs.groth16.verify(key, publicSignals, proof))) throw new Error("a proof of snarkjs does not verify");
publicSignals[0] = String(BigInt(publicSignals[0]) ^ 1n);
if (await snarkjs.groth16.verify(key, publicSignals, proof)) throw new Error("a proof of other inputs verifies");
console.log("ready");

for await (const _ of createInterface({ input: process.stdin })) {
  const began = process.hrtime.bigint();
  await snarkjs.groth16.prove(zkey, wtns);
  console.log(Number(process.hrtime.bigint() - began) / 1e9);
}
process.exit(0);
