import { isIPv4, isIPv6 } from 'node:net';

/**
 * Whose address it is, as far as that can be told: an IPv4 address, or the first half of an IPv6 one, since a single
 * connection commonly has all addresses of a /64 (RFC 6177 section 2).
 *
 * @param address - as Koa's `ctx.ip` tells it: behind a proxy the text of a header, which may be anything
 */
export function networkOf(address: string): string {
  const [withoutZone = ''] = address.split('%');
  if (isIPv4(withoutZone)) return withoutZone;
  if (!isIPv6(withoutZone)) return 'unknown';
  const groups = groupsOf(withoutZone);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return [groups[6]! >> 8, groups[6]! & 255, groups[7]! >> 8, groups[7]! & 255].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
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
