import type { ClientAttempt, Seconds } from '../../contracts/index.ts';
import { createAttemptIds } from '../../limits/limiter.ts';
import type { Limit } from '../../limits/limiter.ts';
import { networksOf, perNetwork } from '../../limits/networks.ts';
import type { Secrets } from '../../keys/secrets.ts';

export const REGISTRATION_WINDOW: Seconds = 3600;

/** The limit of apps that are registered from an address and its networks. */
export function registrationLimit({ perAddress }: { readonly perAddress: number }): Limit<string> {
  return {
    window: REGISTRATION_WINDOW,
    keysOf: (address) => perNetwork(address, { key: ['registration'], limit: perAddress }),
  };
}

// Each change is a row of the audit log, and is announced to all nodes.
export const CHANGES = 20;

// The changes of an address for each app that it may register.
export const CHANGES_PER_APP = 3;

/** The limit of changes of one registered app, and of all changes from an address and its networks. */
export function changeLimit({ perAddress }: { readonly perAddress: number }): Limit<ClientAttempt> {
  return {
    window: REGISTRATION_WINDOW,
    keysOf: ({ address, clientId }) => [
      { key: ['registration changes', clientId], limit: CHANGES },
      ...perNetwork(address, {
        key: ['registration changes of address'],
        limit: CHANGES_PER_APP * perAddress,
      }),
    ],
  };
}

// Times are in seconds. `perHostAndAddress` keeps one address from blocking the apps of a host for everybody.
export const FETCHES = { perAddress: 20, perHost: 60, perHostAndAddress: 6, window: 300 };

/**
 * Limits how often strangers make a node fetch documents or wait for one. It counts per address and its networks, so that one stranger
 * cannot use up the fetches of a node, and per host, so that this server cannot be used to attack another one. A request without a host
 * waits for the fetch of another request. Each node counts for itself, because a write per request of a stranger would cost more than the
 * fetch.
 */
export const FETCH_LIMIT: Limit<{ readonly address: string; readonly host: string | undefined }> = {
  window: FETCHES.window,
  keysOf({ address, host }) {
    const ofAddress = { key: ['address'], limit: FETCHES.perAddress };
    if (host === undefined) return perNetwork(address, ofAddress);
    return [
      { key: ['host', host], limit: FETCHES.perHost },
      ...perNetwork(address, { key: ['host', host], limit: FETCHES.perHostAndAddress }, ofAddress),
    ];
  },
};

/** Makes keyed hashes of addresses: plain ones could be reversed by trying all addresses. */
export function createAddressIds(secrets: Secrets) {
  const ids = createAttemptIds(secrets);
  return {
    /** Makes the id of a client out of the address and the metadata that it is registered with: a UUID (RFC 9562 section 5.8). */
    clientIdOf: (address: string, metadata: string): string =>
      uuidOf(ids()(['registration id', networksOf(address)[0].name, metadata])),
    /** A keyed hash of the widest network of an address. */
    networkOf: (address: string): string => ids()(['registration network', networksOf(address).at(-1)!.name]),
  };
}

/** A UUID of a hash, which is base64url. */
function uuidOf(hash: string): string {
  const bytes = Buffer.from(hash, 'base64url').subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
