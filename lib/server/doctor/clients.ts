import { toDate } from '../../contracts/duration.ts';
import { now } from '../../contracts/clock.ts';
import type { Client, Seconds, StoredClient } from '../../contracts/index.ts';
import { warning } from '../../findings/finding.ts';
import type { Findings } from '../../findings/finding.ts';
import type { CheckedServer } from './check.ts';

/** The problems that clients can have: the message, which names the clients after it, and the remedy. */
const PROBLEMS = {
  client_without_secret: {
    message: 'Confidential clients without a valid secret get no tokens',
    remedy: 'Add one with `gatehouse client secrets add`, or disable the client.',
  },
  secret_expires_soon: {
    message: 'The last valid secret expires within two weeks',
    remedy: 'Add another with `gatehouse client secrets add` and give it to the app.',
  },
  secret_besides_keys: {
    message: 'Clients with keys also have valid secrets, so that a stolen secret is enough',
    remedy: 'When the app uses its keys, delete them with `gatehouse client secrets delete`.',
  },
  // These names silently have no effect.
  role_unknown: {
    message: 'Clients have a role that the gate does not define',
    remedy: 'Define the role again, or remove it from the client with `gatehouse client permissions`.',
  },
  permission_unknown: {
    message: 'Clients have a permission that the gate does not define',
    remedy: 'Define the permission again, or remove it from the client with `gatehouse client permissions`.',
  },
  scope_unknown: {
    message: 'Clients have a scope that the server does not define',
    remedy: 'Define the scope again, or remove it from the client with `gatehouse client update`.',
  },
} as const;

type ClientProblem = keyof typeof PROBLEMS;

const PAGE = 100;
// Secrets are read per client, in parallel queries.
const CONCURRENCY = 10;

/** Checks all clients that are not disabled, one page at a time. The memory does not grow with their number. */
export async function* checkClients(server: CheckedServer): Findings {
  const affected = new Map<ClientProblem, NamedClients>();
  const { clients } = server.storage;
  for (let after: string | undefined; ;) {
    const page = await clients.list({ after, limit: PAGE });
    const enabled = page.filter(({ disabled }) => !disabled);
    for (let start = 0; start < enabled.length; start += CONCURRENCY) {
      const some = enabled.slice(start, start + CONCURRENCY);
      const stored = await Promise.all(some.map(async (client) => withSecrets(server, client)));
      for (const one of stored) if (one) addProblems(affected, one, server);
    }
    if (page.length < PAGE) break;
    after = page.at(-1)!.id;
  }
  for (const [code, { message, remedy }] of Object.entries(PROBLEMS)) {
    const named = affected.get(code as ClientProblem);
    if (named) yield warning(code, `${message}: ${named.toString()}.`, remedy);
  }
}

async function withSecrets({ storage }: CheckedServer, client: Client): Promise<StoredClient | undefined> {
  return client.confidential ? storage.clients.find(client.id) : { client, secrets: [], sequence: 0 };
}

function addProblems(
  affected: Map<ClientProblem, NamedClients>,
  stored: StoredClient,
  server: CheckedServer,
): void {
  for (const [code, detail] of [...problemsOf(stored), ...unknownNames(stored.client, server)]) {
    const named = affected.get(code) ?? new NamedClients();
    affected.set(code, named);
    named.add(stored.client, detail);
  }
}

/** A problem of a client, with the detail that the message names besides the client. */
type Found = readonly [code: ClientProblem, detail: string];

// Two weeks to deploy a new secret.
const SOON: Seconds = 14 * 86_400;

function* problemsOf({ client, secrets }: StoredClient): Iterable<Found> {
  if (!client.confidential) return;

  const lastExpiry = Math.max(0, ...secrets.map(({ expiresAt = Infinity }) => expiresAt));
  if (client.keys) {
    if (lastExpiry > now()) yield ['secret_besides_keys', ''];
  } else if (lastExpiry <= now()) {
    yield ['client_without_secret', secrets.length > 0 ? `since ${day(lastExpiry)}` : ''];
  } else if (lastExpiry <= now() + SOON) {
    yield ['secret_expires_soon', day(lastExpiry)];
  }
}

function day(seconds: Seconds): string {
  return toDate(seconds).toISOString().slice(0, 10);
}

/** Finds names that the gate or the server no longer defines, of each kind the first one. */
function* unknownNames(
  { permissions, roles, scopes: allowed = [] }: Client,
  { gate, scopes }: Pick<CheckedServer, 'gate' | 'scopes'>,
): Iterable<Found> {
  const role = gate && roles.find((name) => !Object.hasOwn(gate.roles, name));
  if (role !== undefined) yield ['role_unknown', role];
  const permission = gate && permissions.find((name) => !gate.has(name));
  if (permission !== undefined) yield ['permission_unknown', permission];
  const scope = scopes && allowed.find((name) => !scopes.has(name));
  if (scope !== undefined) yield ['scope_unknown', scope];
}

// Limited, so that a message fits a screen whatever the number of clients.
const MOST_NAMED = 3;

/** The clients of a finding, for its message. Stores the first names only, and the count of all. */
class NamedClients {
  readonly #names: string[] = [];
  #count = 0;

  add({ id, name }: Pick<Client, 'id' | 'name'>, detail: string): void {
    this.#count += 1;
    if (this.#names.length < MOST_NAMED) this.#names.push(`"${name}" (${id}${detail && `, ${detail}`})`);
  }

  /** Such as `"Reports" (7)`, or `"Reports" (7), "Mail" (8), "Shop" (9) and 12 more`. */
  toString(): string {
    const more = this.#count - this.#names.length;
    return this.#names.join(', ') + (more > 0 ? ` and ${more} more` : '');
  }
}
