import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';

import type { ConsentForm, Interactions, InteractionFlow, User } from '../contracts/index.ts';
import { ConsentInvalidError } from '../errors.ts';

/** A user, and their answer on the consent page. */
export interface Decision {
  readonly user: User;
  readonly answer: 'consent' | 'deny';
  /** The optional scopes that the user unchecks on the consent page. */
  readonly declined: readonly string[];
}

/** Answers the login and the consent page in place of the users of a test. */
export interface Decisions {
  /** Pages that answer requests with the header field of a decision; other requests get the given pages, if there are any. */
  readonly interactions: Interactions;
  /** Makes the header field for the requests of a user, which is valid until it is disposed of. */
  announce(decision: Decision): { readonly headers: Readonly<Record<string, string>> } & Disposable;
}

const HEADER = 'gatehouse-test-decision';
const INTERACTION = /\/oauth\/interaction\/[^/]+$/;

export function createDecisions(given: Interactions | undefined): Decisions {
  const decisions = new Map<string, Decision>();

  return {
    interactions(flow) {
      const pages = given?.(flow);
      return {
        brand: pages?.brand,
        async middleware(ctx, next) {
          const isInteraction = INTERACTION.test(ctx.path);
          const decision = decisions.get(ctx.get(HEADER));
          if (!isInteraction || !decision) return pages ? pages.middleware(ctx, next) : next();
          try {
            await decide(flow, ctx, decision);
          } catch (error) {
            if (!(error instanceof ConsentInvalidError)) throw error;
            ctx.status = error.status;
            ctx.body = { error: 'consent_invalid', error_description: error.message };
          }
          return undefined;
        },
        async error(ctx, problem) {
          if (pages && !decisions.has(ctx.get(HEADER))) return pages.error(ctx, problem);
          const { description, error, status } = problem;
          ctx.status = status;
          ctx.body = { error, error_description: description };
        },
      };
    },
    announce(decision) {
      const id = randomUUID();
      decisions.set(id, decision);
      return { headers: { [HEADER]: id }, [Symbol.dispose]: () => void decisions.delete(id) };
    },
  };
}

/** Answers the page that a request is for. */
async function decide(flow: InteractionFlow, ctx: Context, decision: Decision): Promise<void> {
  const asked = await flow.consent(ctx);
  const page = asked?.kind === 'form' ? await answerConsent(flow, ctx, asked, decision) : asked;
  const next = page ?? (await flow.login(ctx, decision.user));
  if (next?.kind === 'redirect') ctx.redirect(next.url);
  else if (next?.kind === 'error') ctx.body = { error: next.error, error_description: next.description };
  else throw new ConsentInvalidError('Every scope was declined: grant one, or deny the request.');
}

async function answerConsent(
  flow: InteractionFlow,
  ctx: Context,
  { scopes }: ConsentForm,
  { answer, declined }: Decision,
): ReturnType<InteractionFlow['consent']> {
  if (answer === 'deny') return flow.consent(ctx, 'deny');
  const optional = (scopes ?? []).filter((scope) => scope.optional).map(({ name }) => name);
  const missing = declined.filter((name) => !optional.includes(name));
  if (missing.length > 0) throw new ConsentInvalidError(`There is no check box for: ${missing.join(' ')}`);
  return flow.consent(
    ctx,
    optional.filter((name) => !declined.includes(name)),
  );
}
