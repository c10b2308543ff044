import type { Moment } from '../time.ts';

/** What the views of the connected apps show below the heading. */
export interface ConnectionsView {
  readonly view: 'connections/list';
  readonly connections: readonly ConnectionRow[];
}

/** An app that the person has authorized. */
export interface ConnectionRow {
  readonly name: string;
  /** What it may do, in words; empty: everything that the person may do. */
  readonly scopes: readonly string[];
  readonly since: Moment;
  readonly lastUsed: Moment | undefined;
  readonly isDisabled: boolean;
  readonly disconnect: string;
}
