import { pagesOfFeatures } from '../../../../interactions/feature-pages.ts';
import { withQuery } from '../../../../interactions/navigation.ts';
import { sentence } from '../../../../interactions/sentence.ts';
import { titleOfApp } from '../../../../interactions/unregistered.ts';
import type { Client } from '../../../contracts/index.ts';
import { isRegistered } from '../../../contracts/trust.ts';
import { firstCall, scopeOfExample } from '../../../first-call/first-call.ts';
import { placeOf } from '../page/app-form.ts';
import type { CreatedPage, ListPage, NewAppPage } from '../page/apps.ts';
import { appPath } from '../page/request.ts';
import type { AppTexts } from '../texts.ts';
import { confirmationOf, nameOfArea, problemsOf } from './request.ts';
import type { Shown } from './request.ts';

/** Lists the apps, with a search. */
export function showList(request: Shown<ListPage>): void {
  const { apps, developer, home, isFirst, last, search, show, text } = request;
  show({
    view: 'apps/list',
    heading: sentence(text[nameOfArea(developer)]),
    lead: sentence(text[developer.administrator ? 'apps.allLead' : 'apps.lead']),
    done: confirmationOf(request),
    apps: apps.map((client) => describe(client, request)),
    newApp: `${home}/new`,
    home,
    search,
    isFirst,
    first: withQuery(home, { search }),
    next: last && withQuery(home, { search, after: last.id }),
  });
}

function describe(client: Client, { clock, developer, home, text }: Shown<ListPage>) {
  return {
    href: appPath(home, client.id),
    name: titleOfApp(client, text),
    kind: nameOfKind(client, text),
    created: clock.day(client.createdAt),
    source: isRegistered(client) ? undefined : text[`source.${client.source}.name`],
    isDisabled: client.disabled,
    isOwn: developer.administrator && client.ownerId === developer.user.id,
  };
}

/** What the pages call the kind of an app. */
export function nameOfKind(client: Client, text: AppTexts): string {
  const place = placeOf(client);
  return place
    ? text[`apps.kind.${place}.name`]
    : (text[`kind.${client.grantType}.name`] ?? client.grantType);
}

/** Shows the form for a new app. */
export function showNewApp(request: Shown<NewAppPage>): void {
  const { developer, form, home, once, server, show, status, text } = request;
  show({
    view: 'apps/new',
    status,
    problems: problemsOf(request),
    heading: sentence(text['apps.new']),
    above: { href: home, label: text[nameOfArea(developer)] },
    action: `${home}/new`,
    kinds: [...server.clientKinds.on.keys()],
    form,
    once,
    mayBeFirstParty: developer.administrator,
    cancel: home,
    scripts: ['send-once.js'],
  });
}

/** Shows a new app with its secret, once. */
export function showCreated(request: Shown<CreatedPage>): void {
  const { client, home, secret, show, text } = request;
  const path = appPath(home, client.id);
  const isService = client.grantType === 'client_credentials';
  show({
    view: 'apps/created',
    heading: sentence(text['apps.createdHeading'], { client: client.name }),
    lead: sentence(text['apps.secretOnce']),
    clientId: client.id,
    secret,
    connect: connectOf(client, request),
    next: [
      ...(isService ? [{ href: `${path}/permissions`, label: text['apps.givePermissions'] }] : []),
      { href: path, label: text['apps.goToApp'] },
    ],
    scripts: ['copy.js'],
  });
}

/** The URLs that an app needs, how it gets a token and makes a first call, and how it signs users in. */
export function connectOf(client: Client, request: Shown) {
  const { developer, server, text } = request;
  const { apis: apiUrls, basePath, clientKinds, origin } = server;
  const { confidential, grantType, id, keys, redirectUris, scopes } = client;
  const issuer = origin + basePath;
  const [redirectUri = ''] = redirectUris;
  const kind = clientKinds.all.get(grantType);
  const proof = confidential ? (keys ? 'assertion' : 'secret') : 'none';
  const ofApi = developer.scopes.flatMap(({ apis, name }) =>
    apis.filter(({ resource }) => resource === undefined).map((api) => [name, api] as const),
  );
  const scope = scopeOfExample(ofApi, scopes);
  return {
    endpoint:
      kind?.endpoint === undefined
        ? undefined
        : { label: text[`kind.${grantType}.endpoint`]!, url: issuer + kind.endpoint },
    tokenUrl: `${issuer}/oauth/token`,
    examples: kind
      ? firstCall(
          kind,
          { issuer, clientId: id, proof, redirectUri, scope, apiUrl: apiUrls.get(issuer) },
          clientKinds.firstCallOf(kind, client),
        )
      : [],
    further: pagesOfFeatures(server).flatMap((feature) => feature.facts?.connect?.(request, client) ?? []),
  };
}
