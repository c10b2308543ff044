import type { Context, Middleware } from 'koa';
import Router from 'koa-router';
import type { AuthorizedApp, InteractionFlow, User } from '../lib/contracts/index.ts';
import { pathParameter, queryText, seeOther } from './navigation.ts';
import type { AuthorizedAppRow } from './page.ts';
import { sentence } from './sentence.ts';
import type { PageContext, PageContextFor } from './page-context.ts';
import { titleOfApp } from './unregistered.ts';
import { describeViewer, signedIn } from './viewer.ts';

/**
 * Routes of a user's authorized apps.
 *
 * @param view - middleware before each page
 * @param form - middleware before each posted form
 */
export function authorizedAppRoutes(
  { basePath }: InteractionFlow,
  pageContextFor: PageContextFor,
  path: string,
  { view, form }: { view: Middleware[]; form: Middleware[] },
): Middleware {
  const home = basePath + path;
  const run = (step: (request: AccountRequest) => Promise<void>): Middleware =>
    signedIn(pageContextFor, async (ctx, user, pageContext) => step({ ctx, pageContext, user, home }));

  const router = new Router()
    .get(path, ...view, run(listAuthorizedApps))
    .get(`${path}/:id/disconnect`, ...view, run(askToDisconnect))
    .post(`${path}/:id/disconnect`, ...form, run(disconnect));
  // The router's type requires a context with members that the router adds itself.
  return router.routes() as Middleware;
}

/** A request of a signed-in user. */
interface AccountRequest {
  readonly ctx: Context;
  readonly pageContext: PageContext;
  readonly user: User;
  /** URL path of the list of authorized apps. */
  readonly home: string;
}

/** Lists the apps that a user has authorized, with their scopes, the time of the consent and of its last use. */
async function listAuthorizedApps(request: AccountRequest): Promise<void> {
  const { ctx, pageContext, user } = request;
  const { brand, count, flow, show, text } = pageContext;
  const authorizedApps = await flow.authorizedApps(ctx, user).list();
  show(ctx, {
    view: 'authorized-apps/list',
    wide: true,
    viewer: await describeViewer(ctx, user, pageContext),
    heading: sentence(text['authorizedApps.heading']),
    lead:
      authorizedApps.length > 0
        ? count('authorizedApps.lead', authorizedApps.length, { brand })
        : sentence(text['authorizedApps.none'], { brand }),
    done:
      queryText(ctx, 'done') === 'disconnected'
        ? sentence(text['authorizedApps.done.disconnected'])
        : undefined,
    authorizedApps: authorizedApps.map((authorizedApp) => describe(authorizedApp, request)),
  });
}

function describe(
  { client, createdAt, lastUsedAt, limited, resources, scopes, tools }: AuthorizedApp,
  { home, pageContext }: AccountRequest,
): AuthorizedAppRow {
  const { clock, nameOf } = pageContext;
  const namesOf = (named: AuthorizedApp['scopes'], resource?: string): string[] =>
    named.map((scope) => nameOf('scope', scope, resource));
  return {
    name: titleOfApp(client, pageContext.text),
    scopes: namesOf(scopes),
    limited,
    resources: resources.map(({ limited: isLimited, name, resource, scopes: ofResource }) => ({
      name,
      scopes: namesOf(ofResource, resource),
      limited: isLimited,
    })),
    since: clock.day(createdAt),
    lastUsed: lastUsedAt === undefined ? undefined : clock.day(lastUsedAt),
    tools: tools.map(({ at, name }) => ({ name, lastUsed: clock.minute(at) })),
    isDisabled: client.disabled,
    disconnect: `${home}/${encodeURIComponent(client.id)}/disconnect`,
  };
}

/** Asks for confirmation before an app loses its access. For an app that is not authorized, redirects to the list. */
async function askToDisconnect({ ctx, home, pageContext, user }: AccountRequest): Promise<void> {
  const { flow, show, text } = pageContext;
  const id = pathParameter(ctx, 'id');
  const connected = await flow.authorizedApps(ctx, user).list();
  const authorizedApp = connected.find(({ client }) => client.id === id);
  if (!authorizedApp) return seeOther(ctx, home);
  return show(ctx, {
    view: 'confirm',
    viewer: await describeViewer(ctx, user, pageContext),
    heading: sentence(text['authorizedApps.disconnectHeading'], {
      client: titleOfApp(authorizedApp.client, text),
    }),
    lead: sentence(text['authorizedApps.disconnectLead']),
    action: `${home}/${encodeURIComponent(id)}/disconnect`,
    button: text['authorizedApps.disconnect'],
    cancel: { href: home, label: text['page.cancel'] },
  });
}

/** Withdraws the consent. It succeeds also when it was withdrawn already, in another tab or by a second click. */
async function disconnect({ ctx, home, pageContext, user }: AccountRequest): Promise<void> {
  await pageContext.flow.authorizedApps(ctx, user).disconnect(pathParameter(ctx, 'id'));
  seeOther(ctx, `${home}?done=disconnected`);
}
