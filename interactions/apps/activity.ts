import type { AuditQuery, AuditRecord } from '../../lib/contracts/index.ts';
import { queryText, withQuery } from '../navigation.ts';
import { printable, sentence } from '../sentence.ts';
import type { Sentence } from '../sentence.ts';
import { isTextKey } from '../text.ts';
import type { TextKey, Texts } from '../text.ts';
import type { ActivityRow } from './views.ts';
import { frameOf } from './developer-request.ts';
import type { AppRequest } from './developer-request.ts';

const PAGE_SIZE = 30;

/** Lists the audit records of an app, newest first: issued tokens, refused requests with their reasons, and changes. */
export async function showActivity(request: AppRequest): Promise<void> {
  const { client, ctx, developer, path, show } = request;
  const before = readBefore(queryText(ctx, 'before'));
  const found = await developer.activity(client.id, { limit: PAGE_SIZE + 1, before });
  const records = found.slice(0, PAGE_SIZE);
  const last = found.length > PAGE_SIZE ? records.at(-1) : undefined;
  const first = `${path}/activity`;
  show({
    view: 'apps/activity',
    ...frameOf(request, 'activity'),
    records: records.map((record) => describeRecord(record, request)),
    isFirst: before === undefined,
    first,
    next: last && withQuery(first, { before: writeBefore(last) }),
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

/** The row of a record: a sentence about the event, and the details that records of its type have. */
function describeRecord(record: AuditRecord, request: AppRequest): ActivityRow {
  const { clock, text } = request;
  const details: [TextKey, string | undefined][] = [
    ['activity.tool', 'tool' in record ? record.tool : undefined],
    ['activity.grantType', 'grantType' in record ? record.grantType : undefined],
    ['activity.error', 'error' in record ? record.error : undefined],
    ['activity.reason', 'reason' in record ? record.reason : undefined],
    ['activity.user', 'userId' in record ? record.userId : undefined],
    ['activity.resource', 'resource' in record ? record.resource : undefined],
    ['activity.scopes', 'scopes' in record ? record.scopes.join(' ') : undefined],
    ['activity.fields', 'fields' in record ? record.fields.join(', ') : undefined],
    ['activity.actor', actorOf(record, request)],
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

function actorOf({ actorId }: AuditRecord, { client, developer, text }: AppRequest): string | undefined {
  if (actorId === undefined) return undefined;
  if (actorId === developer.user.id) return text['activity.you'];
  return actorId === client.ownerId ? text['activity.owner'] : text['activity.administrator'];
}
