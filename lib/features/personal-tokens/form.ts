import { AUTH_FAILURES, ofAnotherApi } from '../../access/challenge.ts';
import type { AuthFailure } from '../../access/challenge.ts';
import { effectivePermissions, makePrincipal } from '../../access/principal.ts';
import type { EffectivePermissions } from '../../access/principal.ts';
import type { ScopeLimit } from '../../clients/consents.ts';
import type { User } from '../../contracts/index.ts';
import { hashCredential } from '../../keys/hash.ts';
import { networksOf } from '../../limits/networks.ts';
import type { Core } from '../core.ts';
import type { TokenForm } from '../tokens.ts';
import type { EndPersonalToken } from './end.ts';
import { REFUSALS } from './refusals.ts';
import type { PersonalToken, PersonalTokenStore } from './types.ts';
import type { RecordUse } from './uses.ts';
import { isPersonalToken } from './value.ts';

/** Where the gate has this permission, a user needs it to create and to use personal access tokens. */
export const USE_PERSONAL_TOKENS = 'use_personal_tokens';

/** The user of a token, with what the token permits. */
interface Holder {
  readonly user: User;
  /** The permissions that the user has now. */
  readonly effective: EffectivePermissions;
  /** The scopes of the token that its API still has. */
  readonly scopes: ScopeLimit;
}

/** Personal access tokens at the guards, and at the endpoints for clients. */
export function personalTokenForm(
  { options: { gate, issuer }, tokens: { findUsable }, users }: Core,
  {
    end,
    store,
    tokenUsed,
  }: {
    readonly end: EndPersonalToken;
    readonly store: Pick<PersonalTokenStore, 'findByHash'>;
    readonly tokenUsed: RecordUse;
  },
): TokenForm {
  async function findHolder({
    resource = issuer,
    scopes: limit,
    userId,
  }: PersonalToken): Promise<Holder | AuthFailure> {
    const subject = { clientId: undefined, userId, resource, limit };
    const usable = await findUsable(subject, { findUser: async (id) => users.find(id) });
    if (usable === 'api') return REFUSALS.unknown;
    if (typeof usable === 'string') return AUTH_FAILURES.gone;
    const { assignment, user } = usable.user!;
    const effective = effectivePermissions(assignment, gate);
    const isAllowed = !gate.has(USE_PERSONAL_TOKENS) || effective.sources.has(USE_PERSONAL_TOKENS);
    return isAllowed ? { user, effective, scopes: usable.scopes } : REFUSALS.notAllowed;
  }

  return {
    isWellFormed: isPersonalToken,
    // Takes one read by the hash of the token's value, and the read of the user.
    loaderFor: (api) => async (value, at) => {
      const token = await store.findByHash(hashCredential(value));
      if (!token) return REFUSALS.unknown;
      const { resource = issuer } = token;
      if (resource !== api.resource) return ofAnotherApi('personal access token', resource, api.resource);
      if (token.expiresAt <= at) return REFUSALS.expired;
      const { id, name, permissions, userId } = token;
      const holder = await findHolder(token);
      if ('code' in holder) return holder;
      const { effective, scopes, user } = holder;
      const principal = makePrincipal(
        {
          type: 'user' as const,
          user,
          client: undefined,
          credential: 'personal_token',
          token: Object.freeze({ id, name }),
        },
        effective,
        { api, gate, granted: scopes, chosen: permissions },
      );
      let usedFrom: string | undefined;
      return {
        principal,
        expiresAt: token.expiresAt,
        subject: { tokenId: id, userId },
        // Compared here, because this function is called for each request.
        onUse(address) {
          if (address === usedFrom) return;
          usedFrom = address;
          tokenUsed(token, { address, network: networksOf(address).at(-1)!.name });
        },
      };
    },
    end: end.byValue,
    // Describes a token of any API. A token that the guard of its API would refuse is not active.
    async introspect(value) {
      const token = await store.findByHash(hashCredential(value));
      const holder = token && (await findHolder(token));
      if (!holder || 'code' in holder) return undefined;
      const { createdAt: iat, expiresAt: exp, id: jti, resource: aud = issuer, userId: sub } = token;
      const { effective, scopes } = holder;
      const permissions = token.permissions?.filter((name) => effective.sources.has(name));
      return {
        // Has no client, because the engine would look for it.
        kind: 'AccessToken',
        jti,
        iat,
        exp,
        aud,
        scope: scopes?.join(' ') || undefined,
        extra: {
          sub,
          principal: 'user',
          ...(permissions && { permissions }),
          ...((scopes ?? []).length === 0 ? { limited: true } : {}),
        },
      };
    },
  };
}
