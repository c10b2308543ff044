import type { User } from '../../../contracts/index.ts';
import type { AppUsage } from '../types.ts';
import type { AnswerApp, OfApp } from './request.ts';

/** What an app is, how it is connected, and what it did lately. */
export interface OverviewPage extends OfApp {
  readonly kind: 'overview';
  readonly status: 200;
  /** The owner, for an administrator. */
  readonly owner: User | undefined;
  /** `undefined` when audit events are not stored. */
  readonly usage: AppUsage | undefined;
}

export const showOverview: AnswerApp<OverviewPage> = async (_ctx, app) => {
  const { client, developer } = app;
  return {
    kind: 'overview',
    status: 200,
    ...app,
    owner: developer.administrator ? await developer.owner(client) : undefined,
    usage: await developer.usage(client.id),
  };
};
