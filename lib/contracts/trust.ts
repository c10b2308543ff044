import type { Client } from './clients.ts';

/** Whether people of the platform have registered a client, and so answer for it. */
export function isRegistered({ source }: Pick<Client, 'source'>): boolean {
  return source === 'manual';
}

/**
 * Who vouches for a client. `platform`: it was registered by the platform, or an administrator has marked it as verified or
 * first-party. `developer`: its owner registered it, a user with `manage_apps`. `nobody`: it registered itself, or has a metadata
 * document only.
 *
 * That a client is confidential says nothing of it: one that registers itself gets a secret too.
 */
export function vouchedForBy({
  firstParty,
  ownerId,
  source,
  verified,
}: Pick<Client, 'firstParty' | 'ownerId' | 'source' | 'verified'>): 'platform' | 'developer' | 'nobody' {
  if (!isRegistered({ source })) return 'nobody';
  return firstParty || verified || ownerId === undefined ? 'platform' : 'developer';
}
