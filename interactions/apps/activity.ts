import type { AuditQuery, AuditRecord, Client } from '../../lib/contracts/index.ts';
import type { Clock } from '../language.ts';
import { queryText, withQuery } from '../navigation.ts';
import { printable, sentence } from '../sentence.ts';
import type { Sentence } from '../sentence.ts';
import { isTextKey } from '../text.ts';
import type { TextKey, Texts } from '../text.ts';
import type { ActivityRow } from './views.ts';
import { appPath, findApp, frameOf, showPage } from './developer-request.ts';
import type { DeveloperRequest } from './developer-request.ts';

const PAGE_SIZE = 30;

/** Lists the audit records of an app, newest first: issued tokens, refused requests with their reasons, and changes. */
export async function showActivity(request: DeveloperRequest): Promise<void> {
  const { ctx, developer, home, pageContext } = request;
  const client: Client = await findApp(request);
  const path = appPath(home, client.id, 'activity');
  const before = readBefore(queryText(ctx, 'before'));
  const found = await developer.activity(client.id, { limit: PAGE_SIZE + 1, before });
  const records = found.slice(0, PAGE_SIZE);
  const last = found.length > PAGE_SIZE ? records.at(-1) : undefined;
  showPage(request, {
    view: 'apps/activity',
    ...frameOf(request, client, 'activity'),
    records: records.map((record) =>
      describeRecord(record, {
        client,
        clock: pageContext.clock,
        text: pageContext.text,
        viewerId: developer.user.id,
      }),
    ),
    isFirst: before === undefined,
    first: path,
    next: last && withQuery(path, { before: writeBefore(last) }),
  });
}

/** The last record of the previous page, as a query parameter. */
function writeBefore({ at, id }: AuditRecord): string {
  return `${at}.${id}`;
}

function readBefore(text: string): AuditQuery['before'] {
  const [, at = '', id = ''] = /^(\d{1,15})\.(.{1,255})$/.exec(text) ?? [];
  return id === '' ? undefined : { at: Number(at), id };
}

interface RecordContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly text: Texts;
  /** The user who looks at the page. */
  readonly viewerId: string;
}

/** The row of a record: a sentence about the event, and the details that records of its type have. */
function describeRecord(record: AuditRecord, context: RecordContext): ActivityRow {
  const { clock, text } = context;
  const details: [TextKey, string | undefined][] = [
    ['activity.tool', 'tool' in record ? record.tool : undefined],
    ['activity.grantType', 'grantType' in record ? record.grantType : undefined],
    ['activity.error', 'error' in record ? record.error : undefined],
    ['activity.reason', 'reason' in record ? record.reason : undefined],
    ['activity.user', 'userId' in record ? record.userId : undefined],
    ['activity.resource', 'resource' in record ? record.resource : undefined],
    ['activity.scopes', 'scopes' in record ? record.scopes.join(' ') : undefined],
    ['activity.fields', 'fields' in record ? record.fields.join(', ') : undefined],
    ['activity.actor', actorOf(record, context)],
    ['activity.address', record.address],
    ['activity.deviceAddress', 'deviceAddress' in record ? record.deviceAddress : undefined],
  ];
  return {
    at: clock.minute(record.at),
    what: eventSentence(record, text),
    isRefused: record.type === 'token_refused' || record.type === 'authorization_refused',
    details: details.flatMap(([label, value]) =>
      value ? [{ label: text[label], value: printable(value) }] : [],
    ),
  };
}

function eventSentence(record: AuditRecord, text: Texts): Sentence {
  const key = `activity.${record.type}`;
  const names = 'hint' in record ? { hint: record.hint } : {};
  return sentence(isTextKey(key) ? text[key] : record.type, names);
}

function actorOf({ actorId }: AuditRecord, { client, text, viewerId }: RecordContext): string | undefined {
  if (actorId === undefined) return undefined;
  if (actorId === viewerId) return text['activity.you'];
  return actorId === client.ownerId ? text['activity.owner'] : text['activity.administrator'];
}
