import type { PruneClients } from '../feature.ts';
import { registrationStore } from './store.ts';

/** Deletes apps that have registered themselves and are unused. */
export const deleteUnused: PruneClients = async (storage, at, limit) =>
  (await storage.store('registrations', registrationStore)).deleteUnused(at, limit);
