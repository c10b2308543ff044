import type { AuditRecord, Client } from '../../lib/contracts/index.ts';
import { printable, sentence } from '../sentence.ts';
import type { Sentence } from '../sentence.ts';
import { isTextKey } from '../text.ts';
import type { TextKey, Texts } from '../text.ts';
import type { Clock } from '../time.ts';
import type { ActivityRow } from './views.ts';

interface Surroundings {
  readonly client: Client;
  readonly clock: Clock;
  readonly text: Texts;
  /** Who looks at it. */
  readonly viewerId: string;
}

/** A record in words: what happened, and the details that its kind has. */
export function describeRecord(record: AuditRecord, surroundings: Surroundings): ActivityRow {
  const { clock, text } = surroundings;
  const details: [TextKey, string | undefined][] = [
    ['activity.grantType', 'grantType' in record ? record.grantType : undefined],
    ['activity.error', 'error' in record ? record.error : undefined],
    ['activity.reason', 'reason' in record ? record.reason : undefined],
    ['activity.user', 'userId' in record ? record.userId : undefined],
    ['activity.scopes', 'scopes' in record ? record.scopes.join(' ') : undefined],
    ['activity.fields', 'fields' in record ? record.fields.join(', ') : undefined],
    ['activity.actor', actorOf(record, surroundings)],
    ['activity.address', record.address],
  ];
  return {
    at: clock.minute(record.at),
    what: whatHappened(record, text),
    isRefusal: record.type === 'token_refused' || record.type === 'authorization_refused',
    details: details.flatMap(([label, value]) =>
      value ? [{ label: text[label], value: printable(value) }] : [],
    ),
  };
}

function whatHappened(record: AuditRecord, text: Texts): Sentence {
  const key = `activity.${record.type}`;
  const names = 'hint' in record ? { hint: record.hint } : {};
  return sentence(isTextKey(key) ? text[key] : record.type, names);
}

function actorOf({ actorId }: AuditRecord, { client, text, viewerId }: Surroundings): string | undefined {
  if (actorId === undefined) return undefined;
  if (actorId === viewerId) return text['activity.you'];
  return actorId === client.ownerId ? text['activity.owner'] : text['activity.administrator'];
}
