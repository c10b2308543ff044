import type { Client } from 'oidc-provider';

import { effectiveLifetimes } from '../clients/lifetimes.ts';
import type { CompleteLifetimes } from '../clients/lifetimes.ts';
import type { StoredClient } from '../contracts/index.ts';

// The engine's `ttl` functions may not wait, and get the client that the engine has built. Not in its metadata, which the
// host's `configure` may leave out of the configuration.
const known = new WeakMap<Client, CompleteLifetimes>();

/** Keeps the lifetimes of a client that the engine has built. */
export function keepLifetimes(
  client: Client,
  { client: stored }: StoredClient,
  server: CompleteLifetimes,
): void {
  known.set(client, effectiveLifetimes(stored, server));
}

/** How long what a client gets lives, in seconds. */
export function lifetimesFor(client: Client, server: CompleteLifetimes): CompleteLifetimes {
  return known.get(client) ?? server;
}
