import type { Storage } from './storage.ts';

/**
 * For a call that ends something. Resolves to what the call has found, or to whether it has ended anything. When it has found nothing, an
 * earlier call may have ended it, and then failed because it was not known whether the end lasts. In that case this waits until the end
 * is sure to last: before, a success or "not found" would say more than is known.
 *
 * @throws StorageError when it is not known whether what was ended stays so, see {@link Storage.confirm}
 */
export async function confirmAbsence<T>(storage: Pick<Storage, 'confirm'>, finding: Promise<T>): Promise<T> {
  const found = await finding;
  if (found === undefined || found === false) await storage.confirm();
  return found;
}
