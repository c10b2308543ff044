import type { Client } from '../contracts.ts';

/**
 * What is remembered of where somebody agreed to be sent: what the consent page shows, which is an origin, or the scheme of
 * an installed app. `undefined` for a port that the app chose by itself: whatever runs on that machine may have it the next
 * time, so it is asked for again (RFC 8252 section 8.6).
 */
export function redirectHost(
  redirectUri: string,
  { redirectUris }: Pick<Client, 'redirectUris'>,
): string | undefined {
  if (!redirectUris.includes(redirectUri)) return undefined;
  const { origin, protocol } = new URL(redirectUri);
  return origin === 'null' ? protocol : origin;
}

/**
 * Whether another app on the same device could receive what is sent there. A claimed https address is the one that the
 * system keeps for its app (RFC 8252 section 7.2).
 */
export function isOnDevice(redirectUri: string, { native }: Pick<Client, 'native'>): boolean {
  return native && !redirectUri.startsWith('https:');
}
