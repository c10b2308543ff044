import type { Adapter, AdapterFactory } from 'oidc-provider';

import type { Storage } from '../../contracts.ts';
import type { ResolvedOptions } from '../../options.ts';
import type { ClientDirectory } from '../client-directory.ts';
import { accessTokenAdapter } from './access-tokens.ts';
import { clientAdapter } from './clients.ts';
import { credentialAdapter } from './credentials.ts';
import { grantAdapter } from './grants.ts';
import { sessionAdapter } from './sessions.ts';

/** Joins the engine's models to the storage: one adapter per model, and no other model is ever kept. */
export function createAdapterFactory(
  storage: Storage,
  clients: ClientDirectory,
  options: Pick<ResolvedOptions, 'issuer' | 'refreshGrace' | 'lifetimes'>,
): AdapterFactory {
  const adapters: Record<string, Partial<Adapter>> = {
    Client: clientAdapter(clients),
    Session: sessionAdapter(storage.sessions),
    // Kept in the URL of its page (see authorization-request.ts).
    Interaction: { async upsert() {}, async find() {} },
    Grant: grantAdapter(storage.grants, options.issuer),
    AuthorizationCode: credentialAdapter('code', storage, options),
    RefreshToken: credentialAdapter('refresh_token', storage, options),
    AccessToken: accessTokenAdapter('user', storage.revocations, clients, options.lifetimes.accessToken),
    ClientCredentials: accessTokenAdapter(
      'client',
      storage.revocations,
      clients,
      options.lifetimes.accessToken,
    ),
  };
  return (model) => ({ ...unsupported(model), ...adapters[model] });
}

function unsupported(model: string): Adapter {
  const refuse = (operation: keyof Adapter) => (): Promise<never> =>
    Promise.reject(new Error(`The engine asked to ${operation} a ${model}, which this server does not keep`));
  return {
    upsert: refuse('upsert'),
    find: refuse('find'),
    findByUid: refuse('findByUid'),
    findByUserCode: refuse('findByUserCode'),
    consume: refuse('consume'),
    destroy: refuse('destroy'),
    revokeByGrantId: refuse('revokeByGrantId'),
  };
}
