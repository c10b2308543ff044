import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import type { Connection, InteractionFlow, User } from '../lib/contracts/index.ts';
import { queryText, seeOther } from './navigation.ts';
import type { ConnectionRow } from './page.ts';
import { printable, sentence } from './sentence.ts';
import type { Site, SiteFor } from './site.ts';
import { describeViewer, signedIn } from './viewer.ts';

/**
 * Routes people's connected apps.
 *
 * @param view - in front of every page
 * @param form - in front of every form that is posted
 */
export function connectionRoutes(
  { basePath }: InteractionFlow,
  siteFor: SiteFor,
  path: string,
  { view, form }: { view: Middleware[]; form: Middleware[] },
): Middleware {
  const home = basePath + path;
  const run = (step: (visit: Visit) => Promise<void>): Middleware =>
    signedIn(siteFor, async (ctx, user, site) => step({ ctx, site, user, home }));

  const router = new Router()
    .get(path, ...view, run(listConnections))
    .get(`${path}/:id/disconnect`, ...view, run(askToDisconnect))
    .post(`${path}/:id/disconnect`, ...form, run(disconnect));
  // The router adds to the context itself what its type asks of it.
  return router.routes() as Middleware;
}

/** A request of somebody who is signed in. */
interface Visit {
  readonly ctx: Context;
  readonly site: Site;
  readonly user: User;
  /** URL path of the connected apps. */
  readonly home: string;
}

/** Lists the apps that a person has authorized: what each may do, since when, and when it last did. */
async function listConnections(visit: Visit): Promise<void> {
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

/** Asks whether an app is really to lose its access. One that is not connected leads back to the list. */
async function askToDisconnect({ ctx, home, site, user }: Visit): Promise<void> {
  const { flow, show, text } = site;
  const id = idOf(ctx);
  const connected = await flow.connections(ctx, user).list();
  const connection = connected.find(({ client }) => client.id === id);
  if (!connection) return seeOther(ctx, home);
  return show(ctx, {
    view: 'confirm',
    viewer: await describeViewer(ctx, user, site),
    heading: sentence(text['connections.disconnectHeading'], { client: connection.client.name }),
    lead: sentence(text['connections.disconnectLead']),
    action: `${home}/${encodeURIComponent(id)}/disconnect`,
    button: text['connections.disconnect'],
    cancel: { href: home, label: text['page.cancel'] },
  });
}

/** Takes the access away. What is gone already, from another tab or by a second click, is as good. */
async function disconnect({ ctx, home, site, user }: Visit): Promise<void> {
  await site.flow.connections(ctx, user).disconnect(idOf(ctx));
  seeOther(ctx, `${home}?done=disconnected`);
}

function idOf(ctx: Visit['ctx']): string {
  return (ctx['params'] as Record<string, string>)['id'] ?? '';
}
