import { readViews } from '../../../interactions/files.ts';

/** The views of the developer area. */
export const views: Readonly<Record<string, string>> = readViews(new URL('views/', import.meta.url));
