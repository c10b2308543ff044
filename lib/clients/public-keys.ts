import { createPublicKey } from 'node:crypto';

import type { Checked, ClientKeys, Mistake } from '../contracts/index.ts';
import { isLoopback } from '../contracts/loopback.ts';
import { fieldError } from '../contracts/field-errors.ts';

/** A public key as a JWK (RFC 7517), with the members that verifying needs. */
export type PublicKey = Readonly<Record<string, unknown>>;

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const;

/** The algorithms of each kind of key, by the key's `kty` and, where it has one, its `crv`. */
const ALGORITHMS: Readonly<Record<string, readonly AssertionAlgorithm[]>> = {
  RSA,
  'EC P-256': ['ES256'],
  'EC P-384': ['ES384'],
  'EC P-521': ['ES512'],
  'OKP Ed25519': ['EdDSA', 'Ed25519'],
};

/** An algorithm with which a client may sign its assertions: only asymmetric ones (RFC 7518, RFC 8037, RFC 9864). */
export type AssertionAlgorithm = (typeof RSA)[number] | 'ES256' | 'ES384' | 'ES512' | 'EdDSA' | 'Ed25519';

export const ASSERTION_ALGORITHMS: readonly AssertionAlgorithm[] = Object.values(ALGORITHMS).flat();

/** `k` is the value of a symmetric key, and `priv` the private part of an AKP key. */
export const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv'] as const;

const STORED_MEMBERS = ['kty', 'kid', 'alg', 'use', 'crv', 'x', 'y', 'n', 'e'] as const;

// Limited, because the keys are read with the client.
export const MOST_KEYS = 10;

/** The largest JWK Set, in characters of JSON: ten keys with certificates (`x5c`), which are not stored. */
export const LONGEST_KEY_SET = 65_536;

const LONGEST_KEY_ID = 255;
const LONGEST_URI = 2000;

// In bits. A longer modulus takes more time to verify, which anyone can cause with an assertion.
export const LEAST_MODULUS = 2048;
export const MOST_MODULUS = 4096;

const FORMS: readonly string[] = ['jwks', 'jwksUri'] satisfies readonly KeysOf<ClientKeys>[];

type KeysOf<T> = T extends unknown ? keyof T : never;

/**
 * Checks the keys of a client (RFC 7591 section 2, `jwks` and `jwks_uri`), and returns them with the members that are stored. Private
 * keys are refused: whoever could read this request can use them.
 */
export function checkClientKeys(given: unknown): Checked<ClientKeys | undefined> {
  if (given === undefined) return { checked: undefined };
  const unknown = isObject(given) && Object.keys(given).find((name) => !FORMS.includes(name));
  if (typeof unknown === 'string') return { mistakes: [fieldError(`keys.${unknown}`, 'unknown_field')] };
  if (!isObject(given) || 'jwks' in given === 'jwksUri' in given || Object.keys(given).length !== 1)
    return { mistakes: [fieldError('keys', 'keys_form')] };
  return 'jwksUri' in given ? checkJwksUri(given['jwksUri']) : checkJwks(given['jwks']);
}

function checkJwksUri(uri: unknown): Checked<ClientKeys> {
  const field = 'keys.jwksUri';
  const url = typeof uri === 'string' && uri.length <= LONGEST_URI ? URL.parse(uri) : null;
  const isWebAddress =
    url?.protocol === 'https:' && url.username === '' && url.password === '' && url.hash === '';
  if (!isWebAddress || /[^\x21-\x7e]/.test(String(uri)))
    return { mistakes: [fieldError(field, 'jwks_uri_form', { most: LONGEST_URI })] };
  // Any other private address is refused when the keys are fetched, because a host name does not show it.
  if (isLoopback(url.hostname)) return { mistakes: [fieldError(field, 'jwks_uri_private')] };
  return { checked: { jwksUri: uri as string } };
}

function checkJwks(jwks: unknown): Checked<ClientKeys> {
  const found = keysIn(jwks);
  if (!('keys' in found)) return { mistakes: [fieldError('keys.jwks', ...found.mistake)] };
  const ids = found.keys.map((key) => (isObject(key) ? key['kid'] : undefined));
  const mistakes = found.keys.flatMap((key, index) => {
    const id = ids[index];
    const isRepeated = id !== undefined && ids.indexOf(id) < index;
    const mistake =
      keyMistake(key) ?? (isRepeated ? (['key_duplicate', { name: id as string }] as const) : undefined);
    return mistake ? [fieldError(`keys.jwks.keys[${index}]`, ...mistake)] : [];
  });
  return mistakes.length > 0 ? { mistakes } : { checked: { jwks: { keys: found.keys.map(storedForm) } } };
}

/** Whether one of several keys has no `kid`, so that no assertion can name it. */
export function lacksKeyIds(keys: ClientKeys): boolean {
  return 'jwks' in keys && keys.jwks.keys.length > 1 && keys.jwks.keys.some(({ kid }) => kid === undefined);
}

/**
 * The keys of a document that was fetched from a `jwks_uri`. Keys that no assertion can be verified with, such as those for encryption,
 * are left out, because the document may be for other servers too. Of several keys of one kind with the same `kid` the first is used, so
 * that an assertion is verified with one key.
 *
 * @throws Error with a reason for the log, when there are no usable keys, or too many
 */
export function usableKeys(document: unknown): readonly PublicKey[] {
  const found = keysIn(document, Number.POSITIVE_INFINITY);
  if (!('keys' in found)) throw new Error('it is no JWK Set');
  const mistakes = found.keys.map(keyMistake);
  const usable = found.keys.filter((_, index) => mistakes[index] === undefined).map(storedForm);
  if (usable.length > MOST_KEYS) throw new Error(`it has more than ${MOST_KEYS} keys`);
  if (usable.length > 0) return withoutDuplicates(usable);
  const [first] = mistakes;
  throw new Error(`it has no key that can be used${first ? `: ${fieldError('', ...first).message}` : ''}`);
}

function withoutDuplicates(keys: readonly PublicKey[]): readonly PublicKey[] {
  return keys.filter(
    ({ crv, kid, kty }, index) =>
      kid === undefined ||
      index === keys.findIndex((key) => key['kid'] === kid && key['kty'] === kty && key['crv'] === crv),
  );
}

function keysIn(
  jwks: unknown,
  most = MOST_KEYS,
): { readonly keys: readonly unknown[] } | { readonly mistake: Mistake } {
  if (!isObject(jwks) || !Array.isArray(jwks['keys'])) return { mistake: ['jwks_form'] };
  const keys: readonly unknown[] = jwks['keys'];
  if (keys.length === 0 || keys.length > most) return { mistake: ['keys_count', { most }] };
  if (JSON.stringify(keys).length > LONGEST_KEY_SET)
    return { mistake: ['keys_size', { most: LONGEST_KEY_SET }] };
  return { keys };
}

function storedForm(key: unknown): PublicKey {
  const members = key as PublicKey;
  return Object.fromEntries(
    STORED_MEMBERS.filter((name) => members[name] !== undefined).map((name) => [name, members[name]]),
  );
}

/** The mistake in a key; `undefined` when assertions can be verified with it. */
function keyMistake(key: unknown): Mistake | undefined {
  if (!isObject(key)) return ['key_form'];
  const { alg, crv, kid, kty, use } = key;
  if (PRIVATE_MEMBERS.some((name) => key[name] !== undefined)) return ['key_private'];
  const isKeyId = typeof kid === 'string' && kid !== '' && kid.length <= LONGEST_KEY_ID;
  if (kid !== undefined && (!isKeyId || /[\p{Cc}\p{Cf}]/u.test(kid)))
    return ['key_id_form', { most: LONGEST_KEY_ID }];
  const kind = kty === 'RSA' ? 'RSA' : `${String(kty)} ${String(crv)}`;
  const algorithms = Object.hasOwn(ALGORITHMS, kind) ? ALGORITHMS[kind] : undefined;
  if (!algorithms) return ['key_type'];
  if (alg !== undefined && !algorithms.some((one) => one === alg))
    return ['key_algorithm', { name: algorithms.join(', ') }];
  const operations = key['key_ops'];
  const isForVerifying = !Array.isArray(operations) || operations.includes('verify');
  if ((use !== undefined && use !== 'sig') || !isForVerifying) return ['key_use'];
  return valueMistake(key);
}

function valueMistake(key: Readonly<Record<string, unknown>>): Mistake | undefined {
  const members = ['n', 'e', 'x', 'y'].map((name) => key[name]);
  if (members.some((member) => member !== undefined && !isShortText(member))) return ['key_invalid'];
  let details: ReturnType<typeof createPublicKey>['asymmetricKeyDetails'];
  try {
    details = createPublicKey({ key: storedForm(key), format: 'jwk' }).asymmetricKeyDetails;
  } catch {
    return ['key_invalid'];
  }
  if (key['kty'] !== 'RSA') return undefined;
  const { modulusLength = 0, publicExponent = 0n } = details ?? {};
  if (modulusLength < LEAST_MODULUS || modulusLength > MOST_MODULUS) return ['key_length'];
  // With the exponent 1 anyone could sign; a long one takes more time to verify.
  const isUsual = publicExponent >= 3n && publicExponent % 2n === 1n && publicExponent < 2n ** 32n;
  return isUsual ? undefined : ['key_invalid'];
}

// In base64url: the 512 bytes of the longest modulus take 683 characters.
const LONGEST_MEMBER = 700;

function isShortText(member: unknown): boolean {
  return typeof member === 'string' && member.length <= LONGEST_MEMBER;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
