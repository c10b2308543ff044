import { createHash, randomBytes } from 'node:crypto';

/** A code verifier, and the parameters of the authorization request for it (RFC 7636 section 4). */
export function pkce(verifier: string = randomBytes(32).toString('base64url')): {
  verifier: string;
  parameters: { code_challenge: string; code_challenge_method: string };
} {
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  return { verifier, parameters: { code_challenge: challenge, code_challenge_method: 'S256' } };
}
