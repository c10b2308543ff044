import { errors } from '../engine/oidc-provider.ts';

import { now } from '../contracts/clock.ts';
import type { Storage } from '../contracts/index.ts';
import { matchesHash } from '../keys/hash.ts';
import type { PresentedCredential } from '../engine/request.ts';
import type { GrantType } from '../engine/part.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { exchange, findOwn, refuseExpired, refuseReplay, requireParameters } from './exchange.ts';
import type { GrantParts } from './exchange.ts';
import { signsIn } from './scopes.ts';

/** The authorization code grant (RFC 6749 section 4.1.3). A code is redeemed once; used again, it revokes what it gave. */
export const authorizationCodeGrant = (parts: GrantParts): GrantType => ({
  name: 'authorization_code',
  parameters: ['code', 'code_verifier', 'redirect_uri', 'resource'],
  async handle(ctx, request) {
    const {
      code,
      code_verifier: verifier,
      redirect_uri: uri,
    } = requireParameters(ctx, 'code', 'redirect_uri');
    const presented = await findOwn(request, parts, { kind: 'code', value: code });
    refuseExpired(presented);
    try {
      checkVerifier(presented, verifier);
      if (presented.credential.payload['redirectUri'] !== uri)
        throw new errors.InvalidGrant('authorization code redirect_uri mismatch');
    } catch (error) {
      await countCodeGuess(presented, parts.options.storage);
      throw error;
    }
    await refuseReplay(ctx, presented, { request, parts });
    refuseSignedOut(presented, parts.options);
    await exchange(ctx, presented, { request, parts });
  },
});

/** The client would sign the user in after it was told of the end of the session, and would not be told again. */
function refuseSignedOut(
  { grant: { sessionUid }, scopes }: PresentedCredential,
  { aboutUser }: Pick<ResolvedOptions, 'aboutUser'>,
): void {
  if (sessionUid === undefined && signsIn(scopes, aboutUser))
    throw new errors.InvalidGrant('the user was signed out');
}

// RFC 7636 section 4.1.
const SHORTEST_VERIFIER = 43;
const LONGEST_VERIFIER = 128;

/** Compares the verifier with the challenge of the authorization request (RFC 7636 section 4.6). */
function checkVerifier({ credential }: PresentedCredential, verifier: string | undefined): void {
  const challenge = credential.payload['codeChallenge'] as string | undefined;
  if (verifier !== undefined) checkForm(verifier);
  if (verifier === undefined && challenge === undefined) return;
  if (verifier === undefined) throw new errors.InvalidGrant('code_verifier must be provided');
  // RFC 9700 section 2.1.1: the challenge may have been removed from the authorization request.
  if (challenge === undefined)
    throw new errors.InvalidGrant('the authorization request had no code_challenge');
  if (!matchesHash(verifier, challenge))
    throw new errors.InvalidGrant('code_verifier does not match code_challenge');
}

function checkForm(verifier: string): void {
  if (verifier.length < SHORTEST_VERIFIER)
    throw new errors.InvalidRequest(
      `code_verifier must be a string with a minimum length of ${SHORTEST_VERIFIER} characters`,
    );
  if (verifier.length > LONGEST_VERIFIER)
    throw new errors.InvalidRequest(
      `code_verifier must be a string with a maximum length of ${LONGEST_VERIFIER} characters`,
    );
  if (/[^\w.\-~]/.test(verifier))
    throw new errors.InvalidRequest('code_verifier contains invalid characters');
}

// For one code. A client that has the right verifier and redirect URI sends them in its first request.
export const MOST_GUESSES = 10;

/** Counts a wrong verifier or redirect URI, and spends the code after too many of them (RFC 7636 sets no limit). */
async function countCodeGuess(
  { credential: { expiresAt, id, kind } }: PresentedCredential,
  { attempts, grants }: Pick<Storage, 'attempts' | 'grants'>,
): Promise<void> {
  const counter = { id: `code ${id}`, limit: MOST_GUESSES - 1 };
  const { full } = await attempts.count([counter], { now: now(), expiresAt });
  if (full) await grants.redeem({ kind, id }, {});
}
