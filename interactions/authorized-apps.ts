import { pagesOfFeatures } from './feature-pages.ts';
import type {
  AppGrant,
  AuthorizedApp,
  AuthorizedAppsPage,
  AuthorizedResource,
  LoggedOutPage,
  Seconds,
} from '../lib/contracts/index.ts';
import { aboutApp } from './about-app.ts';
import { withQuery } from './navigation.ts';
import type { AuthorizedAppRow, GrantRow, Grants } from './page.ts';
import { askToConfirm } from './page-request.ts';
import type { PageRequest } from './page-request.ts';
import { printable, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import { titleOfApp } from './unregistered.ts';
import { placeOf } from './user-agent.ts';
import { describeViewer } from './viewer.ts';

// More grants and tools of an app are opened by the user: a site to which one signs in every day has a grant for each time.
const SHOWN = 3;

type ListPage = Extract<AuthorizedAppsPage, { kind: 'list' }>;

/** A request for one of the pages. `home` is the path of the list. */
interface AccountRequest extends PageRequest {
  readonly home: string;
}

/** Shows the apps that a user has authorized, or asks before their access ends. */
export async function showAuthorizedApps(
  request: PageRequest,
  page: Exclude<AuthorizedAppsPage, LoggedOutPage>,
): Promise<void> {
  switch (page.kind) {
    case 'list':
      return listAuthorizedApps({ ...request, home: page.path }, page);
    case 'form':
      return askToEnd({ ...request, home: page.path }, page);
    default:
      return page satisfies never;
  }
}

/** Lists the apps, with their scopes, the time of the consent and of its last use. */
async function listAuthorizedApps(
  request: AccountRequest,
  { apps, count: all, done, isFirst, next, search, user }: ListPage,
): Promise<void> {
  const { brand, count, home, server, show, text } = request;
  const facts = await Promise.all(
    pagesOfFeatures(server).flatMap((feature) => feature.facts?.ofUser?.(request, user) ?? []),
  );
  show({
    view: 'authorized-apps/list',
    wide: true,
    viewer: await describeViewer(request, user),
    heading: sentence(text['page.authorizedApps']),
    lead:
      all > 0
        ? count('authorizedApps.lead', all, { brand })
        : sentence(text['authorizedApps.none'], { brand }),
    done: done && sentence(text[DONE[done]]),
    home,
    search: all > FEW || search !== '' ? printable(search) : undefined,
    isFirst,
    first: withQuery(home, { search }),
    next: next && withQuery(home, { search, after: next }),
    authorizedApps: apps.map((app) =>
      describe(
        app,
        request,
        facts.flatMap((ofApps) => [ofApps.get(app.client.id) ?? []].filter((said) => said.length > 0)),
      ),
    ),
  });
}

// Above this number users search.
const FEW = 20;

const DONE = {
  client_revoked: 'authorizedApps.done.revoked',
  grant_revoked: 'grants.done',
} as const;

function describe(
  authorizedApp: AuthorizedApp,
  request: AccountRequest,
  facts: readonly Sentence[],
): AuthorizedAppRow {
  const { allowedBy, client, createdAt } = authorizedApp;
  const { clock, text } = request;
  const name = titleOfApp(client, text);
  const lastUse = lastUseOf(authorizedApp);
  return {
    name,
    initial: /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? '',
    about: aboutApp(client, request),
    ...accessOf(authorizedApp, request),
    allowedBy:
      allowedBy.length > 0
        ? sentence(text['authorizedApps.allowedBy'], { name: allowedBy.join(', ') })
        : undefined,
    since: clock.day(createdAt),
    lastUsed: lastUse === undefined ? undefined : clock.day(lastUse),
    tools: describeTools(authorizedApp, request),
    grants: describeGrants(authorizedApp, request),
    facts,
    disabled: client.disabled,
    revoke: `${pathOf(client.id, request)}/revoke`,
  };
}

/** What an app can do, in one list: users know the default API and what is known of them as one, the platform. */
function accessOf(
  { resources, scopes }: Pick<AuthorizedApp, 'resources' | 'scopes'>,
  { nameOf, text }: PageRequest,
): Pick<AuthorizedAppRow, 'access' | 'only'> {
  const labelsOf = (named: AuthorizedApp['scopes'], resource?: string): readonly string[] =>
    named?.map((scope) => nameOf('scope', scope, resource)) ?? [text['authorizedApps.everything']];
  const ofPlatform = [
    ...resources.filter(isAboutUser).flatMap((one) => labelsOf(one.scopes, one.resource)),
    ...labelsOf(scopes),
  ];
  const access = [
    { name: '', labels: ofPlatform },
    ...resources
      .filter((one) => !isAboutUser(one))
      .map((one) => ({ name: one.name, labels: labelsOf(one.scopes, one.resource) })),
  ].filter(({ labels }) => labels.length > 0);
  if (access.length === 0) return { access, only: text['authorizedApps.nothing'] };
  const isAll = scopes === undefined && access.length === 1 && ofPlatform.length === 1;
  return isAll ? { access: [], only: text['authorizedApps.noScopes'] } : { access, only: undefined };
}

/** Whether it is the userinfo endpoint, which is no API that users know. */
function isAboutUser({ scopes }: AuthorizedResource): boolean {
  return scopes?.some(({ aboutUser }) => aboutUser) ?? false;
}

/** A use is stored to the hour, and not in the first hour of a grant. Its beginning is a use, and each call of a tool is known. */
function lastUseOf({ grants, lastUsedAt, tools }: AuthorizedApp): Seconds | undefined {
  const known = [
    lastUsedAt,
    ...grants.flatMap((grant) => [grant.createdAt, grant.lastUsedAt]),
    ...tools.map(({ at }) => at),
  ].filter((at) => at !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}

function describeTools({ tools }: AuthorizedApp, { clock, count }: PageRequest): AuthorizedAppRow['tools'] {
  const used = tools.map(({ at, name }) => ({ name, lastUsed: clock.minute(at) }));
  const others = used.slice(SHOWN);
  return {
    recent: used.slice(0, SHOWN),
    others,
    more: others.length > 0 ? count('grants.more', others.length) : [],
  };
}

function pathOf(clientId: string, { home }: Pick<AccountRequest, 'home'>): string {
  return `${home}/${encodeURIComponent(clientId)}`;
}

/** Asks for confirmation before an app loses its access, or one of its grants ends. */
async function askToEnd(
  request: AccountRequest,
  { action, app, grant, user }: Extract<AuthorizedAppsPage, { kind: 'form' }>,
): Promise<void> {
  const { home, text } = request;
  const viewer = await describeViewer(request, user);
  const client = titleOfApp(app.client, text);
  if (!grant) {
    return askToConfirm(request, {
      viewer,
      heading: sentence(text['authorizedApps.revokeHeading'], { client }),
      lead: sentence(text['authorizedApps.revokeLead']),
      action,
      button: text['authorizedApps.revoke'],
      cancel: home,
    });
  }
  const { place, since } = describeGrant(app.client.id, grant, request);
  return askToConfirm(request, {
    viewer,
    heading: sentence(text['grants.revokeHeading'], { client }),
    lead: sentence(text['grants.revokeLead'], { name: place, label: since.words }),
    action,
    button: text['grants.revoke'],
    cancel: home,
  });
}

function describeGrants({ client, grants, moreGrants }: AuthorizedApp, request: AccountRequest): Grants {
  const rows = grants.map((grant) => describeGrant(client.id, grant, request));
  const { count, text } = request;
  const others = rows.slice(SHOWN);
  return {
    heading: moreGrants
      ? sentence(text['grants.headingMany'], { count: String(rows.length) })
      : count('grants.heading', rows.length),
    recent: rows.slice(0, SHOWN),
    others,
    more: others.length > 0 ? count('grants.more', others.length) : [],
  };
}

function describeGrant(
  clientId: string,
  { createdAt, id, lastUsedAt, origin }: AppGrant,
  request: AccountRequest,
): GrantRow {
  const { clock, text } = request;
  return {
    place: placeOf(origin, text),
    since: clock.day(createdAt),
    lastUsed: lastUsedAt === undefined ? undefined : clock.day(lastUsedAt),
    revoke: `${pathOf(clientId, request)}/grants/${encodeURIComponent(id)}/revoke`,
  };
}
