// This browser as a device: a key that cannot leave it, and the daemon's key that it was signed in
// to. The daemon shows its signature first; only then does the page sign anything, so that another
// program on the daemon's port learns nothing that it could use.
import type { Problem, SignInChallenge, SignedIn } from "./api";

/** What this browser keeps: its own key, and the daemon's. */
export interface Device {
  keys: CryptoKeyPair;
  /** Its public key, as it is sent. */
  publicKey: string;
  /** The daemon's public key; nothing before the first sign-in. */
  daemonKey: string | null;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256" };
const SIGNING = { name: "ECDSA", hash: "SHA-256" };
const DATABASE = "coven";
const STORE = "device";
const KEY = "this browser";

/** The names by which the daemon's own port is reached directly. */
const LOOPBACK = new Set(["127.0.0.1", "localhost", "[::1]"]);

export function toBase64(bytes: ArrayBuffer | Uint8Array): string {
  const text = String.fromCharCode(...new Uint8Array(bytes as ArrayBuffer));
  return btoa(text).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

/** The texts that the daemon and the device sign, as `SignInChallenge` of the API says. */
export function challengeText(challenge: SignInChallenge): string {
  const { port, clientNonce, daemonNonce, issued, daemonKey } = challenge;
  return `${port}\n${clientNonce}\n${daemonNonce}\n${issued}\n${daemonKey}\n`;
}

/** A few letters that stand for a public key; a code ends with those of the daemon's. */
export async function fingerprint(publicKey: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(publicKey));
  return toBase64(new Uint8Array(digest).slice(0, 16));
}

/** A code in its parts: what is secret, and the fingerprint of the daemon's key. */
export function partsOfCode(code: string): { secret: string; daemon: string } | null {
  const found = /^([\w-]{20,})\.([\w-]{22})$/.exec(code.trim());
  return found?.[1] && found[2] ? { secret: found[1], daemon: found[2] } : null;
}

/** What the page expects of the daemon: the key it knows, or one with this fingerprint. */
export type Expected = { key: string } | { fingerprint: string };

/** Whether a challenge was made by the daemon that is expected, for this page, just now. */
export async function isFromDaemon(
  challenge: SignInChallenge,
  nonce: string,
  expected: Expected,
  at: { hostname: string; port: string },
): Promise<boolean> {
  try {
    if (challenge.clientNonce !== nonce) return false;
    // A program that handed our question on to the daemon would get the daemon's port in its answer.
    if (LOOPBACK.has(at.hostname) && String(challenge.port) !== at.port) return false;
    const known = "key" in expected
      ? challenge.daemonKey === expected.key
      : (await fingerprint(challenge.daemonKey)) === expected.fingerprint;
    if (!known) return false;
    const key = await crypto.subtle.importKey("raw", fromBase64(challenge.daemonKey), CURVE, false, ["verify"]);
    const text = new TextEncoder().encode(`coven daemon 1\n${challengeText(challenge)}`);
    return await crypto.subtle.verify(SIGNING, key, fromBase64(challenge.signature), text);
  } catch {
    return false;
  }
}

/** This device's signature under a challenge. */
export async function signChallenge(device: Device, challenge: SignInChallenge): Promise<string> {
  const text = `coven device 1\n${device.publicKey}\n${challengeText(challenge)}`;
  return toBase64(await crypto.subtle.sign(SIGNING, device.keys.privateKey, new TextEncoder().encode(text)));
}

async function makeDevice(): Promise<Device> {
  const keys = await crypto.subtle.generateKey(CURVE, false, ["sign", "verify"]);
  const publicKey = toBase64(await crypto.subtle.exportKey("raw", keys.publicKey));
  return { keys, publicKey, daemonKey: null };
}

/** Stands in for the database of a browser that keeps nothing. */
let unkept: Device | null = null;

function database<T>(mode: IDBTransactionMode, use: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(DATABASE, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
    opening.onerror = () => reject(opening.error ?? new Error("the database cannot be opened"));
    opening.onsuccess = () => {
      const transaction = opening.result.transaction(STORE, mode);
      const request = use(transaction.objectStore(STORE));
      transaction.oncomplete = () => {
        opening.result.close();
        resolve(request.result);
      };
      transaction.onerror = transaction.onabort = () => {
        opening.result.close();
        reject(transaction.error ?? new Error("the database cannot be used"));
      };
    };
  });
}

async function kept(): Promise<Device | null> {
  try {
    return ((await database("readonly", (store) => store.get(KEY))) as Device | undefined) ?? unkept;
  } catch {
    return unkept;
  }
}

async function keep(device: Device): Promise<void> {
  unkept = device;
  try {
    await database("readwrite", (store) => store.put(device, KEY));
  } catch {
    // A browser that keeps nothing is signed in as long as this page is open.
  }
}

/** Why a page is not signed in. */
export class SignInFailure extends Error {
  constructor(
    /** `no-device`: this browser has to sign in. `impostor`: this is not the daemon. */
    readonly kind: "no-device" | "impostor" | "insecure" | "bad-code",
  ) {
    super(kind);
  }
}

/** Posts JSON without any token. Throws what {@link problemOf} makes of a refusal. */
export type Post = <T>(path: string, body: unknown) => Promise<T>;

/** What this browser calls itself. */
function ownName(): string {
  const agent = navigator.userAgent;
  const found = ["Firefox", "Edg", "OPR", "Chrome", "Safari"].find((name) => agent.includes(`${name}/`));
  return { Edg: "Edge", OPR: "Opera" }[found ?? ""] ?? found ?? "browser";
}

/** Signs in: with a code, or as the device that this browser is. Gives a token. */
export async function signInAs(post: Post, code: string | null): Promise<SignedIn> {
  if (typeof crypto === "undefined" || !("subtle" in crypto)) throw new SignInFailure("insecure");
  const parts = code === null ? null : partsOfCode(code);
  if (code !== null && parts === null) throw new SignInFailure("bad-code");
  const device = (await kept()) ?? (parts ? await makeDevice() : null);
  if (device === null || (parts === null && device.daemonKey === null)) throw new SignInFailure("no-device");
  const nonce = toBase64(crypto.getRandomValues(new Uint8Array(32)));
  const challenge = await post<SignInChallenge>("/sign-in/challenge", { nonce });
  const expected = parts ? { fingerprint: parts.daemon } : { key: device.daemonKey ?? "" };
  if (!(await isFromDaemon(challenge, nonce, expected, location))) throw new SignInFailure("impostor");
  const signature = await signChallenge(device, challenge);
  const { publicKey } = device;
  const more = parts ? { code: parts.secret, name: ownName() } : {};
  const signedIn = await post<SignedIn>("/sign-in", { publicKey, challenge, signature, ...more });
  if (parts) await keep({ ...device, daemonKey: challenge.daemonKey });
  return signedIn;
}

/** What to tell of a failure, in the form of everything that goes wrong. */
export function problemOfSignIn(failure: SignInFailure): Problem {
  const base = { type: "", status: 0, code: failure.kind };
  switch (failure.kind) {
    case "no-device":
      return { ...base, title: "This browser is not signed in", detail: "This browser is not signed in.", hint: "Open the page with `coven ui`." };
    case "bad-code":
      return { ...base, title: "The code is not complete", detail: "The code is not complete.", hint: "Copy it whole: two parts with a dot between them." };
    case "insecure":
      return { ...base, title: "This address is not safe", detail: "Browsers have keys only for pages from 127.0.0.1, localhost or https.", hint: "Open the page with `coven ui`, or let the proxy speak https." };
    case "impostor":
      return { ...base, title: "This is not the daemon", detail: "Another program answers on this port, or the daemon has a new key.", hint: "Nothing was sent to it. Open the page with `coven ui`." };
  }
}
