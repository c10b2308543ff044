import { escapeHtml, pages } from 'koa-gatehouse/interactions';
import type { PageData, PageFrame } from 'koa-gatehouse/interactions';

import { same } from './same.ts';

// Texts and views of the core have their types, also where those of features are given too.
pages({ text: { 'login.heading': 'Welcome', 'apps.lead': 'What you have made.' } });
pages({ language: ['en', 'de'], text: { en: { 'apps.lead': 'Yours.' }, de: { 'login.heading': 'Hallo' } } });
pages({
  views: {
    'authorized-apps/list': (page) => {
      same<typeof page, PageData<'authorized-apps/list'>>();
      return String(page.authorizedApps.length);
    },
    'apps/list': (page: PageFrame & { readonly newApp: string }) =>
      `<a href="${escapeHtml(page.newApp)}">${escapeHtml(page.title)}</a>`,
  },
});

// @ts-expect-error a name has a point in it
pages({ text: { heading: 'Welcome' } });
// @ts-expect-error a sentence
pages({ text: { 'apps.lead': 7 } });
// @ts-expect-error there is no such view of the core
pages({ views: { logon: () => '' } });
// @ts-expect-error a view returns HTML
pages({ views: { 'apps/list': () => 7 } });
