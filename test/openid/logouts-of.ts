import type { Storage } from '../../lib/contracts/index.ts';
import { logoutStore } from '../../lib/features/openid/store.ts';
import type { LogoutStore } from '../../lib/features/openid/types.ts';

/** The clients that have to be told of logouts. */
export const logoutsOf = (storage: Storage): LogoutStore =>
  storage.store('logouts', logoutStore) as LogoutStore;
