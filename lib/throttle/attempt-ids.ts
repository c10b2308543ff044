import { createHmac } from 'node:crypto';
import { isIPv4 } from 'node:net';

import { addressOf } from '../http/address.ts';

/** Names what is counted, by its kind and what tells it from others of the kind. */
export type AttemptId = (kind: string, ...parts: readonly string[]) => string;

/**
 * Makes the ids under which attempts are counted. They are keyed hashes: login names and addresses are few enough to be
 * found by trying all of them, and whoever reads the database must not learn who signs in from where.
 *
 * @param secret - the same on every node; another one starts all counts anew
 */
export function createAttemptId(secret: string): AttemptId {
  // A key of its own, since the secret is used elsewhere.
  const key = createHmac('sha256', secret).update('gatehouse attempts').digest();
  return (...given) => createHmac('sha256', key).update(JSON.stringify(given)).digest('base64url');
}

/**
 * The one way to write a login name, for counting. Databases differ in what they take for the same name, so whatever any
 * of them does is the same here: case, accents, width, blanks, and characters that cannot be seen. Two names that are
 * taken for one share their attempts, which is less harm than a name that has as many attempts as it has spellings.
 */
export function accountOf(login: string): string {
  // Upper case first: it tells ß and ss from each other no more than the collations do.
  return login
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{C}\p{Z}\s]/gu, '')
    .toUpperCase()
    .toLowerCase();
}

/** A network that an address belongs to. */
export interface Network {
  readonly name: string;
  /** For how many addresses it counts: a limit for one address is so many times as high for the network. */
  readonly times: number;
}

/** How often {@link Network.times} there are: a limit for each of them is to be kept. */
export const TIMES: readonly number[] = [1, 2, 3];

/**
 * Whose address it is, as far as that can be told, the narrowest network first. One connection has all addresses of an IPv6
 * /64, and commonly of a /56 or /48 (RFC 6177 section 2); whoever rents servers has a good part of an IPv4 /24. Strangers may
 * share the wider ones, so those are let try more.
 *
 * @param address - as Koa's `ctx.ip` tells it: behind a proxy the text of a header, which may be anything
 */
export function networksOf(address: string): readonly [Network, ...Network[]] {
  const found = addressOf(address);
  if (found === undefined) return [{ name: 'unknown', times: 1 }];
  if (isIPv4(found)) return ofIPv4(found);
  const groups = groupsOf(found);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return ofIPv4([groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.'));
  const [first, second, third, fourth] = groups as [number, number, number, number];
  const named = (last: number): string =>
    [first, second, third, last].map((group) => group.toString(16)).join(':');
  return [
    { name: `${named(fourth)}::/64`, times: 1 },
    { name: `${named(fourth & 0xff00)}::/56`, times: 2 },
    { name: `${named(0)}::/48`, times: 3 },
  ];
}

function ofIPv4(address: string): readonly [Network, Network] {
  return [
    { name: address, times: 1 },
    { name: address.replace(/\d+$/, '0/24'), times: 3 },
  ];
}

/** The eight numbers of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The parser of URLs writes dotted parts and numbers in their one canonical way.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [head, tail ?? ''].map((part) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)),
  ) as [number[], number[]];
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}
