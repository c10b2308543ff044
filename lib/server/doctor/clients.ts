import { now } from '../../contracts/clock.ts';
import { isLoopback } from '../../contracts/loopback.ts';
import type { Client, Finding, StoredClient } from '../../contracts/index.ts';
import { NamedClients } from './check.ts';
import type { CheckedServer } from './check.ts';

/** A check of clients, which are added one by one. Its memory does not grow with their number. */
interface ClientCheck {
  add(stored: StoredClient): void;
  findings(): readonly Finding[];
}

const PAGE = 100;
// Secrets are read per client, in parallel queries.
const CONCURRENCY = 10;

/** Checks all clients that are not disabled, one page at a time. */
export async function checkClients(server: CheckedServer): Promise<readonly Finding[]> {
  const checks: readonly ClientCheck[] = [checkRedirectUris(), checkSecrets(), checkNames(server)];
  const { clients } = server.storage;
  for (let after: string | undefined; ;) {
    const page = await clients.list({ after, limit: PAGE });
    const enabled = page.filter(({ disabled }) => !disabled);
    for (let start = 0; start < enabled.length; start += CONCURRENCY) {
      const some = enabled.slice(start, start + CONCURRENCY);
      const stored = await Promise.all(some.map(async (client) => withSecrets(server, client)));
      for (const one of stored) for (const check of checks) if (one) check.add(one);
    }
    if (page.length < PAGE) break;
    after = page.at(-1)!.id;
  }
  return checks.flatMap((check) => check.findings());
}

async function withSecrets({ storage }: CheckedServer, client: Client): Promise<StoredClient | undefined> {
  return client.confidential ? storage.clients.find(client.id) : { client, secrets: [], sequence: 0 };
}

/** Finds names that the gate or the server no longer defines, because they silently have no effect. */
function checkNames({ gate, scopes }: Pick<CheckedServer, 'gate' | 'scopes'>): ClientCheck {
  const kinds = [
    nameCheck('role', gate && ((name) => Object.hasOwn(gate.roles, name))),
    nameCheck('permission', gate && ((name) => gate.has(name))),
    nameCheck('scope', scopes && ((name) => scopes.has(name))),
  ];
  return {
    add({ client: { id, name, roles, permissions, scopes: allowed = [] } }) {
      const names = { role: roles, permission: permissions, scope: allowed };
      for (const { kind, isDefined, clients } of kinds) {
        const unknown = isDefined ? names[kind].find((one) => !isDefined(one)) : undefined;
        if (unknown !== undefined) clients.add({ id, name }, unknown);
      }
    },
    findings: () => kinds.flatMap(({ kind, clients }) => unknownName(kind, clients)),
  };
}

type Kind = 'role' | 'permission' | 'scope';

/** @param isDefined - `undefined`: the defined names are not known, so that none is reported */
function nameCheck(
  kind: Kind,
  isDefined: ((name: string) => boolean) | undefined,
): { kind: Kind; isDefined: typeof isDefined; clients: NamedClients } {
  return { kind, isDefined, clients: new NamedClients() };
}

function unknownName(kind: Kind, clients: NamedClients): Finding[] {
  if (clients.count === 0) return [];
  return [
    {
      code: `${kind}_unknown`,
      severity: 'warning',
      message: `Clients have a ${kind} that the ${kind === 'scope' ? 'server' : 'gate'} does not define: ${clients.toString()}.`,
      remedy: `Define the ${kind} again, or remove it from the client with \`gatehouse client ${kind === 'scope' ? 'update' : 'permissions'}\`.`,
    },
  ];
}

/** Finds redirect URIs with http, over which the network can read authorization codes. */
function checkRedirectUris(): ClientCheck {
  const insecure = new NamedClients();
  return {
    add({ client }) {
      const uri = client.redirectUris.find(isInsecure);
      if (uri !== undefined) insecure.add(client, uri);
    },
    findings() {
      if (insecure.count === 0) return [];
      return [
        {
          code: 'redirect_uri_insecure',
          severity: 'warning',
          message: `Authorization codes are sent over http, without encryption: ${insecure.toString()}.`,
          remedy: 'Serve those apps over https and change the redirect URI with `gatehouse client update`.',
        },
      ];
    },
  };
}

function isInsecure(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && !isLoopback(url.hostname);
}

// In seconds: two weeks to deploy a new secret.
const SOON = 14 * 86_400;

/** Finds confidential clients without keys whose last secret has expired or expires soon, and those with keys and secrets. */
function checkSecrets(): ClientCheck {
  const without = new NamedClients();
  const expiring = new NamedClients();
  const both = new NamedClients();
  return {
    add({ client, secrets }) {
      if (!client.confidential) return;
      const lastExpiry = Math.max(0, ...secrets.map(({ expiresAt = Infinity }) => expiresAt));
      if (client.keys) {
        if (lastExpiry > now()) both.add(client, '');
        return;
      }
      if (lastExpiry <= now()) without.add(client, secrets.length > 0 ? `since ${day(lastExpiry)}` : '');
      else if (lastExpiry <= now() + SOON) expiring.add(client, day(lastExpiry));
    },
    findings: () => [...withoutSecret(without), ...expiresSoon(expiring), ...besidesKeys(both)],
  };
}

function day(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

function withoutSecret(clients: NamedClients): Finding[] {
  if (clients.count === 0) return [];
  return [
    {
      code: 'client_without_secret',
      severity: 'warning',
      message: `Confidential clients without a valid secret get no tokens: ${clients.toString()}.`,
      remedy: 'Add one with `gatehouse client secrets add`, or disable the client.',
    },
  ];
}

function expiresSoon(clients: NamedClients): Finding[] {
  if (clients.count === 0) return [];
  return [
    {
      code: 'secret_expires_soon',
      severity: 'warning',
      message: `The last valid secret expires within two weeks: ${clients.toString()}.`,
      remedy: 'Add another with `gatehouse client secrets add` and give it to the app.',
    },
  ];
}

function besidesKeys(clients: NamedClients): Finding[] {
  if (clients.count === 0) return [];
  return [
    {
      code: 'secret_besides_keys',
      severity: 'warning',
      message: `Clients with keys also have valid secrets, so that a stolen secret is enough: ${clients.toString()}.`,
      remedy: 'When the app uses its keys, delete them with `gatehouse client secrets delete`.',
    },
  ];
}
