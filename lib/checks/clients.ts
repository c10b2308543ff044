import type { Client, Finding, StoredClient } from '../contracts.ts';
import type { CheckSubject } from './check.ts';
import { lookAtNames } from './client-names.ts';
import { lookAtRedirectUris } from './client-redirect-uris.ts';
import { lookAtSecrets } from './client-secrets.ts';

/** Sees one client after the other, and tells in the end what it found. Remembers a few of them at most. */
export interface ClientLook {
  see(stored: StoredClient): void;
  findings(): readonly Finding[];
}

const PAGE = 100;
// Secrets are read client by client; a database server answers some at a time.
const AT_ONCE = 10;

/** Walks through the clients that are not disabled, a page at a time. */
export async function checkClients(subject: CheckSubject): Promise<readonly Finding[]> {
  const looks: readonly ClientLook[] = [lookAtRedirectUris(), lookAtSecrets(), lookAtNames(subject)];
  const { clients } = subject.storage;
  for (let after: string | undefined; ;) {
    const page = await clients.list({ after, limit: PAGE });
    const enabled = page.filter(({ disabled }) => !disabled);
    for (let start = 0; start < enabled.length; start += AT_ONCE) {
      const some = enabled.slice(start, start + AT_ONCE);
      const stored = await Promise.all(some.map(async (client) => withSecrets(subject, client)));
      for (const one of stored) for (const look of looks) if (one) look.see(one);
    }
    if (page.length < PAGE) break;
    after = page.at(-1)!.id;
  }
  return looks.flatMap((look) => look.findings());
}

async function withSecrets({ storage }: CheckSubject, client: Client): Promise<StoredClient | undefined> {
  return client.confidential ? storage.clients.find(client.id) : { client, secrets: [], sequence: 0 };
}
