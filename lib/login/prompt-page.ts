import type { Context } from 'koa';

import type { OpenInteraction, Prompt } from '../contracts/browser-request.ts';
import type { PageRedirect } from '../contracts/index.ts';
import { InteractionExpiredError } from '../errors.ts';
import { redirectTo } from './answer-page.ts';
import type { AnsweredPage } from './answer-page.ts';
import type { InteractionSteps } from './interactions.ts';

/** The page on which users answer a prompt of an authorization. */
export interface PromptPage<Page, Given> {
  readonly prompt: Prompt;
  /** The last parts of the URLs that its forms post to, such as `deny`. */
  readonly forms: readonly string[];
  show(this: void, ctx: Context, open: OpenInteraction): Promise<Page | PageRedirect>;
  /** Acts on a posted form. */
  submit(this: void, ctx: Context, open: OpenInteraction, form: string): Promise<Page | PageRedirect>;
  /** Acts on an answer that a page of the host has read itself. */
  accept(this: void, ctx: Context, open: OpenInteraction, given: Given): Promise<Page | PageRedirect>;
}

/** What the URL of an interaction names. */
interface InteractionPlace {
  readonly uid: string;
  /** What follows the id; `undefined` in the URL of the page itself. */
  readonly form: string | undefined;
}

const PLACE = /^\/oauth\/interaction\/([^/]+)(?:\/([^/]+))?\/?$/i;

/** Makes the page of a prompt, which acts only on what belongs to the prompt that the user has to answer now. */
export function promptPage<Page, Given>(
  { open: openInteraction, pathOf }: Pick<InteractionSteps, 'open' | 'pathOf'>,
  { accept, forms, prompt, show, submit }: PromptPage<Page, Given>,
): AnsweredPage<InteractionPlace, Page, Given | undefined> {
  return {
    placeOf({ path }) {
      const [, uid, form] = PLACE.exec(path) ?? [];
      return uid === undefined ? undefined : { uid, form: form?.toLowerCase() };
    },
    async answer(ctx, { form, uid }, given) {
      const posted = ctx.method === 'POST' && form !== undefined && forms.includes(form) ? form : undefined;
      if (ctx.method === 'POST' && posted === undefined && !given) return undefined;
      // Before the form is read: it is not, where it belongs to nothing.
      const open = await openInteraction(ctx, uid);
      if (open.request.prompt !== prompt) {
        // The form is of an earlier prompt: it was sent twice, or from an old tab.
        if (posted !== undefined || given) throw new InteractionExpiredError();
        return undefined;
      }
      if (given) return accept(ctx, open, given);
      if (posted !== undefined) return submit(ctx, open, posted);
      // After a posted form, its URL is in the address bar; it may be opened again by a GET.
      return form === undefined ? show(ctx, open) : redirectTo(pathOf(uid));
    },
  };
}
