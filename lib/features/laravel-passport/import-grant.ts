import { consentScopes } from '../../clients/consents.ts';
import type { ScopeLimit } from '../../clients/consents.ts';
import { isOnDevice } from '../../clients/redirect-uris.ts';
import { now } from '../../contracts/clock.ts';
import type { Client, Consent, Credential, Grant, Seconds } from '../../contracts/index.ts';
import { StorageError } from '../../errors.ts';
import type { CoreBase } from '../core.ts';
import { disconnectionId, mapScopes, sequenceAt } from './identifiers.ts';
import type { PassportSettings } from './options.ts';
import type { PassportStore } from './types.ts';

/** A token of Passport as this server stores it: a grant with its first credential. */
export interface Importable {
  readonly grant: Grant;
  readonly credential: Credential;
  /** Whether the token is live at Passport. */
  readonly isLive: () => Promise<boolean>;
  /** The access token, or the access token that the refresh token belongs to: whoever ends it here has ended both. */
  readonly accessTokenId: string;
  /** Whether Passport has no row that shows the user of the token. */
  readonly isOrphan: boolean;
}

/** Completes what is known of a token of Passport. */
export function importable(
  grant: Omit<Grant, 'origin' | 'revokedAt' | 'sessionUid'>,
  {
    credential,
    ...rest
  }: Pick<Importable, 'accessTokenId' | 'isLive' | 'isOrphan'> & {
    readonly credential: Pick<Credential, 'consumedAt' | 'id' | 'kind' | 'payload'>;
  },
): Importable {
  const { expiresAt, id: grantId } = grant;
  return {
    grant: { ...grant, revokedAt: undefined, origin: undefined, sessionUid: undefined },
    credential: { ...credential, grantId, expiresAt, sealedSuccessor: undefined },
    ...rest,
  };
}

/**
 * Stores the grant of a token of Passport with the consent that it stands for. Resolves to `imported` when this call has stored it, to
 * `known` when another call was first, and to `undefined` when its user has disconnected the client, or the token is not live any more.
 */
export type ImportGrant = (token: Importable) => Promise<'imported' | 'known' | undefined>;

/** The consents that users have given at Passport. */
export interface PassportConsents {
  /** Imports the consents of a user that are not stored yet, for all clients or for one. */
  readonly importOf: (userId: string, clientId?: string) => Promise<void>;
  readonly importGrant: ImportGrant;
  /** Whether `importGrant` would store a token that is live at Passport. Changes nothing. */
  readonly isImportable: (token: Importable) => Promise<boolean>;
}

/**
 * Makes the functions that import grants and consents.
 *
 * A disconnection stores an end, revokes the grants, and deletes the consent. Until Passport is told, the stored end shows the
 * disconnection: its reader marks the tokens at Passport or, where nothing can be written there, stores a mark here, and removes the end
 * afterwards. An import goes the other way: it stores the consent, then looks for the end, then checks that the token is live, and then
 * stores the grant if the consent is still there. Whatever the order, no grant survives the disconnection.
 */
export function createConsents(
  { options, storage }: Pick<CoreBase, 'options' | 'storage'>,
  {
    isWritable,
    settings: { source, until },
    store,
  }: {
    readonly isWritable: boolean;
    readonly settings: PassportSettings;
    readonly store: Pick<PassportStore, 'hasEnded'>;
  },
): PassportConsents {
  const { clients, consents, grants, revocations } = storage;
  const api = options.resources.get(options.issuer)!;

  /** Whether the user has disconnected the client, or the user, the token, the client or all were ended, since a token was issued. */
  async function isEnded({
    accessTokenId = '',
    grant: { clientId, sequence, userId },
    isOrphan = false,
  }: Ended): Promise<boolean> {
    // Where Passport's rows are marked, the rows show the disconnection, which does not concern tokens that Passport issues afterwards.
    const mark = isWritable && !isOrphan ? undefined : disconnectionId(userId, clientId);
    return (
      (await store.hasEnded({ userId, clientId, sequence, mark })) ||
      !(await revocations.isValid({ id: accessTokenId, clientId, grant: undefined, sequence }))
    );
  }

  /** @returns whether the consent was not stored before */
  async function addConsent(
    client: Client,
    { sequence, userId }: Pick<Grant, 'sequence' | 'userId'>,
    { limits, since }: { readonly limits: readonly ScopeLimit[]; readonly since: Seconds },
  ): Promise<boolean> {
    if (await consents.find(userId, client.id)) return false;
    const scopes = [...new Set(limits.flatMap((limit) => consentScopes({ limit })))].toSorted();
    const hosts = hostsOf(client).map((host) => [host, scopes] as const);
    const consent: Consent = {
      userId,
      clientId: client.id,
      scopes,
      hosts: Object.fromEntries(hosts),
      createdAt: since,
      updatedAt: now(),
      lastUsedAt: undefined,
    };
    // With the sequence, nothing is stored for a user who was ended since, and perhaps erased: where Passport's rows are not marked, only
    // the sequence shows that.
    await consents.add(consent, sequence);
    return true;
  }

  async function importOne(
    userId: string,
    connection: {
      readonly clientId: string;
      readonly limits: readonly ScopeLimit[];
      readonly since: Seconds;
    },
  ): Promise<void> {
    const { clientId, since } = connection;
    const stored = await clients.find(clientId);
    const grant = { userId, clientId, sequence: sequenceAt(since) };
    if (!stored || (await isEnded({ grant }))) return;
    const isAdded = await addConsent(stored.client, grant, connection);
    // The user may have disconnected the client since its tokens were read.
    const isLive = !(await isEnded({ grant })) && (await source.authorizations(userId, clientId)).length > 0;
    if (isAdded && !isLive) await consents.delete(userId, clientId);
  }

  return {
    async importOf(userId, clientId) {
      if (now() >= until) return;
      const known = new Set((await consents.list(userId)).map((consent: Consent) => consent.clientId));
      for (const connection of await source.authorizations(userId, clientId)) {
        if (known.has(connection.clientId)) continue;
        const limits = connection.scopes.map((names) => mapScopes(names, api));
        await importOne(userId, { ...connection, limits });
      }
    },
    async isImportable(token) {
      return Boolean(await clients.find(token.grant.clientId)) && !(await isEnded(token));
    },
    async importGrant(token) {
      const { credential, grant, isLive } = token;
      const { clientId, id, scopes, userId } = grant;
      const stored = await clients.find(clientId);
      if (!stored || (await isEnded(token))) return undefined;
      const [known] = await source.authorizations(userId, clientId);
      const limits = known?.scopes.map((names) => mapScopes(names, api)) ?? [scopes];
      const isAdded = await addConsent(stored.client, grant, {
        limits,
        since: known?.since ?? grant.createdAt,
      });
      const consent = await consents.find(userId, clientId);
      if (!consent) return undefined;
      if ((await isEnded(token)) || !(await isLive())) {
        // Another request may have stored the grant, and then claimed the token.
        if (isAdded && !(await grants.find(id))) await consents.delete(userId, clientId);
        return undefined;
      }
      try {
        return (await grants.insert(grant, credential, { consent })) ? 'imported' : undefined;
      } catch (error) {
        // Another request may have stored the grant.
        if (error instanceof StorageError && (await grants.find(id))) return 'known';
        throw error;
      }
    },
  };
}

/** A token, or a consent to a client without a token of its own. */
type Ended = Partial<Pick<Importable, 'accessTokenId' | 'isOrphan'>> & {
  readonly grant: Pick<Grant, 'clientId' | 'sequence' | 'userId'>;
};

/** The hosts for which the user has consented at Passport: those of the redirect URIs for which this server remembers a consent. */
function hostsOf({ redirectUris }: Client): readonly string[] {
  return [...new Set(redirectUris.filter((uri) => !isOnDevice(uri)).map((uri) => new URL(uri).origin))];
}
