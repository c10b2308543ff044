import { withQuery } from '../../../../interactions/navigation.ts';
import { printable, sentence } from '../../../../interactions/sentence.ts';
import type { Sentence } from '../../../../interactions/sentence.ts';
import { displayName } from '../../../../interactions/viewer.ts';
import type { AuditRecord } from '../../../contracts/index.ts';
import { KINDS } from '../page/activity.ts';
import type { ActivityPage } from '../page/activity.ts';
import type { AppTexts, DeveloperText } from '../texts.ts';
import type { ActivityRecord } from '../types.ts';
import { frameOf } from './request.ts';
import type { Shown } from './request.ts';

/** Lists the audit records of an app, newest first. */
export function showActivity(request: Shown<ActivityPage>): void {
  const { developer, filter, isFirst, next, path, records, show, text } = request;
  const action = `${path}/activity`;
  const person = records.find(({ user }) => user !== undefined)?.user;
  const isFiltered = filter.kind !== '' || filter.user !== '' || !isFirst;
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
      filter.user === ''
        ? undefined
        : {
            id: filter.user,
            name: person ? displayName(person) : filter.user,
            all: withQuery(action, { kind: filter.kind }),
          },
    records: records.map((record) => describeRecord(record, request)),
    none: text[developer.storesEvents ? none : 'activity.notStored'],
    isFirst,
    first: withQuery(action, filter),
    next: next && withQuery(action, { ...filter, before: next }),
  });
}

/** The row of a record: a sentence about the event, who and what it is about, and the details that records of its type have. */
function describeRecord(record: ActivityRecord, request: Shown<ActivityPage>) {
  const { clock, filter, path, text } = request;
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
  // Further members of the records of features.
  const further = Object.entries(record).flatMap(([name, value]) => {
    const label = (text as Readonly<Record<string, string>>)[`activity.${name}`];
    return label !== undefined && typeof value === 'string' && !OF_CORE.has(name)
      ? [{ label, value: printable(value) }]
      : [];
  });
  return {
    at: clock.minute(record.at),
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

/** Who caused an event, unless its user did. Only an administrator sees the names of other people. */
function actorOf(
  record: ActivityRecord,
  { client, developer, text }: Shown<ActivityPage>,
): string | undefined {
  const { actor, actorId } = record;
  if (actorId === undefined || ('userId' in record && record.userId === actorId)) return undefined;
  if (actorId === developer.user.id) return text['activity.you'];
  if (developer.administrator && actor) return displayName(actor);
  return actorId === client.ownerId ? text['activity.owner'] : text['activity.administrator'];
}
