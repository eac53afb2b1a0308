// What the page believes about the daemon before it signs anything.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { SignInChallenge } from "../src/api";
import { type Expected, challengeText, fingerprint, isFromDaemon, partsOfCode, toBase64 } from "../src/device";

const CURVE = { name: "ECDSA", namedCurve: "P-256" };
const AT = { hostname: "127.0.0.1", port: "7717" };

async function daemon() {
  const keys = await crypto.subtle.generateKey(CURVE, false, ["sign", "verify"]);
  const key = toBase64(await crypto.subtle.exportKey("raw", keys.publicKey));
  const sign = async (challenge: SignInChallenge): Promise<SignInChallenge> => {
    const text = new TextEncoder().encode(`coven daemon 1\n${challengeText(challenge)}`);
    return { ...challenge, signature: toBase64(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, keys.privateKey, text)) };
  };
  const challenge = await sign({ port: 7717, clientNonce: "ours", daemonNonce: "theirs", issued: 1, daemonKey: key, signature: "" });
  return { key, sign, challenge };
}

test("a challenge counts if the daemon that is expected signed it for this page and this port", async () => {
  const { key, sign, challenge } = await daemon();
  const expected: Expected = { key };
  assert.ok(await isFromDaemon(challenge, "ours", expected, AT));
  assert.ok(await isFromDaemon(challenge, "ours", { fingerprint: await fingerprint(key) }, AT));
  assert.ok(!(await isFromDaemon(challenge, "another", expected, AT)), "an old answer");
  const elsewhere = await sign({ ...challenge, port: 7718 });
  assert.ok(!(await isFromDaemon(elsewhere, "ours", expected, AT)), "handed on from another port");
  assert.ok(!(await isFromDaemon({ ...challenge, issued: 2 }, "ours", expected, AT)), "changed after it was signed");
});

test("another program is not the daemon, whatever it sends", async () => {
  const { key } = await daemon();
  const impostor = await daemon();
  assert.ok(!(await isFromDaemon(impostor.challenge, "ours", { key }, AT)));
  assert.ok(!(await isFromDaemon({ ...impostor.challenge, daemonKey: key }, "ours", { key }, AT)));
  assert.ok(!(await isFromDaemon({} as SignInChallenge, "ours", { key }, AT)));
});

test("a code has two parts, and one that is cut is none", () => {
  const secret = "s".repeat(43);
  assert.deepEqual(partsOfCode(` ${secret}.${"f".repeat(22)}\n`), { secret, daemon: "f".repeat(22) });
  for (const cut of ["", secret, `${secret}.`, `${secret}.${"f".repeat(21)}`]) assert.equal(partsOfCode(cut), null);
});
