/** The signing keys of a server, with times in seconds since 1970. */
interface ListedKeys {
  list(): readonly { readonly status: string; readonly createdAt: number; readonly activeAt: number }[];
}

/** For how long the active signing key has been signing, in seconds; `undefined`: there is none. */
export function signingKeyAge(keys: ListedKeys): number | undefined {
  const active = keys.list().find(({ status }) => status === 'active');
  // The first key of a storage has the `activeAt` 0.
  return active && Math.round(Date.now() / 1000) - Math.max(active.createdAt, active.activeAt);
}
