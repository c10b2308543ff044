import { isIPv4 } from 'node:net';

import { addressOf } from '../http/request.ts';
import type { LimitKey } from './limiter.ts';

/** A network that an address belongs to. */
export interface AddressNetwork {
  readonly name: string;
  /** The factor by which a limit for one address is multiplied for the network. */
  readonly multiplier: number;
}

/**
 * The networks whose addresses one attacker may control, the narrowest first. A subscriber has all addresses
 * of an IPv6 /64, and commonly of a /56 or /48 (RFC 6177 section 2); a customer of a hosting provider may
 * have many addresses of an IPv4 /24. Unrelated users can share the wider networks, so their limits are
 * higher.
 *
 * @param address - Koa's `ctx.ip`: behind a proxy it is the text of a header field, which may be anything
 */
export function networksOf(address: string): readonly [AddressNetwork, ...AddressNetwork[]] {
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

/** The keys and limits for the networks of an address: the given limit for the address itself, and higher limits for larger networks. */
export function perNetwork(address: string, ...ofAddress: readonly LimitKey[]): readonly LimitKey[] {
  const networks = networksOf(address);
  return ofAddress.flatMap(({ key, limit }) =>
    networks.map(({ multiplier, name }) => ({ key: [...key, name], limit: limit * multiplier })),
  );
}

/** Whether two addresses are the same IPv4 address, or belong to the same IPv6 /64, which one subscriber has. */
export function isSameNetwork(a: string, b: string): boolean {
  const [{ name }] = networksOf(a);
  return addressOf(a) !== undefined && name === networksOf(b)[0].name;
}

function ofIPv4(address: string): readonly [AddressNetwork, AddressNetwork] {
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
