import type { Client } from './clients.ts';

/** Whether people of the platform have registered a client, and so answer for it. */
export function isRegistered({ source }: Pick<Client, 'source'>): boolean {
  return source === 'manual';
}

/**
 * Who vouches for a client: the `platform`, when it has registered the client, or an administrator has marked it as verified or
 * first-party; its `developer`, when its owner, a user with `manage_apps`, registered it; `nobody`, when it registered itself, or has
 * only a metadata document.
 *
 * Whether a client is confidential does not matter: a client that registers itself gets a secret too.
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
