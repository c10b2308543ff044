import type { Context } from 'koa';
import type { User } from '../../lib/contracts/index.ts';
import type { Site } from '../site.ts';

/** A request of somebody who is signed in. */
export interface Visit {
  readonly ctx: Context;
  readonly site: Site;
  readonly user: User;
  /** URL path of the connected apps. */
  readonly home: string;
}
