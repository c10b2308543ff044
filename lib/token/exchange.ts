import { randomBytes } from 'node:crypto';

import { errors } from '../engine/oidc-provider.ts';
import type { KoaContextWithOIDC } from 'oidc-provider';

import type { ScopeLimit } from '../clients/consents.ts';
import type { CompleteLifetimes } from '../clients/lifetimes.ts';
import { now } from '../contracts/clock.ts';
import { vouchedForBy } from '../contracts/trust.ts';
import type { Client, Credential, RefreshAttempt, Seconds, User } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';
import { effectiveLifetimes, respond } from './access-token.ts';
import { findForeign } from './foreign-tokens.ts';
import type { ForeignRefreshTokens } from './foreign-tokens.ts';
import { findCurrent, findPresented, isReplay, redeem, refreshGraceOf } from './redemption.ts';
import type { PresentedCredential } from '../engine/request.ts';
import { TooManyAttempts } from '../engine/refusals.ts';
import { checkGrantedResource } from '../engine/resource-parameter.ts';
import { grantedLimit } from './scopes.ts';
import type { AuthenticatedTokenRequest } from '../engine/part.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';
import type { SignAccessToken } from './access-token.ts';
import type { FindUsable, TokenRefusal } from './usable-token.ts';

/** What a feature knows that adds to the response with the tokens of a user. */
export interface ExchangeContent {
  readonly client: Client;
  readonly user: User;
  /** `undefined`: not limited to scopes. */
  readonly scopes: readonly string[] | undefined;
  /** The credential of the request, with what is known of the login. */
  readonly credential: Credential;
  /** The access token of the same response. */
  readonly accessToken: string;
}

/** Resolves to further members of the response. `undefined`: it has none. */
export type AddToResponse = (content: ExchangeContent) => Promise<object> | undefined;

/** What the grants need. */
export interface GrantParts {
  readonly options: ResolvedOptions;
  readonly findUsable: FindUsable;
  readonly signAccessToken: SignAccessToken;
  /** Those of features. */
  readonly addToResponse: readonly AddToResponse[];
  /** Counts a token request for a user. @throws TooManyAttemptsError. `undefined`: there is no limit */
  readonly countExchange: ((refresh: RefreshAttempt) => void) | undefined;
  readonly foreign: ForeignRefreshTokens;
}

/** What the description of a refusal calls a kind of credential. */
function nameOf(kind: Credential['kind']): string {
  return kind === 'code' ? 'authorization code' : kind.replaceAll('_', ' ');
}

/**
 * Finds the credential that a token request presents, spent ones included.
 *
 * @throws InvalidGrant of the engine when it is unknown, ended or another client's
 */
export async function findOwn(
  request: AuthenticatedTokenRequest,
  { foreign: parts, options: { storage } }: Pick<GrantParts, 'foreign' | 'options'>,
  { kind, value }: { readonly kind: Credential['kind']; readonly value: string },
): Promise<PresentedCredential> {
  const isForeign = kind === 'refresh_token' && parts.finders.length > 0;
  const foreign = isForeign ? await findForeign(value, parts, request, false) : undefined;
  const presented = foreign ?? (await findPresented(storage.grants, kind, value));
  if (!presented) throw new errors.InvalidGrant(`${nameOf(kind)} not found`);
  request.credential = presented;
  if (presented.grant.clientId !== request.client.client.id) throw new errors.InvalidGrant('client mismatch');
  return presented;
}

/** @throws InvalidGrant of the engine */
export function refuseExpired({ credential: { kind }, expiresIn }: PresentedCredential): void {
  if (expiresIn <= 0) throw new errors.InvalidGrant(`${nameOf(kind)} is expired`);
}

/**
 * Revokes all tokens of the grant of a credential that is presented again (RFC 6749 section 4.1.2, RFC 9700 section 4.14.2).
 *
 * @throws InvalidGrant of the engine
 */
export async function refuseReplay(
  ctx: KoaContextWithOIDC,
  presented: PresentedCredential,
  {
    parts: { options },
    request: {
      client: { client },
    },
  }: { readonly parts: Pick<GrantParts, 'options'>; readonly request: AuthenticatedTokenRequest },
): Promise<void> {
  if (isReplay(presented, refreshGraceOf(presented, client, options)))
    await endFamily(ctx, presented, options);
}

/** @throws InvalidGrant of the engine */
async function endFamily(
  ctx: KoaContextWithOIDC,
  { credential, grant }: PresentedCredential,
  { storage }: Pick<ResolvedOptions, 'storage'>,
): Promise<never> {
  await storage.grants.revoke({ id: grant.id }, now(), 'replay');
  ctx.oidc.provider.emit('grant.revoked', ctx, grant.id);
  throw new errors.InvalidGrant(`${nameOf(credential.kind)} already used`);
}

/**
 * Exchanges a credential that has passed the checks of its kind for an access token and the next refresh token. Everything that can
 * refuse the request comes before the credential is spent.
 *
 * @param given.requested - the scopes that the request is limited to; `undefined`: all that were granted
 * @throws errors of the engine, for its answer (RFC 6749 section 5.2)
 */
export async function exchange(
  ctx: KoaContextWithOIDC,
  presented: PresentedCredential,
  {
    parts,
    request,
    requested,
  }: {
    readonly parts: GrantParts;
    readonly request: AuthenticatedTokenRequest;
    readonly requested?: readonly string[] | undefined;
  },
): Promise<void> {
  const { options, signAccessToken } = parts;
  const { grant } = presented;
  const { client } = request.client;
  checkGrantedResource(ctx, presented);
  const { api, scopes, user } = await findUsableCredential(presented, parts, requested);
  const lifetimes = effectiveLifetimes(client, api.lifetimes);
  const lifetime = lifetimes.accessToken;
  // Of the platform's own clients with a secret, no user and no stranger has the refresh token.
  const isOfPlatform = client.confidential && vouchedForBy(client) === 'platform';
  if (!isOfPlatform) refuseLoop(presented, lifetime, parts);
  const content = { api, client, grant: { id: grant.id, user }, lifetime, scopes };
  const accessToken = await signAccessToken(content);
  const more: object[] = [];
  for (const add of parts.addToResponse) {
    const added = add({ client, user, scopes, credential: presented.credential, accessToken });
    if (added) more.push(await added);
  }
  if (presented.server !== undefined) await findForeign(presented.value, parts.foreign, request, true);
  const at = now();
  const { current: refreshToken, generations } =
    presented.spentFor === undefined
      ? await redeem(options.storage.grants, presented, {
          successor: successorOf(presented, lifetimes, at),
          accessTokenExpiresAt: at + lifetime,
          signedInUntil: signedInUntil(presented, options.tokens.lifetimes.sessionAbsolute),
          refreshGrace: refreshGraceOf(presented, client, options),
        })
      : await findCurrent(options.storage, presented);
  if (generations > 0) request.reused = { generations };
  if (refreshToken === undefined) return endFamily(ctx, presented, options);
  const hasOfflineAccess = presented.credential.payload['offlineAccess'] === true;
  respond(ctx, request, { accessToken, content, more, refreshToken, hasOfflineAccess });
}

/** @throws TooManyAttempts for the response, when the authorization was refreshed, or the user has signed in at the client, too often */
function refuseLoop(
  { credential, grant: { clientId, id, userId } }: PresentedCredential,
  lifetime: Seconds,
  { countExchange }: Pick<GrantParts, 'countExchange'>,
): void {
  const isRefresh = credential.kind === 'refresh_token';
  try {
    countExchange?.({ clientId, userId, grantId: isRefresh ? id : undefined, lifetime });
  } catch (error) {
    const what = isRefresh ? 'refreshes of this authorization' : 'sign-ins of this user at this client';
    throw TooManyAttempts.instead(error, what);
  }
}

/**
 * What a credential may be used for now. A token without scopes has all permissions of its user, so that a credential with none left is
 * refused.
 *
 * @param requested - see {@link grantedLimit}
 * @throws InvalidGrant, InvalidTarget and InvalidScope of the engine
 */
export async function findUsableCredential(
  presented: PresentedCredential,
  { findUsable, options: { issuer, resources, users } }: Pick<GrantParts, 'findUsable' | 'options'>,
  requested?: readonly string[],
): Promise<{ readonly api: ResolvedResource; readonly scopes: ScopeLimit; readonly user: User }> {
  const { credential, grant, resource = issuer } = presented;
  const limit = grantedLimit(presented, requested);
  const usable = await findUsable(
    { clientId: grant.clientId, userId: grant.userId, resource, limit },
    { findUser: async (id) => users.find(id) },
  );
  if (typeof usable === 'string') throw refusalOf(usable, credential.kind);
  const { scopes, user } = usable;
  if (limit?.length && scopes?.length === 0)
    throw new errors.InvalidScope('the scopes of this grant are not allowed any more', limit.join(' '));
  return { api: resources.get(resource)!, scopes, user: user! };
}

/** The error of the engine for a credential that may not be used now. */
export function refusalOf(refusal: TokenRefusal, kind: Credential['kind']): errors.OIDCProviderError {
  if (refusal === 'api') return new errors.InvalidTarget();
  return new errors.InvalidGrant(`${nameOf(kind)} ${REASONS[refusal]}`);
}

const REASONS: Readonly<Record<Exclude<TokenRefusal, 'api'>, string>> = {
  revoked: 'not found',
  client: 'invalid (the client was removed or disabled)',
  user: 'invalid (referenced account not found)',
};

/** The next refresh token of a grant. It says the same as the credential that it follows. */
function successorOf(
  { credential: { payload }, grant }: PresentedCredential,
  { refreshToken, refreshTokenAbsolute }: CompleteLifetimes,
  at: Seconds,
): { value: string; credential: Credential } {
  // What was said of the login alone is not repeated at a refresh.
  const { codeChallenge: _c, codeChallengeMethod: _m, nonce: _n, redirectUri: _r, ...kept } = payload;
  const value = randomBytes(32).toString('base64url');
  const expiresAt = Math.min(at + refreshToken, grant.createdAt + refreshTokenAbsolute);
  return {
    value,
    credential: {
      kind: 'refresh_token',
      id: hashCredential(value),
      grantId: grant.id,
      payload: { ...kept, kind: 'RefreshToken', iat: at, exp: expiresAt },
      expiresAt,
      consumedAt: undefined,
      sealedSuccessor: undefined,
    },
  };
}

/** Until then the client has to be told when the login session ends. 0: nobody has signed in. */
function signedInUntil(
  { credential: { payload }, grant: { createdAt, sessionUid } }: PresentedCredential,
  sessionAbsolute: Seconds,
): Seconds {
  if (sessionUid === undefined) return 0;
  return ((payload['authTime'] as Seconds | undefined) ?? createdAt) + sessionAbsolute;
}

type Parameters<Required extends string> = Readonly<Record<Required, string>> &
  Readonly<Record<string, string | undefined>>;

/**
 * The parameters of a token request. The engine has refused repeated ones by now, besides `resource`, and left out empty ones.
 *
 * @throws InvalidRequest of the engine when one of the required ones is missing
 */
export function requireParameters<Required extends string>(
  ctx: KoaContextWithOIDC,
  ...required: readonly Required[]
): Parameters<Required> {
  const parameters = ctx.oidc.params as Parameters<Required>;
  const missing = required.filter((name) => parameters[name] === undefined);
  if (missing.length === 0) return parameters;
  const what = missing.length === 1 ? 'parameter' : 'parameters';
  const names = missing.map((name) => `'${name}'`).join(' and ');
  throw new errors.InvalidRequest(`missing required ${what} ${names}`);
}
