import { randomBytes } from 'node:crypto';

import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

import { scopesOf } from '../../clients/consents.ts';
import type { ClientDirectory } from '../../clients/directory.ts';
import type { KeySet } from '../../clients/remote-keys.ts';
import { now } from '../../contracts/clock.ts';
import type {
  AccessTokenClaims,
  Client,
  Grant,
  GrantStore,
  RevocationStore,
  Storage,
} from '../../contracts/index.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import { isTokenActive } from '../../tokens/revoke.ts';
import { currentRequest } from '../engine-request.ts';
import { isGrantLimitedToNoScope } from '../scopes.ts';
import { hostClaimsOf } from '../token-claims.ts';
import { DEVICE_GRANT } from '../user-codes.ts';
import { credentialAdapter } from './credentials.ts';
import { deviceCodeAdapter } from './device-codes.ts';
import type { DeviceCodeParts } from './device-codes.ts';
import { sessionAdapter } from './sessions.ts';

/** Maps the engine's models to the storage, one adapter per model. Any operation that is not listed throws. */
export function createAdapterFactory(
  storage: Storage,
  clients: ClientDirectory,
  options: Pick<
    ResolvedOptions,
    'deviceAuthorization' | 'issuer' | 'refreshGrace' | 'resources' | 'lifetimes'
  >,
  devices: DeviceCodeParts,
): AdapterFactory {
  const adapters: Record<string, Partial<Adapter>> = {
    Client: clientAdapter(clients, options),
    Session: sessionAdapter(storage.sessions),
    // The request is in the URL of its page instead (see authorization-request.ts).
    Interaction: { async upsert() {}, async find() {} },
    Grant: grantAdapter(storage.grants, options.issuer),
    AuthorizationCode: credentialAdapter('code', storage, options),
    RefreshToken: credentialAdapter('refresh_token', storage, options),
    DeviceCode: deviceCodeAdapter(storage, options, devices),
    AccessToken: accessTokenAdapter('user', storage.revocations, clients, options),
    ClientCredentials: accessTokenAdapter('client', storage.revocations, clients, options),
  };
  return (model) => ({ ...unsupported(model), ...adapters[model] });
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
 * Clients as metadata (RFC 7591 section 2). The engine builds a client from it once (see `cacheBuiltClients` in provider.ts).
 */
function clientAdapter(
  clients: Pick<ClientDirectory, 'find'>,
  { deviceAuthorization }: Pick<ResolvedOptions, 'deviceAuthorization'>,
): Partial<Adapter> {
  // Without the option, the engine does not know its grant type; the tokens that devices have can still be refreshed.
  const ofDevices = deviceAuthorization ? [DEVICE_GRANT, 'refresh_token'] : ['refresh_token'];
  const grantTypes: Readonly<Record<Client['grantType'], readonly string[]>> = {
    authorization_code: ['authorization_code', 'refresh_token'],
    client_credentials: ['client_credentials'],
    device_code: ofDevices,
  };

  return {
    async find(id) {
      const stored = await clients.find(id);
      if (!stored || stored.client.disabled) return undefined;
      const request = currentRequest();
      const keys = request?.clientId === id ? request.assertion?.keys : undefined;
      return toMetadata(stored.client, grantTypes, keys);
    },
  };
}

/** @param keys - the keys to verify an assertion with. `undefined`: the client sends a secret, or is public */
function toMetadata(
  client: Client,
  grantTypes: Readonly<Record<Client['grantType'], readonly string[]>>,
  keys: KeySet | undefined,
): AdapterPayload {
  const { grantType } = client;
  // Those of a client whose metadata document is not valid any more are empty: what users have authorized can be refreshed only.
  const isWithdrawn = grantType === 'authorization_code' && client.redirectUris.length === 0;
  return {
    client_id: client.id,
    client_name: client.name,
    redirect_uris: [...client.redirectUris],
    grant_types: isWithdrawn ? ['refresh_token'] : [...grantTypes[grantType]],
    response_types: grantType === 'authorization_code' && !isWithdrawn ? ['code'] : [],
    application_type: client.native ? 'native' : 'web',
    ...authenticationOf(client, keys),
  };
}

function authenticationOf({ confidential }: Client, keys: KeySet | undefined): AdapterPayload {
  if (!confidential) return { token_endpoint_auth_method: 'none' };
  if (keys) return { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [...keys.keys] } };
  return { token_endpoint_auth_method: 'client_secret_basic', client_secret: UNUSABLE_SECRET };
}

/**
 * Grants. A grant is stored together with its code (see credentials.ts) and read together with the presented code or refresh
 * token, so most requests read no row here.
 */
function grantAdapter(grants: GrantStore, issuer: string): Partial<Adapter> {
  return {
    async find(id) {
      const presented = currentRequest()?.credential?.grant;
      const grant = presented?.id === id ? presented : await grants.find(id);
      // A grant is for one API, which its code and its refresh tokens name.
      const resource = currentRequest()?.credential?.resource ?? issuer;
      return grant && grant.revokedAt === undefined ? toGrantPayload(grant, resource) : undefined;
    },
    // The engine destroys a grant when one of its credentials is presented again: all tokens of the family are revoked.
    async destroy(id) {
      await grants.revoke({ id }, now());
    },
  };
}

function toGrantPayload(grant: Grant, resource: string): AdapterPayload {
  const hasScopes = grant.scopes.length > 0 && !isGrantLimitedToNoScope(grant);
  return {
    kind: 'Grant',
    jti: grant.id,
    accountId: grant.userId,
    clientId: grant.clientId,
    iat: grant.createdAt,
    // The expiry of its credentials, which the engine finds first, decides; the grant itself must not expire earlier.
    exp: Number.MAX_SAFE_INTEGER,
    ...(hasScopes ? { resources: { [resource]: grant.scopes.join(' ') } } : {}),
  };
}

/**
 * Access tokens are JWTs without a row. The revocation and introspection endpoints verify the token before the engine runs
 * (see token-body.ts); this adapter gives the engine the payload that it would have stored, made from the claims.
 */
function accessTokenAdapter(
  principal: AccessTokenClaims['principal'],
  revocations: RevocationStore,
  clients: Pick<ClientDirectory, 'find'>,
  { lifetimes, resources }: Pick<ResolvedOptions, 'lifetimes' | 'resources'>,
): Partial<Adapter> {
  return {
    async find(id) {
      const claims = currentRequest()?.accessTokenClaims;
      if (claims?.jti !== id || claims.principal !== principal) return undefined;
      if (!(await isTokenActive(revocations, claims))) return undefined;
      const stored = await clients.find(claims.client_id);
      const api = resources.get(claims.aud);
      return stored && api && toTokenPayload(claims, scopesOf(claims, stored.client, api));
    },
    async destroy(id) {
      const at = now();
      const expiresAt = currentRequest()?.accessTokenClaims?.exp ?? at + lifetimes.accessToken;
      await revocations.add({ id, revokedAt: at, expiresAt });
    },
    async revokeByGrantId() {},
  };
}

/** @param scopes - `undefined`: the token is not limited to scopes */
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
    // A response without `scope` means a token that is not limited to scopes, so a token limited to no scope is marked.
    extra: {
      ...hostClaimsOf(claims),
      principal: claims.principal,
      ...(scopes?.length === 0 ? { limited: true } : {}),
    },
  };
}
