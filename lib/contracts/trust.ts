import type { Client } from './clients.ts';

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
  registration,
  verified,
}: Pick<Client, 'firstParty' | 'ownerId' | 'registration' | 'verified'>):
  | 'platform'
  | 'developer'
  | 'nobody' {
  if (registration !== 'manual') return 'nobody';
  return firstParty || verified || ownerId === undefined ? 'platform' : 'developer';
}
