import { randomBytes } from 'node:crypto';

import type { Adapter, AdapterPayload } from 'oidc-provider';

import type { Client } from '../../contracts.ts';
import type { ClientDirectory } from '../client-directory.ts';

// The engine demands a secret in the metadata but never compares with it (see provider.ts). A value that nobody knows
// and that changes with every process cannot become a password if that were ever lost.
const UNUSABLE_SECRET = randomBytes(32).toString('base64url');

/** Clients, as the engine's metadata (RFC 7591 section 2), to be built once (see built-clients.ts). */
export function clientAdapter(clients: Pick<ClientDirectory, 'find'>): Partial<Adapter> {
  return {
    async find(id) {
      const stored = await clients.find(id);
      return stored && !stored.client.disabled ? toMetadata(stored.client) : undefined;
    },
  };
}

/** A client in the engine's words. */
function toMetadata(client: Client): AdapterPayload {
  const isCode = client.grantType === 'authorization_code';
  return {
    client_id: client.id,
    client_name: client.name,
    redirect_uris: [...client.redirectUris],
    grant_types: isCode ? ['authorization_code', 'refresh_token'] : ['client_credentials'],
    response_types: isCode ? ['code'] : [],
    application_type: client.native ? 'native' : 'web',
    ...(client.confidential
      ? { token_endpoint_auth_method: 'client_secret_basic', client_secret: UNUSABLE_SECRET }
      : { token_endpoint_auth_method: 'none' }),
  };
}
