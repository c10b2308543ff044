import type { Seconds } from '../contracts/index.ts';

/** Something that a receiver has to be told, until it confirms it or a day has passed. */
export interface Delivery {
  readonly id: string;
  readonly createdAt: Seconds;
  /** Who answers for the receiver, such as the owner of an app; `undefined` when the platform does. */
  readonly ownerId: string | undefined;
  /** When the receiver is told, or told again; `undefined` when it has confirmed the delivery, or is not told any more. */
  readonly dueAt: Seconds | undefined;
  /** How many attempts have ended. An attempt whose result was not stored, such as that of a node that died, does not count. */
  readonly attempts: number;
  /** A random id of the attempt under way: another node may take over what a node that died has begun. */
  readonly attempt: string | undefined;
  /** When the last attempt ended; `undefined` before. */
  readonly answeredAt: Seconds | undefined;
  /** Why the last attempt failed, such as `timeout`; `undefined` when it did not fail. */
  readonly error: string | undefined;
  /** When the row can be pruned. */
  readonly expiresAt: Seconds;
}

/** A delivery that a node has taken. */
export type Taken<D extends Delivery> = D & {
  /** The URI at which the receiver is told now; `undefined` when the receiver was deleted, or is not told any more. */
  readonly uri: string | undefined;
};

/** A delivery that is due, with what decides whether it may begin now. */
export interface DueDelivery {
  readonly id: string;
  readonly receiverId: string;
  readonly ownerId: string | undefined;
  readonly uri: string | undefined;
}

/** The deliveries that are not listed, because they may not begin now. */
export interface LeftOut {
  readonly receiverIds: readonly string[];
  readonly ownerIds: readonly string[];
  /** Whether to leave out all deliveries for which the platform does not answer. */
  readonly owned: boolean;
}

/** How an attempt has ended. */
export interface Outcome {
  /** 1 for the first attempt to tell the receiver of this. */
  readonly attempt: number;
  /** Why the attempt failed, such as `timeout` or `status 500`; `undefined` when the receiver has confirmed the delivery. */
  readonly error: string | undefined;
  /** `false` when the receiver is told again. */
  readonly isLast: boolean;
  readonly seconds: Seconds;
}

/** Deliveries that are taken by any number of nodes. */
export interface DeliveryStore<D extends Delivery> {
  /**
   * Lists due deliveries, one for each receiver and owner: the untried delivery that was due first or, without an untried one, the
   * delivery that was due first. The list begins with the deliveries for which the platform answers; among these, and among the others,
   * untried deliveries come first, and then the order is that of their due times.
   *
   * @param page.except - the deliveries to leave out
   */
  listDue(page: {
    readonly now: Seconds;
    readonly limit: number;
    readonly except: LeftOut;
  }): Promise<readonly DueDelivery[]>;
  /**
   * Takes the deliveries that are still due, and makes each of them due again at `leasedUntil`. Of concurrent callers, on any number of
   * nodes, exactly one gets a delivery.
   */
  take(
    attempt: string,
    ids: readonly string[],
    times: { readonly now: Seconds; readonly leasedUntil: Seconds },
  ): Promise<readonly Taken<D>[]>;
  /**
   * Stores how attempts have ended, each once. Leaves a delivery unchanged when another attempt for it has begun since.
   *
   * @param result.dueAt - when the receiver is told again; `undefined` when it is not told any more
   */
  finish(
    attempts: readonly Pick<Delivery, 'id' | 'attempt'>[],
    result: Pick<Delivery, 'answeredAt' | 'dueAt' | 'error'>,
  ): Promise<void>;
}
