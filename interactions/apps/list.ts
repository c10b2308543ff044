import type { Client } from '../../lib/contracts/index.ts';
import { queryText, seeOther, withQuery } from '../navigation.ts';
import { printable, sentence } from '../sentence.ts';
import { kindOf } from './form.ts';
import type { AppRow } from './views.ts';
import { appPath, showPage, whatWasDone } from './developer-request.ts';
import type { DeveloperRequest } from './developer-request.ts';

const ON_A_PAGE = 25;

/** Lists the person's apps, or everybody's to an administrator: by name, searched, a page at a time. */
export async function listApps(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home, pageContext } = request;
  const { text } = pageContext;
  const search = queryText(ctx, 'search').trim().slice(0, 100);
  const after = queryText(ctx, 'after');
  const found = await developer.list({
    limit: ON_A_PAGE + 1,
    ...(search === '' ? {} : { search }),
    ...(after === '' ? {} : { after }),
  });
  // The app that the page before ended with may be gone.
  if (found.length === 0 && after !== '') return seeOther(ctx, withQuery(home, { search }));

  const apps = found.slice(0, ON_A_PAGE);
  const last = found.length > ON_A_PAGE ? apps.at(-1) : undefined;
  return showPage(request, {
    view: 'apps/list',
    heading: sentence(developer.administrator ? text['apps.allHeading'] : text['apps.heading']),
    done: whatWasDone(request),
    apps: apps.map((client) => describe(client, request)),
    newApp: `${home}/new`,
    home,
    search,
    isFirst: after === '',
    first: withQuery(home, { search }),
    next: last && withQuery(home, { search, after: last.id }),
  });
}

function describe(
  client: Client,
  { developer, home, pageContext: { clock, text } }: DeveloperRequest,
): AppRow {
  return {
    href: appPath(home, client.id),
    name: printable(client.name),
    kind: text[`apps.kind.${kindOf(client)}.name`],
    created: clock.day(client.createdAt),
    isDisabled: client.disabled,
    isOwn: developer.administrator && client.ownerId === developer.user.id,
  };
}
