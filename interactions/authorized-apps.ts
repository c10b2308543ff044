import type { AuthorizedApp, InteractionFlow, User } from '../lib/contracts/index.ts';
import { pathParameter, queryText, seeOther } from './navigation.ts';
import type { AuthorizedAppRow } from './page.ts';
import { askToConfirm } from './page-request.ts';
import type { PageRequest, Step } from './page-request.ts';
import type { PageRouter } from './page-router.ts';
import { sentence } from './sentence.ts';
import { titleOfApp } from './unregistered.ts';
import { describeViewer, signedIn } from './viewer.ts';

/** Adds the routes of a user's authorized apps. */
export function addAuthorizedAppRoutes(
  router: PageRouter,
  path: string,
  { basePath }: InteractionFlow,
): void {
  const home = basePath + path;
  const run = (step: (request: AccountRequest) => Promise<void>): Step =>
    signedIn(async (request, user) => step({ ...request, user, home }));
  router
    .page(path, run(listAuthorizedApps))
    .page(`${path}/:id/disconnect`, run(askToDisconnect))
    .form(`${path}/:id/disconnect`, run(disconnect));
}

/** A request of a signed-in user. */
interface AccountRequest extends PageRequest {
  readonly user: User;
  /** URL path of the list of authorized apps. */
  readonly home: string;
}

/** Lists the apps that a user has authorized, with their scopes, the time of the consent and of its last use. */
async function listAuthorizedApps(request: AccountRequest): Promise<void> {
  const { brand, count, ctx, flow, show, text, user } = request;
  const authorizedApps = await flow.authorizedApps(ctx, user).list();
  show({
    view: 'authorized-apps/list',
    wide: true,
    viewer: await describeViewer(request, user),
    heading: sentence(text['page.authorizedApps']),
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
  { clock, home, nameOf, text }: AccountRequest,
): AuthorizedAppRow {
  const namesOf = (named: AuthorizedApp['scopes'], resource?: string): string[] =>
    named.map((scope) => nameOf('scope', scope, resource));
  return {
    name: titleOfApp(client, text),
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
async function askToDisconnect(request: AccountRequest): Promise<void> {
  const { ctx, flow, home, text, user } = request;
  const id = pathParameter(ctx, 'id');
  const connected = await flow.authorizedApps(ctx, user).list();
  const authorizedApp = connected.find(({ client }) => client.id === id);
  if (!authorizedApp) return seeOther(ctx, home);
  return askToConfirm(request, {
    viewer: await describeViewer(request, user),
    heading: sentence(text['authorizedApps.disconnectHeading'], {
      client: titleOfApp(authorizedApp.client, text),
    }),
    lead: sentence(text['authorizedApps.disconnectLead']),
    action: `${home}/${encodeURIComponent(id)}/disconnect`,
    button: text['authorizedApps.disconnect'],
    cancel: home,
  });
}

/** Withdraws the consent. It succeeds also when it was withdrawn already, in another tab or by a second click. */
async function disconnect({ ctx, flow, home, user }: AccountRequest): Promise<void> {
  await flow.authorizedApps(ctx, user).disconnect(pathParameter(ctx, 'id'));
  seeOther(ctx, `${home}?done=disconnected`);
}
