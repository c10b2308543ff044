import type { LoadedToken, LoadPersonalToken } from './authenticator.ts';
import { apiOf, AUTH_FAILURES, ofAnotherApi } from './challenge.ts';
import type { AuthFailure, ChallengedApi } from './challenge.ts';
import { effectivePermissions, makePrincipal } from './principal.ts';
import type { EffectivePermissions, UserAssignments } from './principal.ts';
import type { ScopeLimit } from '../clients/consents.ts';
import type { LastUses } from '../clients/last-use.ts';
import type {
  Gate,
  IntrospectedPersonalToken,
  PersonalToken,
  PersonalTokenStore,
  Principal,
  User,
} from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';
import { networksOf } from '../limits/networks.ts';
import type { FindUsable } from '../token/usable-token.ts';

/** Where the gate has this permission, a user needs it to create and to use personal access tokens. */
export const USE_PERSONAL_TOKENS = 'use_personal_tokens';

interface HolderPorts<P extends string, U extends User> {
  readonly findUsable: FindUsable;
  readonly gate: Pick<Gate<P>, 'effective' | 'can' | 'has'>;
  readonly issuer: string;
  readonly userAssignments: Pick<UserAssignments<U>, 'find'>;
}

/** What `createLoadPersonalToken()` takes. */
export interface LoadPersonalTokenPorts<P extends string = string, U extends User = User> extends HolderPorts<
  P,
  U
> {
  /** The API that the tokens are for. */
  readonly api: ChallengedApi & {
    readonly scopes: ReadonlyMap<string, { readonly permissions: readonly P[] }>;
  };
  readonly store: Pick<PersonalTokenStore, 'findByHash'>;
  readonly tokenUsed: LastUses['personalTokenUsed'];
}

/**
 * Creates the function that loads a personal access token for the guard of an API: one read by the hash of its value, and the user with
 * the permissions that the user has now. Whoever holds one is told why it is refused.
 */
export function createLoadPersonalToken<P extends string, U extends User>(
  ports: LoadPersonalTokenPorts<P, U>,
): LoadPersonalToken<P, U> {
  const { api, gate, issuer, store, tokenUsed } = ports;
  const findHolder = createFindHolder<P, U>(ports);
  return async function loadPersonalToken(value, at): Promise<LoadedToken<P, U> | AuthFailure> {
    const token = await store.findByHash(hashCredential(value));
    if (!token) return AUTH_FAILURES.personal;
    const { resource = issuer } = token;
    if (resource !== api.resource) return ofAnotherApi('personal access token', resource, api.resource);
    if (token.expiresAt <= at) return AUTH_FAILURES.personalExpired;
    const { id, name, permissions, userId } = token;
    const holder = await findHolder(token);
    if ('code' in holder) return holder;
    const { effective, scopes, user } = holder;
    const personalToken = Object.freeze({ id, name });
    const principal: Principal<P, U> = makePrincipal<P, U, Holder<U>>(
      { type: 'user', user, client: undefined, credential: 'personal_token', personalToken },
      effective,
      { gate, granted: scopes, scopes: api.scopes, chosen: permissions },
    );
    apiOf.set(principal, api);
    let usedFrom: string | undefined;
    return {
      principal,
      expiresAt: token.expiresAt,
      subject: { tokenId: id, userId },
      // Compared here, because it is called for each request.
      onUse(address) {
        if (address === usedFrom) return;
        usedFrom = address;
        tokenUsed(token, { address, network: networksOf(address).at(-1)!.name });
      },
    };
  };
}

/**
 * Creates the function that finds a personal access token for introspection, of any API. Resolves to `undefined` for one that the guard
 * of its API would refuse.
 */
export function createIntrospectPersonalToken<P extends string, U extends User>({
  store,
  ...ports
}: HolderPorts<P, U> & Pick<LoadPersonalTokenPorts<P, U>, 'store'>): (
  value: string,
) => Promise<IntrospectedPersonalToken | undefined> {
  const findHolder = createFindHolder<P, U>(ports);
  return async function introspectPersonalToken(value) {
    const token = await store.findByHash(hashCredential(value));
    const holder = token && (await findHolder(token));
    if (!holder || 'code' in holder) return undefined;
    return {
      ...token,
      audience: token.resource ?? ports.issuer,
      scopes: holder.scopes,
      permissions: token.permissions?.filter((name) => holder.effective.sources.has(name as P)),
    };
  };
}

/** Creates the function that finds the user of a token, with the permissions that the user has now, and the scopes of the token. */
function createFindHolder<P extends string, U extends User>({
  findUsable,
  gate,
  issuer,
  userAssignments,
}: HolderPorts<P, U>): (
  token: Pick<PersonalToken, 'resource' | 'scopes' | 'userId'>,
) => Promise<
  { readonly user: U; readonly effective: EffectivePermissions<P>; readonly scopes: ScopeLimit } | AuthFailure
> {
  return async function findHolder({ resource = issuer, scopes: limit, userId }) {
    const subject = { clientId: undefined, userId, resource, limit };
    const usable = await findUsable(subject, { findUser: async (id) => userAssignments.find(id) });
    if (usable === 'api') return AUTH_FAILURES.personal;
    if (typeof usable === 'string') return AUTH_FAILURES.gone;
    const { assignment, user } = usable.user!;
    const effective = effectivePermissions(assignment, gate);
    const isAllowed = !gate.has(USE_PERSONAL_TOKENS) || effective.sources.has(USE_PERSONAL_TOKENS);
    return isAllowed ? { user, effective, scopes: usable.scopes } : AUTH_FAILURES.notAllowed;
  };
}

interface Holder<U extends User> {
  readonly type: 'user';
  readonly user: U;
  readonly client: undefined;
  readonly credential: 'personal_token';
  readonly personalToken: NonNullable<Principal['personalToken']>;
}
