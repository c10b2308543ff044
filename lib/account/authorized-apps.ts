import { consentsByResource } from '../clients/consents.ts';
import type { ConsentedAccess, ImportConsents } from '../clients/consents.ts';
import { now } from '../contracts/clock.ts';
import { confirmAbsence } from '../contracts/confirm-absence.ts';
import type {
  AllowedApp,
  AuditLog,
  AuditOrigin,
  AuditRecord,
  AuthorizedApp,
  AuthorizedApps,
  Client,
  Consent,
  Seconds,
  Storage,
  ToolUse,
  UsableGrant,
  User,
} from '../contracts/index.ts';

/** What `createAuthorizedApps()` takes. */
export interface AuthorizedAppsPorts {
  readonly storage: Pick<Storage, 'clients' | 'confirm' | 'consents' | 'grants'>;
  /** The server's issuer, which is the default API. */
  readonly issuer: string;
  /** The APIs with their scopes, by URL. */
  readonly resources: ReadonlyMap<string, DescribedResource>;
  /** The scopes about who the user is; `undefined` when no client can learn that. */
  readonly aboutUser: (Pick<DescribedResource, 'scopes'> & { readonly resource: string }) | undefined;
  readonly audit: Pick<AuditLog, 'record' | 'list'>;
  /** Find the apps that somebody else than the user has allowed. */
  readonly allowed: readonly ((userId: string) => Promise<readonly AllowedApp[]>)[];
  /** `undefined` when all consents are stored. */
  readonly importConsents?: ImportConsents | undefined;
}

interface DescribedResource {
  readonly name: string;
  readonly scopes: ReadonlyMap<string, { readonly description: string }>;
}

/** Creates the function that lists and revokes the authorized apps of a user. */
export function createAuthorizedApps({
  allowed,
  audit,
  importConsents,
  issuer,
  aboutUser,
  resources,
  storage,
}: AuthorizedAppsPorts): (user: Pick<User, 'id'>, origin?: Omit<AuditOrigin, 'actorId'>) => AuthorizedApps {
  const { clients, consents, grants } = storage;

  async function describe(
    app: ListedApp,
    {
      calls,
      granted: all,
    }: {
      readonly calls: readonly AuditRecord[];
      readonly granted: readonly UsableGrant[];
    },
  ): Promise<AuthorizedApp | undefined> {
    const stored = await clients.find(app.clientId);
    if (!stored) return undefined;
    const { client } = stored;
    const granted = consentsByResource(app);
    const usable = all.filter((grant) => grant.clientId === client.id);
    return {
      client,
      ...describeScopes(granted.find(({ resource }) => resource === undefined) ?? NOTHING, client),
      resources: granted.flatMap(({ limit, resource }) =>
        resource === undefined
          ? []
          : [
              {
                resource,
                name: resources.get(resource)?.name ?? resource,
                ...describeScopes({ limit }, client, resource),
              },
            ],
      ),
      allowedBy: app.allowedBy,
      createdAt: app.createdAt,
      lastUsedAt: app.lastUsedAt,
      tools: toolsOf(client.id, calls),
      grants: usable.slice(0, MOST_GRANTS).map(({ createdAt, id, lastUsedAt, origin }) => ({
        id,
        createdAt,
        lastUsedAt,
        origin,
      })),
      moreGrants: usable.length > MOST_GRANTS,
    };
  }

  function describeScopes(
    { limit }: Pick<ConsentedAccess, 'limit'>,
    client: Client,
    resource?: string,
  ): Pick<AuthorizedApp, 'scopes'> {
    const isAboutUser = aboutUser !== undefined && resource === aboutUser.resource;
    const known = (isAboutUser ? aboutUser : resources.get(resource ?? issuer))?.scopes;
    const ofClient = client.scopes?.filter((name) =>
      resource === undefined ? aboutUser?.scopes.has(name) !== true : known?.has(name),
    );
    const names = limit ?? ofClient;
    // In the order in which they are defined, the most important ones first, and those that no longer are by their names behind them.
    const order = [...(known?.keys() ?? [])];
    const placeOf = (name: string): number => (known?.has(name) ? order.indexOf(name) : order.length);
    return {
      scopes: names
        ?.toSorted((one, other) => placeOf(one) - placeOf(other))
        .map((name) => ({
          name,
          description: known?.get(name)?.description ?? name,
          aboutUser: isAboutUser,
        })),
    };
  }

  return function authorizedAppsOf(user, origin = {}) {
    return {
      async list() {
        await importConsents?.(user.id);
        const [found, ofOthers, called, read, granted] = await Promise.all([
          consents.list(user.id),
          Promise.all(allowed.map(async (allowedFor) => allowedFor(user.id))),
          audit.list({ userId: user.id, types: ['tool_called'], limit: LATEST_CALLS }),
          audit.list({ userId: user.id, types: ['tool_read'], limit: LATEST_CALLS }),
          grants.list(user.id, { now: now(), limit: MOST_GRANTS + 1 }),
        ]);
        const described = await Promise.all(
          listed(found, ofOthers.flat()).map(async (app) =>
            describe(app, { calls: [...called, ...read], granted }),
          ),
        );
        return described.filter((app) => app !== undefined);
      },
      async revoke(clientId) {
        if (!isId(clientId)) return false;
        const consent = await consents.find(user.id, clientId);
        const at = now();
        // Revokes the grants before it deletes the consent: after a crash in between, the app is still listed and can be disconnected
        // again.
        const revoked = await grants.revoke({ userId: user.id, clientId }, at);
        const removed = await consents.delete(user.id, clientId);
        // Again, because a concurrent authorization may have read the consent and created a grant between the two writes.
        const late = await grants.revoke({ userId: user.id, clientId }, at);
        const isEnded = removed || revoked.length + late.length > 0;
        // A concurrent request that has removed the consent records this event itself.
        if (consent ? removed : isEnded) {
          const scopes = consent ? namedScopes(consent) : [];
          audit.record(
            { type: 'consent_withdrawn', userId: user.id, clientId, scopes },
            { ...origin, actorId: user.id },
          );
        }
        return isEnded;
      },
      async revokeGrant(clientId, grantId) {
        if (!isId(grantId)) return false;
        const grant = await confirmAbsence(storage, grants.find(grantId));
        if (grant?.userId !== user.id || grant.clientId !== (clientId ?? grant.clientId)) return false;
        const revoked = await grants.revoke({ id: grant.id }, now());
        if (revoked.length === 0) return false;
        audit.record(
          {
            type: 'tokens_revoked',
            target: 'grant',
            clientId: grant.clientId,
            userId: user.id,
            grantId: grant.id,
          },
          { ...origin, actorId: user.id },
        );
        return true;
      },
    };
  };
}

/** What an app may do, whoever has allowed it. */
interface ListedApp extends Pick<Consent, 'clientId' | 'createdAt' | 'hosts' | 'lastUsedAt' | 'scopes'> {
  readonly allowedBy: AuthorizedApp['allowedBy'];
}

/** The consents of a user, and what others have allowed: each app once, in the order in which they were first allowed. */
function listed(consents: readonly Consent[], ofOthers: readonly AllowedApp[]): readonly ListedApp[] {
  const byClient = new Map(
    consents.map((consent): [string, ListedApp] => [consent.clientId, { ...consent, allowedBy: [] }]),
  );
  for (const { by, clientId, createdAt, lastUsedAt, scopes } of ofOthers) {
    const before = byClient.get(clientId);
    byClient.set(clientId, {
      clientId,
      createdAt: Math.min(createdAt, before?.createdAt ?? createdAt),
      hosts: before?.hosts ?? {},
      lastUsedAt: latest(before?.lastUsedAt, lastUsedAt),
      scopes: [...new Set([...(before?.scopes ?? []), ...scopes])].toSorted(),
      allowedBy: [...new Set([...(before?.allowedBy ?? []), by])],
    });
  }
  return [...byClient.values()].toSorted((one, other) => one.createdAt - other.createdAt);
}

function latest(...times: readonly (Seconds | undefined)[]): Seconds | undefined {
  const known = times.filter((at) => at !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}

/** Whether a text of a request can be an id: PostgreSQL refuses a NUL character in text. */
function isId(text: string): boolean {
  return text.length <= 255 && !text.includes('\0');
}

// The grants of one app that are listed: a site to which the user signs in every day has one for each time.
const MOST_GRANTS = 50;

// The tool calls that are read, for all apps of a user: calls of one app may be missing while another app makes many. The number is per
// type, so that an app cannot push a change off the page by reading.
const LATEST_CALLS = 200;

/** Each tool once, the last used one first. */
function toolsOf(clientId: string, calls: readonly AuditRecord[]): readonly ToolUse[] {
  const lastUses = new Map<string, ToolUse>();
  for (const call of calls.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))) {
    const isOfApp = 'tool' in call && call.clientId === clientId;
    if (isOfApp && !lastUses.has(call.tool)) lastUses.set(call.tool, { name: call.tool, at: call.at });
  }
  return [...lastUses.values()];
}

// The user has consented to requests for other APIs only.
const NOTHING = { limit: [] };

/** The scopes of a consent, for the audit event. An API at which the consent is unlimited has none. */
function namedScopes(consent: Consent): readonly string[] {
  return [...new Set(consentsByResource(consent).flatMap(({ limit }) => limit ?? []))];
}
