import { pagesOfFeatures } from '../../../../interactions/feature-pages.ts';
import { printable, sentence } from '../../../../interactions/sentence.ts';
import { displayName } from '../../../../interactions/viewer.ts';
import { isRegistered } from '../../../contracts/trust.ts';
import type { OverviewPage } from '../page/overview.ts';
import { connectOf, nameOfKind } from './apps.ts';
import { confirmationOf, frameOf } from './request.ts';
import type { Shown } from './request.ts';

/** Shows what an app is, how it is connected, and what it did lately. */
export async function showOverview(request: Shown<OverviewPage>): Promise<void> {
  const { client, clock, developer, owner, server, show, text } = request;
  const facts = await Promise.all(
    pagesOfFeatures(server).map(async (feature) => feature.facts?.ofApp?.(request, client)),
  );
  const isManual = isRegistered(client);
  const isSeen = isManual && client.grantType !== 'client_credentials';
  show({
    view: 'apps/overview',
    ...frameOf(request, 'overview'),
    done: confirmationOf(request),
    clientId: client.id,
    facts: [
      { label: text['apps.kind'], value: nameOfKind(client, text) },
      ...(isManual
        ? []
        : [
            { label: text['apps.source'], value: text[`source.${client.source}.name`] ?? client.source },
            { label: text['apps.callsItself'], value: printable(client.name) },
          ]),
      { label: text['apps.created'], moment: clock.day(client.createdAt) },
      ...(owner ? [{ label: text['apps.owner'], value: displayName(owner) }] : []),
      ...(isSeen && !client.firstParty && !developer.administrator
        ? [{ label: text['apps.verified'], value: text[`apps.verified.${client.verified}`] }]
        : []),
      ...facts.filter((fact) => fact !== undefined),
    ],
    usage: usageOf(request),
    connect: connectOf(client, request),
    scripts: ['copy.js'],
  });
}

const MOST_DAYS = 30;

/** The last days of an app, as bars and as a table. `undefined` when audit events are not stored. */
function usageOf({ clock, count, text, usage }: Shown<OverviewPage>) {
  if (!usage) return undefined;
  const { days, truncated } = usage;

  function chart(kind: 'issued' | 'refused') {
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

  const rows = days.map(({ at, issued, refused }) => ({ day: clock.day(at), issued, refused }));
  return {
    heading: count('usage.days', days.length),
    charts: [chart('issued'), chart('refused')],
    rows: rows.filter(({ issued, refused }) => issued + refused > 0),
    note: truncated
      ? sentence(text['usage.truncated'])
      : days.length < MOST_DAYS
        ? sentence(text['usage.notStored'])
        : [],
  };
}

// The height of a bar that is not empty, so that one refused request among thousands can be seen.
const LEAST_HEIGHT = 0.05;
