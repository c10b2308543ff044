import { readViews } from '../../../interactions/files.ts';

/** The views of personal access tokens. */
export const views: Readonly<Record<string, string>> = readViews(new URL('views/', import.meta.url));
