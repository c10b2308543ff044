import { createHmac } from 'node:crypto';
import { isIPv4 } from 'node:net';

import { addressOf } from '../http/address.ts';
import { derivedFromEach } from '../keys/secrets.ts';
import type { Secrets } from '../keys/secrets.ts';

/** Makes the id of a counter from its kind and the values that identify it within the kind. */
export type AttemptId = (kind: string, ...parts: readonly string[]) => string;

/**
 * Makes the ids under which attempts are counted. They are keyed hashes, because a plain hash of a login name or an address can
 * be reversed by trying all of them, and a reader of the database must not learn which users log in from which addresses.
 *
 * The counters begin anew when another secret becomes the first one.
 */
export function createAttemptId(secrets: Secrets): AttemptId {
  // Derived keys, because the secrets are used for other purposes too.
  const keys = derivedFromEach(secrets, (secret) =>
    createHmac('sha256', secret).update('gatehouse attempts').digest(),
  );
  return (...given) => createHmac('sha256', keys()[0]!).update(JSON.stringify(given)).digest('base64url');
}

/**
 * Normalizes a login name for counting. Databases differ in which names their collations treat as equal, so each difference
 * that one of them ignores is removed: case, accents, width, white space and invisible characters. Two accounts that are
 * normalized to the same name share their attempts, which does less harm than separate attempts for each spelling of one
 * account.
 */
export function normalizeLogin(login: string): string {
  // Upper case first, because it maps ß to SS, as collations do.
  return login
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{C}\p{Z}\s]/gu, '')
    .toUpperCase()
    .toLowerCase();
}

/** A network that an address belongs to. */
export interface Network {
  readonly name: string;
  /** The factor by which a limit for one address is multiplied for the network. */
  readonly multiplier: number;
}

/**
 * The networks whose addresses one attacker may control, the narrowest first. A subscriber has all addresses of an IPv6 /64,
 * and commonly of a /56 or /48 (RFC 6177 section 2); a customer of a hosting provider may have many addresses of an IPv4 /24.
 * Unrelated users can share the wider networks, so their limits are higher.
 *
 * @param address - Koa's `ctx.ip`: behind a proxy it is the text of a header field, which may be anything
 */
export function networksOf(address: string): readonly [Network, ...Network[]] {
  const found = addressOf(address);
  if (found === undefined) return [{ name: 'unknown', multiplier: 1 }];
  if (isIPv4(found)) return ofIPv4(found);
  const groups = groupsOf(found);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped)
    return ofIPv4([groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.'));
  const [first, second, third, fourth] = groups as [number, number, number, number];
  const named = (last: number): string =>
    [first, second, third, last].map((group) => group.toString(16)).join(':');
  return [
    { name: `${named(fourth)}::/64`, multiplier: 1 },
    { name: `${named(fourth & 0xff00)}::/56`, multiplier: 2 },
    { name: `${named(0)}::/48`, multiplier: 3 },
  ];
}

/** Whether two addresses are one IPv4 address, or are of one IPv6 /64, as those of a subscriber are. */
export function isSameNetwork(a: string, b: string): boolean {
  const [{ name }] = networksOf(a);
  return addressOf(a) !== undefined && name === networksOf(b)[0].name;
}

function ofIPv4(address: string): readonly [Network, Network] {
  return [
    { name: address, multiplier: 1 },
    { name: address.replace(/\d+$/, '0/24'), multiplier: 3 },
  ];
}

/** The eight 16-bit groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser converts dotted decimal parts, and writes each group in its canonical form.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const [first, last] = [head, tail ?? ''].map((part) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)),
  ) as [number[], number[]];
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}
