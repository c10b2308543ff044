/**
 * The pages for users: login, consent, logout, errors, the developer area and the list of authorized apps.
 *
 * Begin at {@link pages}. The other names are for your own views and texts.
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
  KeyForm,
  KeyRow,
  SecretRow,
  Tabbed,
} from './apps/views.ts';
export { escapeHtml } from './views.ts';
export type { Brand, PagesOptions } from './options.ts';
export type { OwnViews } from './views.ts';
export type { Link } from './navigation.ts';
export type {
  Access,
  AuthorizedAppRow,
  AuthorizedAppsView,
  Detail,
  LayoutData,
  PageData,
  PageFrame,
  Problem,
  ScopeChoice,
  View,
  ViewName,
  Viewer,
} from './page.ts';
export { pages } from './pages.ts';
export type { Sentence, SentencePart } from './sentence.ts';
export type { Language, NameKey, OwnTexts, TextKey, Texts, TextsByLanguage } from './text.ts';
export type { Moment } from './language.ts';
