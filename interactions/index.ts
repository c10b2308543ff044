/**
 * The pages that people see: login, consent, logout, errors, the developer area and the apps that they have authorized.
 *
 * Begin at {@link pages}. The other names are for views and sentences of your own.
 *
 * @module koa-gatehouse/interactions
 */
import '#runtime';

export type {
  ActivityRow,
  AppForm,
  AppRow,
  AppView,
  Choice,
  Connect,
  Place,
  SecretRow,
  Tabbed,
} from './apps/views.ts';
export { escapeHtml } from './views.ts';
export type { Brand, PagesOptions } from './options.ts';
export type { OwnViews } from './views.ts';
export type { Link } from './navigation.ts';
export type {
  AuthorizedAppRow,
  AuthorizedAppsView,
  Detail,
  LayoutData,
  PageData,
  PageFrame,
  Problem,
  View,
  ViewName,
  Viewer,
} from './page.ts';
export { pages } from './pages.ts';
export type { Sentence, SentencePart } from './sentence.ts';
export type { Language, NameKey, OwnTexts, TextKey, Texts, TextsByLanguage } from './text.ts';
export type { Moment } from './language.ts';
