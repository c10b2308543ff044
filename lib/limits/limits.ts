import type { Client, ClientAttempt, LoginAttempt, RefreshAttempt, Seconds } from '../contracts/index.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { Limit } from './limiter.ts';
import { perNetwork } from './networks.ts';

type Attempts = NonNullable<ResolvedOptions['limits']['attempts']>;
type AttemptOptions<N extends keyof Attempts> = NonNullable<Attempts[N]>;

// An attempt that another node gives back is noticed after this time.
export const REMEMBERED: Seconds = 10;

/**
 * Failed logins. A low limit applies to an account from one address, higher limits to an account from all addresses and to an address for
 * all accounts; the limits of an address apply to its networks too, multiplied. A browser on which the account has logged in before has a
 * limit of its own instead, so that an attacker who fails on purpose cannot lock the user out.
 *
 * A successful login resets the count of the account from the address, or the count of the browser. It does not reset the count of the
 * address: otherwise an attacker could reset it by logging in to an account of their own.
 */
export function loginLimit(options: Omit<AttemptOptions<'login'>, 'deviceLifetime'>): Limit<LoginAttempt> {
  const { perAccount, perAccountAndAddress, perAddress, perDevice, window } = options;
  return {
    window,
    remembered: REMEMBERED,
    keysOf({ address, browser, login }) {
      if (browser !== undefined) return [{ key: ['login device', browser], limit: perDevice }];
      const account = normalizeLogin(login);
      return [
        ...perNetwork(
          address,
          { key: ['login', account], limit: perAccountAndAddress },
          { key: ['login address'], limit: perAddress },
        ),
        { key: ['login account', account], limit: perAccount },
      ];
    },
    resetsFirst: true,
  };
}

/**
 * Failed authentications of clients, per client and address, and per address, in both cases for the networks
 * of the address too. There is no limit per client for all addresses, because an attacker could use it to
 * lock the client out.
 *
 * Only failures are counted, after the fact. All nodes share the counters, but each node refuses by those
 * that it remembers as full, so a successful authentication never reads the storage.
 */
export function clientLimit(options: AttemptOptions<'clientAuthentication'>): Limit<ClientAttempt> {
  const { perAddress, perClientAndAddress, window } = options;
  return {
    window,
    keysOf: ({ address, clientId }) =>
      perNetwork(
        address,
        { key: ['client', clientId], limit: perClientAndAddress },
        { key: ['client address'], limit: perAddress },
      ),
  };
}

/** A request that stores a row, whose client has authenticated itself if it can. */
export interface StoringAttempt {
  readonly client: Pick<Client, 'id' | 'confidential'>;
  readonly address: string;
}

/**
 * Requests of clients that each store a row. Those of a confidential client count for all of its users together, because all have the
 * address of the client's own server; those of public clients count per address with its networks. Anybody can send requests in the name
 * of a public client, so strangers could use up a limit of one client, and lock out its users.
 *
 * @param name - in front of the keys of the limit
 */
export function storingLimit(
  name: string,
  { perAddress, perClient, window }: Readonly<Record<'perAddress' | 'perClient' | 'window', number>>,
): Limit<StoringAttempt> {
  return {
    window,
    keysOf: ({ address, client: { confidential, id } }) =>
      confidential
        ? [{ key: [`${name} client`, id], limit: perClient }]
        : perNetwork(address, { key: [`${name} address`], limit: perAddress }),
  };
}

const REFRESH_WINDOW: Seconds = 3600;

// Ten processes of an agent may share an authorization, and each of them needs an access token of its own.
const REFRESHES = 60;
const REFRESHES_PER_TOKEN = 10;

// The limit of one user and client, as a number of authorizations: a user can begin as many authorizations as they like, and refresh
// each.
const AUTHORIZATIONS = 10;

/**
 * Refreshes of an authorization, and all token requests of one client for one user. Each stores a refresh token.
 *
 * @param most - the limit of one authorization; by default as many refreshes as the lifetime of its access tokens can need
 */
export function refreshLimit(most: number | undefined): Limit<RefreshAttempt> {
  return {
    window: REFRESH_WINDOW,
    keysOf({ clientId, grantId, lifetime, userId }) {
      const limit = most ?? Math.max(REFRESHES, Math.ceil((REFRESH_WINDOW / lifetime) * REFRESHES_PER_TOKEN));
      return [
        ...(grantId === undefined ? [] : [{ key: ['grant', grantId], limit }]),
        { key: ['user', JSON.stringify([clientId, userId])], limit: AUTHORIZATIONS * limit },
      ];
    },
  };
}

/**
 * Normalizes a login name for counting. Databases differ in which names their collations treat as equal, so
 * each difference that one of them ignores is removed: case, accents, width, white space and invisible
 * characters. Two accounts that are normalized to the same name share their attempts, which does less harm
 * than separate attempts for each spelling of one account.
 */
export function normalizeLogin(login: string): string {
  // Upper case first, because it maps ß to SS, as collations do.
  return login
    .normalize('NFKD')
    .replaceAll(/[\p{M}\p{C}\p{Z}\s]/gu, '')
    .toUpperCase()
    .toLowerCase();
}
