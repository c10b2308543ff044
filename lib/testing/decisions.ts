import { randomUUID } from 'node:crypto';

import type { Context } from 'koa';

import type { Interactions, InteractionFlow, User } from '../contracts/index.ts';
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
const INTERACTION = /\/oauth\/interaction\/([^/]+)$/;

export function createDecisions(given: Interactions | undefined): Decisions {
  const decisions = new Map<string, Decision>();

  return {
    interactions(flow) {
      const pages = given?.(flow);
      return {
        brand: pages?.brand,
        async middleware(ctx, next) {
          const uid = INTERACTION.exec(ctx.path)?.[1];
          const decision = decisions.get(ctx.get(HEADER));
          if (uid === undefined || !decision) return pages ? pages.middleware(ctx, next) : next();
          try {
            ctx.redirect(await decide(flow, ctx, uid, decision));
            ctx.status = 303;
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

async function decide(
  flow: InteractionFlow,
  ctx: Context,
  uid: string,
  { answer, declined, user }: Decision,
): Promise<string> {
  const interaction = await flow.find(ctx, uid);
  if (interaction.prompt === 'login') return flow.login(ctx, interaction, user);
  if (answer === 'deny') return flow.deny(ctx, interaction);
  const optional = interaction.scopes.filter((scope) => scope.optional).map(({ name }) => name);
  const missing = declined.filter((name) => !optional.includes(name));
  if (missing.length > 0) throw new ConsentInvalidError(`There is no check box for: ${missing.join(' ')}`);
  return flow.consent(
    ctx,
    interaction,
    optional.filter((name) => !declined.includes(name)),
  );
}
