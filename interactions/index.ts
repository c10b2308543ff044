import '#runtime';

export type { Brand, PagesOptions } from './options.ts';
export { pages } from './pages.ts';
export type { Language, TextKey, Texts } from './text.ts';
