/**
 * The pages for users: login, consent, logout, errors and the list of authorized apps, and those of features.
 *
 * Begin at {@link pages}. The other names are for your own views and texts.
 *
 * @module koa-gatehouse/interactions
 */
import '#runtime';

export { escapeHtml } from './views.ts';
export type { Brand, PagesOptions } from './options.ts';
export type { OwnViews } from './views.ts';
export type { LayoutData, PageData } from './page.ts';
export { pages } from './pages.ts';
export type { Language, OwnTexts } from './text.ts';
export type * as ViewTypes from './view-types.ts';
