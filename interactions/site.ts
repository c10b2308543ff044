import type { Context } from 'koa';
import type { InteractionFlow } from '../lib/contracts/index.ts';
import { clockIn } from './time.ts';
import type { Clock } from './time.ts';
import { countIn } from './plural.ts';
import type { Count } from './plural.ts';
import type { ShowPage } from './show-page.ts';
import type { Language, Texts } from './text.ts';

/** What all pages of one server share, in one language. */
export interface Site {
  readonly flow: InteractionFlow;
  readonly show: ShowPage;
  readonly text: Texts;
  readonly count: Count;
  /** The brand's name. */
  readonly brand: string;
  readonly clock: Clock;
  /** What people call a scope, a permission or a role in this language. */
  readonly nameOf: (kind: 'scope' | 'permission' | 'role', named: Named) => string;
}

/** Something that the host named, and described in its own language. */
export interface Named {
  readonly name: string;
  readonly description: string;
}

/**
 * The pages in the language of a request.
 *
 * @param uiLocales - what the app of an interaction asked for. @default what the request itself asks for
 */
export type SiteFor = (ctx: Context, uiLocales?: readonly string[]) => Site;

/** The pages in one language. */
export function makeSite(
  language: Language,
  { text, ...parts }: Pick<Site, 'flow' | 'show' | 'text' | 'brand'>,
): Site {
  return {
    ...parts,
    text,
    count: countIn(language, text),
    clock: clockIn(language),
    nameOf: (kind, { name, description }) => text[`${kind}.${name}`] ?? description,
  };
}
