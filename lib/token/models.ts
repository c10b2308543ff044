import type { Model } from '../engine/calls-without-context.ts';
import { errors } from '../engine/oidc-provider.ts';
import type { AdapterPayload } from 'oidc-provider';

import { scopeLimit } from '../clients/consents.ts';
import { now } from '../contracts/clock.ts';
import { confirmAbsence } from '../contracts/confirm-absence.ts';
import type { AccessTokenClaims, Credential, Grant, GrantStore } from '../contracts/index.ts';
import type { EngineRequest } from '../engine/request.ts';
import { originOf } from '../http/request.ts';
import { senderOf } from '../http/request.ts';
import { hashCredential } from '../keys/hash.ts';
import { hostClaimsOf } from './access-token.ts';
import { findUsableCredential } from './exchange.ts';
import type { GrantParts } from './exchange.ts';
import { findForeign } from './foreign-tokens.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { findPresented, isReplay, refreshGraceOf } from './redemption.ts';
import { signsIn, splitScope } from './scopes.ts';
import { subjectOf } from './usable-token.ts';
import type { EndUnusedGrants } from './unused-grants.ts';
import type { IsTokenActive } from './verify-access-token.ts';

/** Authorization codes, which the authorization endpoint of the engine saves. They are redeemed in authorization-code.ts. */
export function codeAdapter(
  grants: Pick<GrantStore, 'insert'>,
  endUnusedGrants: EndUnusedGrants,
  { aboutUser }: Pick<ResolvedOptions, 'aboutUser'>,
): Model {
  return {
    async upsert(request, value, payload) {
      if (!request?.session) throw new Error('A code is issued only in a login session');
      const { consent, isLimitedToNoScope: limited = false, session: found, spends } = request;
      const origin = senderOf(request.host);
      const { sequence, session } = found;
      const sessionUid = signsIn(splitScope(payload.scope), aboutUser) ? session.uid : undefined;
      const grant = approvedGrant(request, payload, { limited, origin, sequence, sessionUid });
      const basis = { consent, sessionId: session.id, spends };
      const code = toCode(value, payload, { hasOfflineAccess: request.hasOfflineAccess });
      if (!(await grants.insert(grant, code, basis))) {
        request.mustRestart = true;
        throw new errors.AccessDenied('what the code depends on has ended meanwhile');
      }
      await endUnusedGrants(grant, originOf(request.host), found.grants);
    },
    // Called when a grant is revoked, which ends its codes.
    async revokeByGrantId() {},
  };
}

/** Refresh tokens, as the revocation and introspection endpoints of the engine find them. */
export function refreshTokenAdapter(parts: Pick<GrantParts, 'findUsable' | 'foreign' | 'options'>): Model {
  const { foreign: foreignParts, options } = parts;
  const { storage } = options;
  return {
    async find(request, value) {
      const isEnd = request?.endpoint.endsTokens === true;
      const foreign =
        request && foreignParts.finders.length > 0
          ? await unlessInvalid(async () => findForeign(value, foreignParts, request, isEnd))
          : undefined;
      const finding = foreign ?? findPresented(storage.grants, 'refresh_token', value);
      const presented = await (isEnd && !request.accessTokenClaims
        ? confirmAbsence(storage, Promise.resolve(finding))
        : finding);
      if (!presented) return undefined;
      if (request) request.credential = presented;
      const payload = presented.credential.payload as AdapterPayload;
      // What cannot be used at the moment may be usable tomorrow, so that it is revoked all the same.
      if (isEnd) return { ...payload, jti: value };
      const client = request?.client?.client;
      const consumed = isReplay(presented, client ? refreshGraceOf(presented, client, options) : 0);
      const usable = await unlessInvalid(async () => findUsableCredential(presented, parts));
      return (
        usable && {
          ...payload,
          jti: value,
          scope: usable.scopes?.join(' '),
          ...(consumed && { consumed }),
        }
      );
    },
    // The engine also revokes the grant, which ends its refresh tokens.
    async destroy() {},
    async revokeByGrantId() {},
  };
}

/** What a token request is refused for is inactive. */
async function unlessInvalid<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (REFUSALS.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

const REFUSALS = [errors.InvalidGrant, errors.InvalidScope, errors.InvalidTarget];

function toCode(
  value: string,
  payload: AdapterPayload,
  { hasOfflineAccess }: Pick<EngineRequest, 'hasOfflineAccess'>,
): Credential {
  const { claims, jti: _value, ...rest } = payload;
  const named = namedClaims(claims);
  return {
    kind: 'code',
    id: hashCredential(value),
    grantId: payload.grantId!,
    payload: { ...rest, ...(named && { claims: named }), ...(hasOfflineAccess && { offlineAccess: true }) },
    expiresAt: payload.exp!,
    consumedAt: undefined,
    sealedSuccessor: undefined,
  };
}

/**
 * The parameter `claims` of a sign-in with the names that the ID token is to have, without what the client
 * sent with them: it may be nested as deeply as a URL is long, and each refresh token has a copy.
 */
function namedClaims(claims: unknown): object | undefined {
  const { id_token: named } = Object(claims) as { readonly id_token?: object };
  return named && { id_token: Object.fromEntries(Object.keys(named).map((name) => [name, null])) };
}

/** The grant of an authorization request, made by `createLoadGrant` (see consent.ts). */
function approvedGrant(
  request: EngineRequest,
  payload: AdapterPayload,
  {
    limited,
    origin,
    sequence,
    sessionUid,
  }: { limited: boolean } & Pick<Grant, 'origin' | 'sequence' | 'sessionUid'>,
): Grant {
  const grant = request.oidc?.entities.Grant;
  if (!grant || grant.jti !== payload.grantId) {
    throw new errors.InvalidRequest('the authorization request has no grant');
  }
  const scopes = Object.values(grant.resources ?? {}).flatMap((scope) => scope.split(' '));
  return {
    id: grant.jti,
    userId: grant.accountId!,
    clientId: grant.clientId!,
    scopes: scopeLimit(scopes, limited),
    createdAt: now(),
    expiresAt: payload.exp!,
    revokedAt: undefined,
    sequence,
    origin,
    sessionUid,
  };
}

/**
 * Grants. A grant is stored together with its code and read together with the presented code or refresh
 * token, so most requests read no row here.
 */
export function grantAdapter(grants: GrantStore, issuer: string): Model {
  return {
    async find(request, id) {
      const presented = request?.credential?.grant;
      const grant = presented?.id === id ? presented : await grants.find(id);
      // A grant is for one API, which its code and its refresh tokens name.
      const resource = request?.credential?.resource ?? issuer;
      return grant && grant.revokedAt === undefined ? toGrantPayload(grant, resource) : undefined;
    },
    // The engine destroys a grant when one of its credentials is presented again: all tokens of the family are revoked.
    async destroy(_request, id) {
      await grants.revoke({ id }, now(), 'client');
    },
  };
}

function toGrantPayload(grant: Grant, resource: string): AdapterPayload {
  const scope = grant.scopes?.join(' ');
  return {
    kind: 'Grant',
    jti: grant.id,
    accountId: grant.userId,
    clientId: grant.clientId,
    iat: grant.createdAt,
    // The expiry of its credentials, which the engine finds first, decides; the grant itself must not expire earlier.
    exp: Number.MAX_SAFE_INTEGER,
    ...(scope && { resources: { [resource]: scope } }),
  };
}

/**
 * Access tokens are JWTs without a row. The revocation and introspection endpoints verify the token before the engine runs
 * (see unwrap-token.ts); this adapter gives the engine the payload that it would have stored, made from the claims.
 */
export function accessTokenAdapter(
  principal: AccessTokenClaims['principal'],
  {
    findUsable,
    isActive,
    options: {
      storage,
      tokens: { lifetimes },
      users,
    },
  }: Pick<GrantParts, 'findUsable' | 'options'> & { readonly isActive: IsTokenActive },
): Model {
  /** What cannot be used at the moment may be usable tomorrow, so that it is revoked all the same. */
  async function findToRevoke(claims: AccessTokenClaims): Promise<AdapterPayload | undefined> {
    return (await confirmAbsence(storage, isActive(claims))) ? toTokenPayload(claims) : undefined;
  }

  return {
    async find(request, id) {
      const { accessTokenClaims: claims, introspected } = request ?? {};
      if (principal === 'user' && introspected?.jti === id) return introspected;
      if (claims?.jti !== id || claims.principal !== principal) return undefined;
      if (request?.endpoint.endsTokens === true) return findToRevoke(claims);
      const usable = await findUsable(subjectOf(claims), {
        findUser: async (userId) => users.find(userId),
        isActive: async () => isActive(claims),
      });
      return typeof usable === 'string' ? undefined : toIntrospectedPayload(claims, usable.scopes);
    },
    async destroy(request, id) {
      const at = now();
      const expiresAt = request?.accessTokenClaims?.exp ?? at + lifetimes.accessToken;
      await storage.revocations.revokeToken({ id, revokedAt: at, expiresAt });
    },
    async revokeByGrantId() {},
  };
}

function toTokenPayload(claims: AccessTokenClaims): AdapterPayload {
  return {
    kind: claims.principal === 'user' ? 'AccessToken' : 'ClientCredentials',
    jti: claims.jti,
    // Whole seconds (RFC 7662 section 2.2), which those of other servers may not be.
    iat: Math.floor(claims.iat),
    exp: Math.floor(claims.exp),
    aud: claims.aud,
    clientId: claims.client_id,
    ...(claims.principal === 'user' ? { accountId: claims.sub, grantId: claims.grant_id } : {}),
  };
}

/**
 * The user is in `extra`, and the grant in nothing: the engine would look for the grant, which was checked, and for the client, which may
 * have been disabled since.
 *
 * @param scopes - `undefined`: the token is not limited to scopes
 */
function toIntrospectedPayload(
  claims: AccessTokenClaims,
  scopes: readonly string[] | undefined,
): AdapterPayload {
  const { accountId: sub, grantId: _checked, ...payload } = toTokenPayload(claims);
  return {
    ...payload,
    scope: scopes?.join(' ') || undefined,
    // A response without `scope` means a token that is not limited to scopes, so a token limited to no scope is marked.
    extra: {
      ...hostClaimsOf(claims),
      ...(sub === undefined ? {} : { sub }),
      principal: claims.principal,
      ...(scopes?.length === 0 ? { limited: true } : {}),
    },
  };
}
