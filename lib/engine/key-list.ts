import { now } from '../clock.ts';
import type { KeyStore } from '../contracts.ts';
import type { SigningKey } from './key-ring.ts';

/** The live signing keys as operators see them, newest first. The keys themselves are not read, so none has to be decrypted. */
export async function listSigningKeys(store: Pick<KeyStore, 'list'>): Promise<readonly SigningKey[]> {
  const stored = (await store.list('token')).toReversed();
  const live = stored.filter(({ retiresAt }) => retiresAt === undefined || retiresAt > now());
  const active = live.find(({ activeAt }) => activeAt <= now());
  return live.map(({ activeAt, createdAt, id, retiresAt }) => {
    const status = id === active?.id ? 'active' : activeAt > now() ? 'next' : 'retired';
    return { id, status, createdAt, activeAt, retiresAt };
  });
}
