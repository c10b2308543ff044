import type { AuthorizationRequest } from './authorization-request.ts';

/** The parameter in which a request brings the proof along that its user has just agreed to it. */
export const PROOF = 'consent_proof';

// No check of the engine has this name, so a page's own request is no proof.
const AGREED = 'agreed';

/**
 * What proves for one request that it was agreed to, where that cannot be remembered: with its own redirect URI, scopes and
 * PKCE challenge, in the session that was asked. Once more it gives no more than a code that only its own app can redeem.
 */
export function toProof({ limited, parameters, session }: AuthorizationRequest): AuthorizationRequest {
  return { prompt: 'consent', reasons: [AGREED], parameters: essence(parameters), session, limited };
}

/** Whether this is the proof for a request. */
export function isProofOf(
  proof: AuthorizationRequest | undefined,
  request: { parameters: Record<string, unknown>; sessionUid: string; limited: boolean },
): boolean {
  return (
    proof?.reasons[0] === AGREED &&
    proof.session?.uid === request.sessionUid &&
    (proof.limited ?? false) === request.limited &&
    MEMBERS.every((name) => proof.parameters[name] === request.parameters[name])
  );
}

const MEMBERS = ['client_id', 'redirect_uri', 'scope', 'code_challenge'] as const;

function essence(parameters: AuthorizationRequest['parameters']): Record<string, string> {
  const found = MEMBERS.map((name) => [name, parameters[name]] as const);
  return Object.fromEntries(
    found.filter((entry): entry is [(typeof MEMBERS)[number], string] => entry[1] !== undefined),
  );
}
