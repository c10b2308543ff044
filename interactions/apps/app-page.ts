import type { Client } from '../../lib/contracts/index.ts';
import type { Page } from '../page.ts';
import { sentence } from '../sentence.ts';
import type { Sentence } from '../sentence.ts';
import type { Tabbed } from './views.ts';
import { appPath } from './visit.ts';
import type { Visit } from './visit.ts';

type Tab = 'settings' | 'permissions' | 'secrets' | 'activity';

/** What all pages of one app have: its name, the way up, and the ways to the others. */
export function frameOf(
  { home, site: { text } }: Visit,
  client: Client,
  here: Tab,
): Tabbed & { heading: Sentence; above: NonNullable<Page['above']> } {
  // A public app has no secrets.
  const tabs: readonly Tab[] = client.confidential
    ? ['settings', 'permissions', 'secrets', 'activity']
    : ['settings', 'permissions', 'activity'];
  return {
    heading: sentence('{client}', { client: client.name }),
    above: { href: home, label: text['page.apps'] },
    isDisabled: client.disabled,
    tabs: tabs.map((tab) => ({
      href: appPath(home, client.id, tab === 'settings' ? '' : tab),
      label: text[`apps.tab.${tab}`],
      isHere: tab === here,
    })),
  };
}
