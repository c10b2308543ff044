import type { Moment } from '../time.ts';

/** What the views of the connected apps show below the heading. */
export interface ConnectionsView {
  readonly view: 'connections/list';
  readonly connections: readonly ConnectionRow[];
}

/** An app that the person has authorized. */
export interface ConnectionRow {
  readonly name: string;
  /** What it may do, in words. */
  readonly scopes: readonly string[];
  /** `false`: everything that the person may do. With `true` and no scopes, nothing. */
  readonly limited: boolean;
  readonly since: Moment;
  readonly lastUsed: Moment | undefined;
  readonly isDisabled: boolean;
  readonly disconnect: string;
}
