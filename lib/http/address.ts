import { BlockList, isIPv4, isIPv6 } from 'node:net';

// The registries of special-purpose addresses (RFC 6890), with those of multicast and of reserved addresses.
const SPECIAL_IPV4 = blockList('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]);

// Everything else is not global unicast: loopback, IPv4-mapped, NAT64 (RFC 6052), unique local, link-local, multicast.
const GLOBAL_IPV6 = blockList('ipv6', ['2000::/3']);

// Teredo and the other protocol assignments, documentation, 6to4 (which contains an IPv4 address), AS112.
const SPECIAL_IPV6 = blockList('ipv6', [
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
]);

/**
 * Whether a text is an IP address that anybody on the internet can reach. `false` for every address that is, or contains, one of
 * this machine, of its network, or of a special purpose (RFC 6890).
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !SPECIAL_IPV4.check(address, 'ipv4');
  if (!isIPv6(address) || address.includes('%')) return false;
  return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6');
}

function blockList(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), family);
  }
  return list;
}
