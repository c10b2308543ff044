import { isRegistered } from '../../../contracts/trust.ts';
import type { Client } from '../../../contracts/index.ts';
import { queryText, seeOther, withQuery } from '../../../../interactions/navigation.ts';
import { sentence } from '../../../../interactions/sentence.ts';
import { titleOfApp } from '../../../../interactions/unregistered.ts';
import { nameOfKind } from './form.ts';
import type { AppRow } from './view-types.ts';
import { appPath, nameOfArea, readDone } from './request.ts';
import type { DeveloperRequest } from './request.ts';

const PAGE_SIZE = 25;

/** Lists the developer's own apps, or all apps for an administrator: sorted by name, with a search, in pages. */
export async function listApps(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home, show, text } = request;
  const search = queryText(ctx, 'search').trim().slice(0, 100);
  const after = queryText(ctx, 'after');
  const found = await developer.list({
    limit: PAGE_SIZE + 1,
    ...(search === '' ? {} : { search }),
    ...(after === '' ? {} : { after }),
  });
  // The last app of the previous page may have been deleted.
  if (found.length === 0 && after !== '') return seeOther(ctx, withQuery(home, { search }));

  const apps = found.slice(0, PAGE_SIZE);
  const last = found.length > PAGE_SIZE ? apps.at(-1) : undefined;
  return show({
    view: 'apps/list',
    heading: sentence(text[nameOfArea(developer)]),
    lead: sentence(text[developer.administrator ? 'apps.allLead' : 'apps.lead']),
    done: readDone(request),
    apps: apps.map((client) => describe(client, request)),
    newApp: `${home}/new`,
    home,
    search,
    isFirst: after === '',
    first: withQuery(home, { search }),
    next: last && withQuery(home, { search, after: last.id }),
  });
}

function describe(client: Client, { clock, developer, home, text }: DeveloperRequest): AppRow {
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
