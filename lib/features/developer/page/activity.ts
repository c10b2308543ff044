import { queryText } from '../../../../interactions/navigation.ts';
import type { ActivityKind, AuditQuery, AuditRecord } from '../../../contracts/index.ts';
import type { ActivityRecord } from '../types.ts';
import type { AnswerApp, OfApp } from './request.ts';

/** The audit records of an app: issued tokens, refused requests with their reasons, and changes. */
export interface ActivityPage extends OfApp {
  readonly kind: 'activity';
  readonly status: 200;
  /** Newest first. */
  readonly records: readonly ActivityRecord[];
  /** Which events are listed: of one kind and of one user; `''` for all. */
  readonly filter: { readonly kind: ActivityKind | ''; readonly user: string };
  readonly isFirst: boolean;
  /** The query parameter `before` of the next page; `undefined`: this is the last one. */
  readonly next: string | undefined;
}

const PAGE_SIZE = 30;

export const KINDS = ['tokens', 'refused', 'people', 'changes'] as const satisfies readonly ActivityKind[];

/** Lists the audit records, in pages. */
export const showActivity: AnswerApp<ActivityPage> = async (ctx, app) => {
  const before = readBefore(queryText(ctx, 'before'));
  const kind = KINDS.find((name) => name === queryText(ctx, 'kind'));
  const userId = queryText(ctx, 'user');
  const found = await app.developer.activity(app.client.id, {
    limit: PAGE_SIZE + 1,
    after: before,
    kind,
    userId: userId === '' ? undefined : userId,
  });
  const records = found.slice(0, PAGE_SIZE);
  const last = found.length > PAGE_SIZE ? records.at(-1) : undefined;
  return {
    kind: 'activity',
    status: 200,
    ...app,
    records,
    filter: { kind: kind ?? '', user: userId },
    isFirst: before === undefined,
    next: last && writeBefore(last),
  };
};

/** The last record of the previous page, as a query parameter. */
function writeBefore({ at, id }: AuditRecord): string {
  return `${at}_${id}`;
}

function readBefore(text: string): AuditQuery['after'] {
  const [, at = '', id = ''] = /^(\d{1,12}(?:\.\d{1,3})?)_(.{1,255})$/.exec(text) ?? [];
  return id === '' ? undefined : { at: Number(at), id };
}
