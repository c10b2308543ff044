import type { LoadedToken, LoadPersonalToken } from './authenticator.ts';
import { apiOf, AUTH_FAILURES } from './challenge.ts';
import type { AuthFailure, ChallengedApi } from './challenge.ts';
import { effectivePermissions, makePrincipal } from './principal.ts';
import type { UserAssignments } from './principal.ts';
import type { LastUses } from '../clients/last-use.ts';
import type { Gate, PersonalTokenStore, Principal, User } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';
import { networksOf } from '../limits/networks.ts';

/** Where the gate has this permission, a user needs it to create and to use personal access tokens. */
const USE_PERSONAL_TOKENS = 'use_personal_tokens';

/** What `createLoadPersonalToken()` takes. */
export interface LoadPersonalTokenPorts<P extends string = string, U extends User = User> {
  /** The API that the tokens are for. */
  readonly api: ChallengedApi & {
    readonly scopes: ReadonlyMap<string, { readonly permissions: readonly P[] }>;
  };
  readonly gate: Pick<Gate<P>, 'effective' | 'can' | 'has'>;
  readonly issuer: string;
  /** Called with the user of a token whom the user store does not find. */
  readonly onMissing: (userId: string) => Promise<void>;
  readonly store: Pick<PersonalTokenStore, 'findByHash'>;
  readonly tokenUsed: LastUses['personalTokenUsed'];
  readonly userAssignments: Pick<UserAssignments<U>, 'find'>;
}

/**
 * Creates the function that loads a personal access token for the guard of an API: one read by the hash of its value, and the user with
 * the permissions that the user has now. A token of another API is as unknown as one that was ended.
 */
export function createLoadPersonalToken<P extends string, U extends User>({
  api,
  gate,
  issuer,
  onMissing,
  store,
  tokenUsed,
  userAssignments,
}: LoadPersonalTokenPorts<P, U>): LoadPersonalToken<P, U> {
  return async function loadPersonalToken(value, at): Promise<LoadedToken<P, U> | AuthFailure> {
    const token = await store.findByHash(hashCredential(value));
    if (!token || token.expiresAt * 1000 <= at || (token.resource ?? issuer) !== api.resource)
      return AUTH_FAILURES.personal;
    const { id, name, permissions, scopes, userId } = token;
    const holder = await userAssignments.find(userId);
    if (!holder) {
      await onMissing(userId);
      return AUTH_FAILURES.gone;
    }
    const effective = effectivePermissions(holder.assignment, gate);
    if (gate.has(USE_PERSONAL_TOKENS) && !effective.sources.has(USE_PERSONAL_TOKENS))
      return AUTH_FAILURES.notAllowed;
    const personalToken = Object.freeze({ id, name });
    const principal: Principal<P, U> = makePrincipal<P, U, Holder<U>>(
      { type: 'user', user: holder.user, client: undefined, credential: 'personal_token', personalToken },
      effective,
      { gate, granted: scopes, scopes: api.scopes, chosen: scopes ? undefined : permissions },
    );
    apiOf.set(principal, api);
    let usedFrom: string | undefined;
    return {
      principal,
      expiresAt: token.expiresAt * 1000,
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

interface Holder<U extends User> {
  readonly type: 'user';
  readonly user: U;
  readonly client: undefined;
  readonly credential: 'personal_token';
  readonly personalToken: NonNullable<Principal['personalToken']>;
}
