import type { InteractionFlow } from '../lib/contracts.ts';
import type { ShowPage } from './page.ts';
import type { Texts } from './text.ts';
import type { Clock } from './time.ts';

/** What all pages of one server share. */
export interface Site {
  readonly flow: InteractionFlow;
  readonly show: ShowPage;
  readonly text: Texts;
  /** The brand's name. */
  readonly brand: string;
  readonly clock: Clock;
}
