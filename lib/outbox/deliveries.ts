import type { Seconds } from '../contracts/index.ts';

/** Something that a receiver has to be told, until it confirms it or a day has passed. */
export interface Delivery {
  readonly id: string;
  readonly createdAt: Seconds;
  /** Who answers for the receiver, such as the owner of an app. `undefined`: the platform. */
  readonly ownerId: string | undefined;
  /** When the receiver is told, or told again; `undefined`: it was told, or is not told any more. */
  readonly dueAt: Seconds | undefined;
  /** How many attempts have ended. One whose result was not stored, as of a node that died, does not count. */
  readonly attempts: number;
  /** A random id of the attempt under way: another node may take over what a node that died has begun. */
  readonly attempt: string | undefined;
  /** When the last attempt ended; `undefined` before. */
  readonly answeredAt: Seconds | undefined;
  /** Why the last attempt failed, such as `timeout`; `undefined`: it did not. */
  readonly error: string | undefined;
  /** The row can be pruned then. */
  readonly expiresAt: Seconds;
}

/** A delivery that a node has taken. */
export type Taken<D extends Delivery> = D & {
  /** Where the receiver is told at this moment; `undefined`: it was deleted, or is not told any more. */
  readonly uri: string | undefined;
};

/** A delivery that is due, with what decides whether it may begin now. */
export interface DueDelivery {
  readonly id: string;
  readonly receiverId: string;
  readonly ownerId: string | undefined;
  readonly uri: string | undefined;
}

/** What is not listed, because it may not begin now. */
export interface LeftOut {
  readonly receiverIds: readonly string[];
  readonly ownerIds: readonly string[];
  /** All for which the platform does not answer. */
  readonly owned: boolean;
}

/** How an attempt has ended. */
export interface Outcome {
  /** 1 for the first attempt to tell the receiver of this. */
  readonly attempt: number;
  /** Why it failed, such as `timeout` or `status 500`; `undefined`: the receiver has confirmed it. */
  readonly error: string | undefined;
  /** `false`: the receiver is told again. */
  readonly isLast: boolean;
  readonly seconds: Seconds;
}

/** Deliveries that are taken by any number of nodes. */
export interface DeliveryStore<D extends Delivery> {
  /**
   * Lists what is due: of each receiver and owner the delivery that was due first, of those that have not been tried if there is one. Those
   * for which the platform answers are before the others; then, those that have not been tried; then, those that were due first.
   *
   * @param page.except - what is left out
   */
  listDue(page: {
    readonly now: Seconds;
    readonly limit: number;
    readonly except: LeftOut;
  }): Promise<readonly DueDelivery[]>;
  /**
   * Takes those of the deliveries that are still due, and makes each of them due again at `leasedUntil`. Of concurrent callers, on any
   * number of nodes, exactly one gets a delivery.
   */
  take(
    attempt: string,
    ids: readonly string[],
    times: { readonly now: Seconds; readonly leasedUntil: Seconds },
  ): Promise<readonly Taken<D>[]>;
  /**
   * Stores how attempts have ended, each once. Changes nothing of a delivery of which another attempt has begun since.
   *
   * @param result.dueAt - when the receiver is told again. `undefined`: not any more
   */
  finish(
    attempts: readonly Pick<Delivery, 'id' | 'attempt'>[],
    result: Pick<Delivery, 'answeredAt' | 'dueAt' | 'error'>,
  ): Promise<void>;
}
