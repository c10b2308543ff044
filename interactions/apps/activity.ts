import type { AuditQuery, AuditRecord, Client } from '../../lib/contracts/index.ts';
import { queryText, withQuery } from '../query.ts';
import { frameOf } from './app-page.ts';
import { describeRecord } from './record-words.ts';
import { appPath, findApp, showPage } from './visit.ts';
import type { Visit } from './visit.ts';

const ON_A_PAGE = 30;

/** Shows what happened at an app, newest first: its tokens, and why it did not get others. */
export async function showActivity(visit: Visit): Promise<void> {
  const { ctx, developer, home, site } = visit;
  const client: Client = await findApp(visit);
  const path = appPath(home, client.id, 'activity');
  const before = readBefore(queryText(ctx, 'before'));
  const found = await developer.activity(client.id, { limit: ON_A_PAGE + 1, before });
  const records = found.slice(0, ON_A_PAGE);
  const last = found.length > ON_A_PAGE ? records.at(-1) : undefined;
  showPage(visit, {
    view: 'apps/activity',
    ...frameOf(visit, client, 'activity'),
    records: records.map((record) =>
      describeRecord(record, { client, clock: site.clock, text: site.text, viewerId: developer.user.id }),
    ),
    isFirst: before === undefined,
    first: path,
    next: last && withQuery(path, { before: writeBefore(last) }),
  });
}

/** The record that the page before ended with, as it stands in the URL. */
function writeBefore({ at, id }: AuditRecord): string {
  return `${at}.${id}`;
}

function readBefore(text: string): AuditQuery['before'] {
  const [, at = '', id = ''] = /^(\d{1,15})\.(.{1,255})$/.exec(text) ?? [];
  return id === '' ? undefined : { at: Number(at), id };
}
