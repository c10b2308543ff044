import { randomBytes } from 'node:crypto';

import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

import type { ClientDirectory } from '../clients/directory.ts';
import type { ClientKinds } from '../contracts/client-kinds.ts';
import type { KeySet } from '../clients/remote-keys.ts';
import type { Client } from '../contracts/index.ts';
import { adapterOf } from './calls-without-context.ts';
import type { Model } from './calls-without-context.ts';
import type { EnginePart } from './part.ts';

/** Maps the engine's models to the storage. Any operation that no module has given throws. */
export function createAdapterFactory(
  clients: ClientDirectory,
  kinds: ClientKinds,
  parts: readonly EnginePart[],
): AdapterFactory {
  const models: Record<string, Model> = Object.assign(
    { Client: clientModel(clients, kinds, parts) },
    ...parts.map((part) => part.models),
  );
  return (model) => ({ ...unsupported(model), ...adapterOf(models[model] ?? {}) });
}

function unsupported(model: string): Adapter {
  const refuse = (operation: keyof Adapter) => (): Promise<never> =>
    Promise.reject(
      new Error(`The engine asked to ${operation} a ${model}, which this server does not store`),
    );
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

// The engine requires a secret in the metadata but never compares with it, because provider.ts replaces the comparison. The
// value is random per process, so that it is no usable password even if that replacement were lost.
const UNUSABLE_SECRET = randomBytes(32).toString('base64url');

/**
 * Clients as metadata (RFC 7591 section 2). The engine builds a client from it once (see `createFindClient` in provider.ts).
 */
function clientModel(
  clients: Pick<ClientDirectory, 'find'>,
  kinds: ClientKinds,
  parts: readonly EnginePart[],
): Model {
  // Without its feature, the engine does not know a grant type; the tokens that clients have can still be refreshed.
  const grantTypes = ({ grantType }: Client): readonly string[] => [
    ...(kinds.on.get(grantType)?.grantTypes ?? []),
    ...(kinds.all.get(grantType)?.actsFor === 'itself' ? [] : ['refresh_token']),
  ];

  return {
    async find(request, id) {
      const stored = await clients.find(id);
      if (!stored || stored.client.disabled) return undefined;
      const isCaller = request?.clientId === id;
      const authentication =
        isCaller && request.clientOfGrant === id
          ? NO_AUTHENTICATION
          : authenticationOf(stored.client, isCaller ? request.assertion?.keys : undefined);
      const further = parts.map((part) => part.clientMetadata?.(stored.client));
      return Object.assign(
        toMetadata(stored.client, grantTypes),
        authentication,
        ...further,
      ) as AdapterPayload;
    },
  };
}

function toMetadata(client: Client, grantTypes: (client: Client) => readonly string[]): AdapterPayload {
  const { grantType } = client;
  // One that its source has withdrawn has none: what users have authorized can be refreshed only.
  const isWithdrawn = grantType === 'authorization_code' && client.redirectUris.length === 0;
  return {
    client_id: client.id,
    client_name: client.name,
    redirect_uris: [...client.redirectUris],
    grant_types: isWithdrawn ? ['refresh_token'] : [...grantTypes(client)],
    response_types: grantType === 'authorization_code' && !isWithdrawn ? ['code'] : [],
    application_type: client.native ? 'native' : 'web',
  };
}

const NO_AUTHENTICATION: AdapterPayload = { token_endpoint_auth_method: 'none' };

/** @param keys - the keys to verify an assertion with. `undefined`: the client sends a secret, or is public */
function authenticationOf({ confidential }: Client, keys: KeySet | undefined): AdapterPayload {
  if (!confidential) return NO_AUTHENTICATION;
  if (keys) return { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [...keys.keys] } };
  return { token_endpoint_auth_method: 'client_secret_basic', client_secret: UNUSABLE_SECRET };
}
