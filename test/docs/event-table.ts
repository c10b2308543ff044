import { toSeconds } from '../../lib/contracts/duration.ts';
import { FEATURE_EVENTS } from '../../lib/features/tables.ts';
import { OF_APP } from '../../lib/record/audit-log.ts';
import { CORE_EVENTS } from '../../lib/record/core-events.ts';
import type { Member, Rate, Share, Shares } from '../../lib/record/event-rules.ts';
import { span, table } from './markdown-table.ts';

const WHO: Readonly<Record<Member, string>> = {
  actorId: 'the user who does it',
  clientId: 'an app',
  network: 'an IPv4 address or IPv6 /64',
  tokenId: 'a token',
  userId: 'a user',
};

/** Every type of event, by how many of it are stored. */
export function eventTable(): string {
  const notStored = 'none: they are for listeners and metrics';
  const rows = new Map<string, string[]>();
  const add = (limit: string, event: string): void =>
    void rows.set(limit, [...(rows.get(limit) ?? []), event]);
  for (const [type, { shares }] of Object.entries(CORE_EVENTS)) {
    add(limitOf(shares), `\`${type}\``);
    if (type === 'token_issued') add(limitOf(OF_APP), `\`${type}\` of an app for itself`);
  }
  for (const [type, { isNotStored, shares }] of Object.entries(FEATURE_EVENTS))
    add(isNotStored ? notStored : limitOf(shares), `\`${type}\``);
  return table(
    ['events', 'stored of each type'],
    [...rows].map(([limit, events]) => [events.join(', '), limit]),
  );
}

function limitOf(shares: Shares): string {
  return shares === 'all' ? 'all' : shares.map(shareText).join('; ');
}

function shareText([rate, ...of]: Share): string {
  const whose = of.length === 0 ? 'in all' : `of ${of.map((member) => WHO[member]).join(' and ')}`;
  return `${whose}: ${rateText(rate)}`;
}

function rateText({ burst, interval }: Rate): string {
  const seconds = toSeconds(interval);
  return `${burst} at once, then ${seconds < 1 ? `${1 / seconds} in 1 second` : `one in ${span(seconds)}`}`;
}
