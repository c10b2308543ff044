import { now } from '../contracts/clock.ts';
import type { Client, ClientSecret, Finding, StoredClient } from '../contracts/index.ts';
import { NamedClients } from './check.ts';
import type { CheckedServer } from './check.ts';

/** Sees one client after the other, and tells in the end what it found. Remembers a few of them at most. */
export interface ClientLook {
  see(stored: StoredClient): void;
  findings(): readonly Finding[];
}

const PAGE = 100;
// Secrets are read client by client; a database server answers some at a time.
const AT_ONCE = 10;

/** Walks through the clients that are not disabled, a page at a time. */
export async function checkClients(server: CheckedServer): Promise<readonly Finding[]> {
  const looks: readonly ClientLook[] = [lookAtRedirectUris(), lookAtSecrets(), lookAtNames(server)];
  const { clients } = server.storage;
  for (let after: string | undefined; ;) {
    const page = await clients.list({ after, limit: PAGE });
    const enabled = page.filter(({ disabled }) => !disabled);
    for (let start = 0; start < enabled.length; start += AT_ONCE) {
      const some = enabled.slice(start, start + AT_ONCE);
      const stored = await Promise.all(some.map(async (client) => withSecrets(server, client)));
      for (const one of stored) for (const look of looks) if (one) look.see(one);
    }
    if (page.length < PAGE) break;
    after = page.at(-1)!.id;
  }
  return looks.flatMap((look) => look.findings());
}

async function withSecrets({ storage }: CheckedServer, client: Client): Promise<StoredClient | undefined> {
  return client.confidential ? storage.clients.find(client.id) : { client, secrets: [], sequence: 0 };
}

/** Names that the gate or the server has lost: nobody is told when they no longer give anything. */
function lookAtNames({ gate, scopes }: Pick<CheckedServer, 'gate' | 'scopes'>): ClientLook {
  const found = [
    lookForNames('role', gate && ((name) => Object.hasOwn(gate.roles, name))),
    lookForNames('permission', gate && ((name) => gate.has(name))),
    lookForNames('scope', scopes && ((name) => scopes.has(name))),
  ];
  return {
    see({ client: { id, name, roles, permissions, scopes: allowed = [] } }) {
      const held = { role: roles, permission: permissions, scope: allowed };
      for (const { kind, known, clients } of found) {
        const unknown = known ? held[kind].find((one) => !known(one)) : undefined;
        if (unknown !== undefined) clients.add({ id, name }, unknown);
      }
    },
    findings: () => found.flatMap(({ kind, clients }) => unknownName(kind, clients)),
  };
}

type Kind = 'role' | 'permission' | 'scope';

/** @param known - `undefined`: nobody knows the names, so none is looked at */
function lookForNames(
  kind: Kind,
  known: ((name: string) => boolean) | undefined,
): { kind: Kind; known: typeof known; clients: NamedClients } {
  return { kind, known, clients: new NamedClients() };
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

/** Codes that travel over http can be read on the way. Loopback addresses never leave the machine. */
function lookAtRedirectUris(): ClientLook {
  const insecure = new NamedClients();
  return {
    see({ client }) {
      const uri = client.redirectUris.find(leavesTheMachineInClear);
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

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

function leavesTheMachineInClear(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'http:' && !LOOPBACK.test(url.hostname);
}

// In seconds: two weeks to give an app a new secret.
const SOON = 14 * 86_400;

/** A confidential client needs a secret that lives. One that has expired beside one that lives harms nobody. */
function lookAtSecrets(): ClientLook {
  const without = new NamedClients();
  const expiring = new NamedClients();
  return {
    see({ client, secrets }) {
      if (!client.confidential) return;
      const ends = Math.max(0, ...secrets.map(endOf));
      if (ends <= now()) without.add(client, secrets.length > 0 ? `since ${day(ends)}` : '');
      else if (ends <= now() + SOON) expiring.add(client, day(ends));
    },
    findings: () => [...withoutSecret(without), ...expiresSoon(expiring)],
  };
}

function endOf({ expiresAt }: ClientSecret): number {
  return expiresAt ?? Infinity;
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
