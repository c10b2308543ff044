import { randomBytes } from 'node:crypto';

import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

import { scopesOf } from '../../clients/consents.ts';
import type { ClientDirectory } from '../../clients/directory.ts';
import { now } from '../../contracts/clock.ts';
import type {
  AccessTokenClaims,
  Client,
  Grant,
  GrantStore,
  RevocationStore,
  Storage,
} from '../../contracts/index.ts';
import type { ResolvedOptions } from '../../options/options.ts';
import { isTokenActive } from '../../tokens/revoke.ts';
import { currentRequest } from '../engine-request.ts';
import { isGrantLimited } from '../scopes.ts';
import { hostClaimsOf } from '../token-claims.ts';
import { credentialAdapter } from './credentials.ts';
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

// The engine demands a secret in the metadata but never compares with it (see provider.ts). A value that nobody knows
// and that changes with every process cannot become a password if that were ever lost.
const UNUSABLE_SECRET = randomBytes(32).toString('base64url');

/** Clients, as the engine's metadata (RFC 7591 section 2), to be built once (see provider.ts). */
function clientAdapter(clients: Pick<ClientDirectory, 'find'>): Partial<Adapter> {
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

/**
 * Grants. They are saved together with their code (see credentials.ts) and found together with the code or refresh
 * token that the request presents, so most requests cost no read here.
 */
function grantAdapter(grants: GrantStore, resource: string): Partial<Adapter> {
  return {
    async find(id) {
      const known = currentRequest()?.credential?.grant;
      const grant = known?.id === id ? known : await grants.find(id);
      return grant && grant.revokedAt === undefined ? toGrantPayload(grant, resource) : undefined;
    },
    // The engine destroys a grant when one of its credentials is used twice: the whole family dies.
    async destroy(id) {
      await grants.revoke({ id }, now());
    },
  };
}

function toGrantPayload(grant: Grant, resource: string): AdapterPayload {
  const hasScopes = grant.scopes.length > 0 && !isGrantLimited(grant);
  return {
    kind: 'Grant',
    jti: grant.id,
    accountId: grant.userId,
    clientId: grant.clientId,
    iat: grant.createdAt,
    // A grant lives for as long as it has live credentials, which the storage knows; the engine looks those up first.
    exp: Number.MAX_SAFE_INTEGER,
    ...(hasScopes ? { resources: { [resource]: grant.scopes.join(' ') } } : {}),
  };
}

/**
 * Access tokens are signed and not kept. At the revocation and introspection endpoints the token has been verified
 * before the engine runs (see token-body.ts); here its claims become the row that the engine expects.
 */
function accessTokenAdapter(
  principal: AccessTokenClaims['principal'],
  revocations: RevocationStore,
  clients: Pick<ClientDirectory, 'find'>,
  lifetime: number,
): Partial<Adapter> {
  return {
    async find(id) {
      const claims = currentRequest()?.accessTokenClaims;
      if (claims?.jti !== id || claims.principal !== principal) return undefined;
      if (!(await isTokenActive(revocations, claims))) return undefined;
      const stored = await clients.find(claims.client_id);
      return stored && toTokenPayload(claims, scopesOf(claims, stored.client));
    },
    async destroy(id) {
      const at = now();
      const expiresAt = currentRequest()?.accessTokenClaims?.exp ?? at + lifetime;
      await revocations.add({ id, revokedAt: at, expiresAt });
    },
    async revokeByGrantId() {},
  };
}

/** @param scopes - `undefined`: none limits it */
function toTokenPayload(claims: AccessTokenClaims, scopes: readonly string[] | undefined): AdapterPayload {
  return {
    kind: claims.principal === 'user' ? 'AccessToken' : 'ClientCredentials',
    jti: claims.jti,
    iat: claims.iat,
    exp: claims.exp,
    aud: claims.aud,
    clientId: claims.client_id,
    scope: scopes?.join(' ') || undefined,
    ...(claims.principal === 'user' ? { accountId: claims.sub, grantId: claims.grant_id } : {}),
    // Whoever asks knows that no scope isTokenActive for everything, unless it is told that there is none.
    extra: {
      ...hostClaimsOf(claims),
      principal: claims.principal,
      ...(scopes?.length === 0 ? { limited: true } : {}),
    },
  };
}
