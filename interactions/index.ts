/**
 * The pages for users: login, consent, logout, errors and the list of authorized apps, and those of features.
 *
 * Begin at {@link pages}. The other names are for your own views and texts.
 *
 * @module koa-gatehouse/interactions
 */
import '#runtime';

export { pages } from './pages.ts';
export type { PagesOptions } from './options.ts';
export type { LayoutData, PageData, PageFrame } from './page.ts';
export { escapeHtml } from './views.ts';
