import type { Context } from 'koa';

import type { ConsentForm, InteractionFlow, PageRedirect } from '../contracts/index.ts';
import { readForm } from '../http/form.ts';
import { redirectTo } from './answer-page.ts';
import type { AnswerPage } from './answer-page.ts';
import { checkedScopes } from './asked-scopes.ts';
import type { InteractionSteps } from './interactions.ts';
import { promptPage } from './prompt-page.ts';
import type { OpenInteraction } from '../contracts/browser-request.ts';

type ConsentSteps = Omit<InteractionSteps, 'login' | 'skipLogin'>;

/** What a user has answered. */
type Answer = NonNullable<Parameters<InteractionFlow['consent']>[1]>;

/** Makes the page on which a user allows or denies what a client asks for. */
export function createConsentPage(answerPage: AnswerPage, steps: ConsentSteps): InteractionFlow['consent'] {
  return answerPage(
    promptPage<ConsentForm, Answer>(steps, {
      prompt: 'consent',
      forms: ['consent', 'deny', 'switch'],
      show: async (_ctx, open) => ({ ...(await describe(open)), status: 200, problems: [] }),
      async submit(ctx, open, form) {
        if (form === 'switch') return redirectTo(await steps.switchUser(ctx, open));
        return decide(ctx, open, form === 'deny' ? 'deny' : checkedScopes(await readForm(ctx)));
      },
      accept: decide,
    }),
  );

  async function decide(
    ctx: Context,
    open: OpenInteraction,
    answer: Answer,
  ): Promise<ConsentForm | PageRedirect> {
    if (answer === 'deny') return redirectTo(await steps.deny(ctx, open));
    const next = await steps.consent(ctx, open, answer);
    if (next !== undefined) return redirectTo(next);
    const form = await describe(open);
    const scopes = form.scopes?.map((scope) => ({ ...scope, checked: false }));
    return { ...form, scopes, status: 422, problems: ['nothing_granted'] };
  }

  async function describe(open: OpenInteraction): Promise<Omit<ConsentForm, 'status' | 'problems'>> {
    const { parameters } = open.request;
    return {
      kind: 'form',
      action: steps.pathOf(open.uid),
      client: open.stored.client,
      ...(await steps.describeConsent(open)),
      redirectUri: parameters['redirect_uri']!,
      uiLocales: parameters['ui_locales']?.split(' '),
    };
  }
}
