import { pagesOfFeatures } from './feature-pages.ts';
import { toSeconds } from '../lib/contracts/duration.ts';
import type { AuthorizedApp, Connection, InteractionFlow, User } from '../lib/contracts/index.ts';
import { aboutApp } from './about-app.ts';
import { pathParameter, queryText, seeOther } from './navigation.ts';
import type { AuthorizedAppRow, ConnectionRow, Connections } from './page.ts';
import { askToConfirm } from './page-request.ts';
import type { PageRequest, Step } from './page-request.ts';
import type { PageRouter } from './page-router.ts';
import { printable, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { TextKey } from './text.ts';
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
    .form(`${path}/:id/disconnect`, run(disconnect))
    .page(`${path}/:id/connections/:connection/end`, run(askToEndConnection))
    .form(`${path}/:id/connections/:connection/end`, run(endConnection));
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
  const facts = await Promise.all(
    pagesOfFeatures(flow).flatMap((feature) => feature.facts?.ofUser(request, user) ?? []),
  );
  const done = DONE.get(queryText(ctx, 'done'));
  show({
    view: 'authorized-apps/list',
    wide: true,
    viewer: await describeViewer(request, user),
    heading: sentence(text['page.authorizedApps']),
    lead:
      authorizedApps.length > 0
        ? count('authorizedApps.lead', authorizedApps.length, { brand })
        : sentence(text['authorizedApps.none'], { brand }),
    done: done && sentence(text[done]),
    authorizedApps: authorizedApps.map((authorizedApp) =>
      describe(
        authorizedApp,
        request,
        facts.flatMap((ofApps) =>
          [ofApps.get(authorizedApp.client.id) ?? []].filter((said) => said.length > 0),
        ),
      ),
    ),
  });
}

const DONE: ReadonlyMap<string, TextKey> = new Map<string, TextKey>([
  ['disconnected', 'authorizedApps.done.disconnected'],
  ['ended', 'connections.done'],
]);

function describe(
  authorizedApp: AuthorizedApp,
  request: AccountRequest,
  facts: readonly Sentence[],
): AuthorizedAppRow {
  const { client, createdAt, lastUsedAt, limited, resources, scopes, tools } = authorizedApp;
  const { clock, nameOf, text } = request;
  const namesOf = (named: AuthorizedApp['scopes'], resource?: string): string[] =>
    named.map((scope) => nameOf('scope', scope, resource));
  return {
    name: titleOfApp(client, text),
    about: aboutApp(client, request),
    scopes: namesOf(scopes),
    limited,
    resources: resources.map(({ limited: isLimited, name, resource, scopes: ofResource }) => ({
      // The userinfo endpoint is no API that users know.
      name: ofResource.some(({ aboutUser }) => aboutUser) ? '' : name,
      scopes: namesOf(ofResource, resource),
      limited: isLimited,
    })),
    since: clock.day(createdAt),
    lastUsed: lastUsedAt === undefined ? undefined : clock.day(lastUsedAt),
    tools: tools.map(({ at, name }) => ({ name, lastUsed: clock.minute(toSeconds(at)) })),
    connections: describeConnections(authorizedApp, request),
    facts,
    isDisabled: client.disabled,
    disconnect: `${pathOf(client.id, request)}/disconnect`,
  };
}

function pathOf(clientId: string, { home }: Pick<AccountRequest, 'home'>): string {
  return `${home}/${encodeURIComponent(clientId)}`;
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
    action: `${pathOf(id, request)}/disconnect`,
    button: text['authorizedApps.disconnect'],
    cancel: home,
  });
}

/** Withdraws the consent. It succeeds also when it was withdrawn already, in another tab or by a second click. */
async function disconnect({ ctx, flow, home, user }: AccountRequest): Promise<void> {
  await flow.authorizedApps(ctx, user).disconnect(pathParameter(ctx, 'id'));
  seeOther(ctx, `${home}?done=disconnected`);
}

// More of them are opened by the user: a site to which one signs in every day has a connection for each time.
const SHOWN = 3;

function describeConnections(
  { client, connections, hasMoreConnections }: AuthorizedApp,
  request: AccountRequest,
): Connections {
  const rows = connections.map((connection) => describeConnection(client.id, connection, request));
  const { count, text } = request;
  const others = rows.slice(SHOWN);
  return {
    heading: hasMoreConnections
      ? sentence(text['connections.headingMany'], { count: String(rows.length) })
      : count('connections.heading', rows.length),
    recent: rows.slice(0, SHOWN),
    others,
    more: others.length > 0 ? count('connections.more', others.length) : [],
  };
}

function describeConnection(
  clientId: string,
  { createdAt, id, lastUsedAt, origin }: Connection,
  request: AccountRequest,
): ConnectionRow {
  const { clock, text } = request;
  const place = [programOf(origin?.userAgent ?? ''), origin?.address ?? ''].filter((known) => known !== '');
  return {
    place: place.length > 0 ? printable(place.join(', ')) : text['connections.unknownPlace'],
    since: clock.day(createdAt),
    lastUsed: lastUsedAt === undefined ? undefined : clock.day(lastUsedAt),
    end: `${pathOf(clientId, request)}/connections/${encodeURIComponent(id)}/end`,
  };
}

/** The system of a browser, and the name that any other program gives itself; empty when there is none. */
function programOf(userAgent: string): string {
  if (!userAgent.startsWith('Mozilla/')) return userAgent;
  return SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1] ?? '';
}

// In this order, because browsers on Android name Linux too, and those on an iPhone macOS.
const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
];

/** Asks for confirmation before a connection ends. For one that has ended, redirects to the list. */
async function askToEndConnection(request: AccountRequest): Promise<void> {
  const { ctx, flow, home, text, user } = request;
  const [id, connectionId] = [pathParameter(ctx, 'id'), pathParameter(ctx, 'connection')];
  const connected = await flow.authorizedApps(ctx, user).list();
  const authorizedApp = connected.find(({ client }) => client.id === id);
  const connection = authorizedApp?.connections.find((one) => one.id === connectionId);
  if (!authorizedApp || !connection) return seeOther(ctx, home);
  const { end, place, since } = describeConnection(id, connection, request);
  return askToConfirm(request, {
    viewer: await describeViewer(request, user),
    heading: sentence(text['connections.endHeading'], { client: titleOfApp(authorizedApp.client, text) }),
    lead: sentence(text['connections.endLead'], { name: place, label: since.words }),
    action: end,
    button: text['connections.end'],
    cancel: home,
  });
}

/** Ends a connection. It succeeds also when it has ended already. */
async function endConnection({ ctx, flow, home, user }: AccountRequest): Promise<void> {
  const [id, connectionId] = [pathParameter(ctx, 'id'), pathParameter(ctx, 'connection')];
  await flow.authorizedApps(ctx, user).endConnection(id, connectionId);
  seeOther(ctx, `${home}?done=ended`);
}
