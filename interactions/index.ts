import '#runtime';

export { escapeHtml } from './compile-view.ts';
export type { Brand, PagesOptions } from './options.ts';
export type { OwnViews } from './own-views.ts';
export type { Detail, LayoutData, Link, PageData, PageFrame, Problem, View, ViewName } from './page.ts';
export { pages } from './pages.ts';
export type { Sentence, SentencePart } from './sentence.ts';
export type { Language, NameKey, OwnTexts, TextKey, Texts } from './text.ts';
export type { Moment } from './time.ts';
export type { Viewer } from './viewer.ts';
