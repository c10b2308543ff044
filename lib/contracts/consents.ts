import type { Seconds } from './duration.ts';

/** The consent of a user for a client, given on the consent page: one per user and client, for all sessions and browsers. */
export interface Consent {
  readonly userId: string;
  readonly clientId: string;
  /**
   * The scopes consented to so far, unique and sorted. An empty name means a request without scopes: all that the user may do. A scope of
   * an API other than the default has the URL of the API and a space in front.
   */
  readonly scopes: readonly string[];
  /**
   * The scopes consented to by redirect host. A host is an origin such as `https://reports.example`, the URI scheme of an installed app
   * such as `com.example.reports:`, or `device:` for the device authorization grant. The scopes of a list are unique and sorted; an empty
   * list means a request that named no scope and permitted nothing. For a host without an entry, the user has not been asked. Each API
   * other than the default has entries of its own, with the URL of the API and a space in front of the host.
   */
  readonly hosts: Readonly<Record<string, readonly string[]>>;
  readonly createdAt: Seconds;
  readonly updatedAt: Seconds;
  /** When the client last acted for the user, to the hour. */
  readonly lastUsedAt: Seconds | undefined;
}

/** An app that somebody else than the user lets act for the user, as if it were a consent of the user. */
export interface AllowedApp extends Pick<Consent, 'clientId' | 'createdAt' | 'lastUsedAt' | 'scopes'> {
  /** Who: the host of a site. */
  readonly by: string;
}

/** Stores consents: the `consents` of a {@link Storage}. */
export interface ConsentStore {
  /** Finds the consent of a user for a client. */
  find(userId: string, clientId: string): Promise<Consent | undefined>;
  /**
   * Inserts a consent, or adds its scopes, and the scopes of each host, to the stored one, which keeps its `createdAt` and `lastUsedAt`
   * and gets the later `updatedAt`. Concurrent calls are all stored, and a call does not restore what was deleted before it.
   *
   * @param sequence - `RevocationStore.latestSequence` at the login in which the consent is given. When the user was ended after it,
   * nothing is stored. @default the consent is stored in any case
   */
  add(consent: Consent, sequence?: number): Promise<void>;
  /** Records that the client acted for the user. May lose a record; no request waits for it. */
  touch(userId: string, clientId: string, at: Seconds): Promise<void>;
  /** Deletes a consent. Resolves to `false` when there was none. The grants stay; the caller revokes them with `GrantStore.revoke`. */
  delete(userId: string, clientId: string): Promise<boolean>;
  /** Deletes all consents of all users, in batches. Resolves to their number. */
  deleteAll(): Promise<number>;
  /** Lists all consents of a user, oldest first. */
  list(userId: string): Promise<readonly Consent[]>;
}

/** What the first consent is merged with. */
export const NO_SCOPES: Pick<Consent, 'scopes' | 'hosts'> = { scopes: [], hosts: {} };

/** A consent with its scopes and the scopes of the stored consent, as {@link ConsentStore.add} stores it. */
export function mergeConsents(before: Pick<Consent, 'scopes' | 'hosts'>, consent: Consent): Consent {
  const names = [...new Set([...Object.keys(before.hosts), ...Object.keys(consent.hosts)])].toSorted();
  const hosts = names.map((name) => [name, sorted(before.hosts[name], consent.hosts[name])]);
  return { ...consent, scopes: sorted(before.scopes, consent.scopes), hosts: Object.fromEntries(hosts) };
}

function sorted(before: readonly string[] = [], scopes: readonly string[] = []): readonly string[] {
  return [...new Set([...before, ...scopes])].toSorted();
}
