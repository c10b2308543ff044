import type { Connection } from '../../lib/contracts/index.ts';
import { queryText } from '../query.ts';
import { printable, sentence } from '../sentence.ts';
import { describeViewer } from '../viewer.ts';
import type { Visit } from './visit.ts';
import type { ConnectionRow } from './views.ts';

/** Lists the apps that a person has authorized: what each may do, since when, and when it last did. */
export async function listConnections(visit: Visit): Promise<void> {
  const { ctx, site, user } = visit;
  const { brand, count, flow, show, text } = site;
  const connections = await flow.connections(ctx, user).list();
  show(ctx, {
    view: 'connections/list',
    wide: true,
    viewer: await describeViewer(ctx, user, site),
    heading: sentence(text['connections.heading']),
    lead:
      connections.length > 0
        ? count('connections.lead', connections.length, { brand })
        : sentence(text['connections.none'], { brand }),
    done:
      queryText(ctx, 'done') === 'disconnected' ? sentence(text['connections.done.disconnected']) : undefined,
    connections: connections.map((connection) => describe(connection, visit)),
  });
}

function describe(
  { client, createdAt, lastUsedAt, limited, scopes }: Connection,
  { home, site }: Visit,
): ConnectionRow {
  const { clock, nameOf } = site;
  return {
    name: printable(client.name),
    scopes: scopes.map((scope) => nameOf('scope', scope)),
    limited,
    since: clock.day(createdAt),
    lastUsed: lastUsedAt === undefined ? undefined : clock.day(lastUsedAt),
    isDisabled: client.disabled,
    disconnect: `${home}/${encodeURIComponent(client.id)}/disconnect`,
  };
}
