import { sentence } from '../sentence.ts';
import type { AppRequest } from './developer-request.ts';
import type { Chart, UsageRow, Usage } from './views.ts';

const MOST_DAYS = 30;

/** The last days of an app, as bars and as a table. `undefined` when audit events are not stored. */
export async function usageOf({
  client,
  clock,
  count,
  developer,
  text,
}: AppRequest): Promise<Usage | undefined> {
  const usage = await developer.usage(client.id);
  if (!usage) return undefined;
  const { days, limited } = usage;

  function chart(kind: 'issued' | 'refused'): Chart {
    const numbers = days.map((day) => day[kind]);
    const most = Math.max(...numbers);
    return {
      kind,
      label: count(
        `usage.${kind}`,
        numbers.reduce((total, number) => total + number, 0),
      ),
      most: most === 0 ? undefined : count('usage.most', most),
      bars: numbers.map((number) => (number === 0 ? 0 : Math.max(LEAST_HEIGHT, number / most))),
    };
  }

  const rows = days.map(({ at, issued, refused }): UsageRow => ({ day: clock.day(at), issued, refused }));
  return {
    heading: count('usage.days', days.length),
    charts: [chart('issued'), chart('refused')],
    rows: rows.filter(({ issued, refused }) => issued + refused > 0),
    note: limited
      ? sentence(text['usage.limited'])
      : days.length < MOST_DAYS
        ? sentence(text['usage.notStored'])
        : [],
  };
}

// Of a bar that is not empty, so that one refused request among thousands is seen.
const LEAST_HEIGHT = 0.05;
