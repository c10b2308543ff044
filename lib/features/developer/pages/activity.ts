import { toSeconds } from '../../../contracts/duration.ts';
import type { ActivityKind, AuditQuery, AuditRecord } from '../../../contracts/index.ts';
import type { ActivityRecord } from '../types.ts';
import { queryText, withQuery } from '../../../../interactions/navigation.ts';
import { printable, sentence } from '../../../../interactions/sentence.ts';
import type { Sentence } from '../../../../interactions/sentence.ts';
import type { AppTexts, DeveloperText } from '../texts.ts';
import { displayName } from '../../../../interactions/viewer.ts';
import type { ActivityRow } from './view-types.ts';
import { frameOf } from './request.ts';
import type { AppRequest } from './request.ts';

const PAGE_SIZE = 30;

const KINDS = ['tokens', 'refused', 'people', 'changes'] as const satisfies readonly ActivityKind[];

/** Lists the audit records of an app, newest first: issued tokens, refused requests with their reasons, and changes. */
export async function showActivity(request: AppRequest): Promise<void> {
  const { client, ctx, developer, path, show, text } = request;
  const before = readBefore(queryText(ctx, 'before'));
  const kind = KINDS.find((name) => name === queryText(ctx, 'kind'));
  const userId = queryText(ctx, 'user');
  const found = await developer.activity(client.id, {
    limit: PAGE_SIZE + 1,
    before,
    kind,
    userId: userId === '' ? undefined : userId,
  });
  const records = found.slice(0, PAGE_SIZE);
  const last = found.length > PAGE_SIZE ? records.at(-1) : undefined;
  const action = `${path}/activity`;
  const filter = { kind: kind ?? '', user: userId };
  const person = records.find(({ user }) => user !== undefined)?.user;
  const isFiltered = kind !== undefined || userId !== '' || before !== undefined;
  const none = isFiltered ? 'activity.noneOfKind' : 'activity.none';
  show({
    view: 'apps/activity',
    ...frameOf(request, 'activity'),
    action,
    kinds: [
      { value: '', label: text['activity.kind.all'] },
      ...KINDS.map((value) => ({ value, label: text[`activity.kind.${value}`] })),
    ],
    kind: filter.kind,
    user:
      userId === ''
        ? undefined
        : {
            id: userId,
            name: person ? displayName(person) : userId,
            all: withQuery(action, { kind: filter.kind }),
          },
    records: records.map((record) => describeRecord(record, { request, filter })),
    none: text[developer.storesEvents ? none : 'activity.notStored'],
    isFirst: before === undefined,
    first: withQuery(action, filter),
    next: last && withQuery(action, { ...filter, before: writeBefore(last) }),
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

/** The row of a record: a sentence about the event, who and what it is about, and the details that records of its type have. */
function describeRecord(
  record: ActivityRecord,
  { filter, request }: { readonly request: AppRequest; readonly filter: { kind: string; user: string } },
): ActivityRow {
  const { clock, path, text } = request;
  const userId = 'userId' in record ? record.userId : undefined;
  const person = record.user ? displayName(record.user) : userId;
  const details: [DeveloperText, string | undefined][] = [
    ['activity.reason', 'reason' in record ? record.reason : undefined],
    ['activity.grantType', 'grantType' in record ? record.grantType : undefined],
    ['activity.user', person],
    ['activity.resource', 'resource' in record ? record.resource : undefined],
    ['activity.scopes', 'scopes' in record ? record.scopes?.join(' ') : undefined],
    ['activity.fields', 'fields' in record ? record.fields.join(', ') : undefined],
    ['activity.actor', actorOf(record, request)],
    ['activity.address', record.address],
  ];
  // The members that records of features have besides.
  const further = Object.entries(record).flatMap(([name, value]) => {
    const label = (text as Readonly<Record<string, string>>)[`activity.${name}`];
    return label !== undefined && typeof value === 'string' && !OF_CORE.has(name)
      ? [{ label, value: printable(value) }]
      : [];
  });
  return {
    at: clock.minute(toSeconds(record.at)),
    what: eventSentence(record, text),
    isRefused: record.type === 'token_refused' || record.type === 'authorization_refused',
    brief: ['error' in record ? record.error : undefined, person].flatMap((value) =>
      value ? [printable(value)] : [],
    ),
    details: [
      ...details.flatMap(([label, value]) =>
        value ? [{ label: text[label], value: printable(value) }] : [],
      ),
      ...further,
    ],
    ofUser:
      filter.user === '' && userId !== undefined
        ? withQuery(`${path}/activity`, { ...filter, user: userId })
        : undefined,
  };
}

const OF_CORE = new Set(['reason', 'grantType', 'resource', 'address', 'user', 'actor']);

function eventSentence(record: AuditRecord, text: AppTexts): Sentence {
  const key = `activity.${record.type}`;
  const names = 'hint' in record ? { hint: record.hint } : {};
  return sentence((text as Readonly<Record<string, string>>)[key] ?? record.type, names);
}

/** Who caused an event, unless its user did. Only an administrator sees the names of the others. */
function actorOf(record: ActivityRecord, { client, developer, text }: AppRequest): string | undefined {
  const { actor, actorId } = record;
  if (actorId === undefined || ('userId' in record && record.userId === actorId)) return undefined;
  if (actorId === developer.user.id) return text['activity.you'];
  if (developer.administrator && actor) return displayName(actor);
  return actorId === client.ownerId ? text['activity.owner'] : text['activity.administrator'];
}
