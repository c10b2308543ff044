import { randomUUID } from 'node:crypto';

import { now } from '../../contracts/clock.ts';
import type { User } from '../../contracts/index.ts';
import type { AuthenticatedTokenRequest } from '../../engine/part.ts';
import { besidesDefault } from '../../engine/resource-parameter.ts';
import { senderOf } from '../../http/request.ts';
import { hashCredential } from '../../keys/hash.ts';
import type { ResolvedOptions } from '../../options/resolved-options.ts';
import { notAccepted } from './assertion.ts';
import type { AssertedAccess } from './id-jag.ts';
import { isSpentAgain } from './once.ts';
import type { Use } from './once.ts';
import { FOREVER } from './store.ts';
import type { AllowedGrant, AllowedGrantStore, AssertionClaims } from './types.ts';

/** What an assertion gives a client for a user. */
interface Asserted {
  readonly access: AssertedAccess;
  readonly claims: AssertionClaims;
  readonly use: Use;
  readonly user: User;
}

/** The grant of an assertion. */
interface AssertedGrant {
  readonly id: string;
  /** Whether the same assertion was used a moment ago for it. */
  readonly isRepeated: boolean;
}

/** Finds the grant of an assertion, or begins it, and spends the assertion. @throws InvalidGrant of the engine when it was ended */
export type GrantOf = (request: AuthenticatedTokenRequest, asserted: Asserted) => Promise<AssertedGrant>;

/** There is one for each issuer, tenant, `sub`, client and user. */
export function createGrantOf(
  { issuer, storage, tokens, users }: ResolvedOptions,
  store: AllowedGrantStore,
): GrantOf {
  return async function grantOf(request, asserted) {
    const { access, claims, use, user } = asserted;
    const { id: clientId } = request.client.client;
    const id = hashCredential(
      JSON.stringify([claims.iss, claims['tenant'] ?? '', claims.sub, clientId, user.id]),
    );
    const name = besidesDefault(access.api.resource, issuer) ?? '';
    let found = await store.find(id);
    if (found === undefined || found.state === 'over') {
      const allowed = {
        id,
        issuer: claims.iss,
        userId: user.id,
        clientId,
        grantId: randomUUID(),
        access: { [name]: access.scopes },
        createdAt: found?.createdAt ?? now(),
      };
      if (await begin(request, { allowed, over: found?.grantId, use }))
        return { id: allowed.grantId, isRepeated: false };
      found = await store.find(id);
    }
    if (found?.state === 'ended')
      throw notAccepted('the user, or the host, has ended what the issuer allowed');
    if (found?.state !== 'live') {
      const isUsed = (await store.findUse(use.id)) !== undefined;
      throw notAccepted(isUsed ? 'it was used before' : 'the user, or the app, was ended meanwhile');
    }
    const { grantId } = found;
    const isRepeated = await isSpentAgain(store, { ...use, grantId }, tokens.refreshGrace);
    await widen(found, name, access.scopes);
    return { id: grantId, isRepeated };
  };

  async function begin(
    { host }: AuthenticatedTokenRequest,
    {
      allowed,
      over,
      use,
    }: { readonly allowed: AllowedGrant; readonly over: string | undefined; readonly use: Use },
  ): Promise<boolean> {
    const { access, clientId, grantId, userId } = allowed;
    // Read before the user is found, so that an end of the user from here on ends the grant too.
    const sequence = await storage.revocations.latestSequence();
    if (!(await users.find(userId)))
      throw notAccepted('users.find() finds no user with the id that findUser() has returned');
    const grant = {
      id: grantId,
      userId,
      clientId,
      scopes: Object.values(access).flat(),
      createdAt: now(),
      expiresAt: FOREVER,
      revokedAt: undefined,
      sequence,
      origin: senderOf(host),
      sessionUid: undefined,
    };
    return store.begin(allowed, { grant, over, use: { ...use, grantId } });
  }

  /** Adds what a user is to see of the scopes that tokens have. */
  async function widen(known: AllowedGrant, name: string, scopes: readonly string[]): Promise<void> {
    for (let found: AllowedGrant | undefined = known; found; found = await store.find(known.id)) {
      const before = found.access[name] ?? [];
      if (scopes.every((scope) => before.includes(scope))) return;
      const access = { ...found.access, [name]: [...new Set([...before, ...scopes])].toSorted() };
      if (await store.widen(known.id, found.access, access)) return;
    }
  }
}
