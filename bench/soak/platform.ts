/** What the driver and the nodes agree on. */

// Nothing listens there: the driver sends each request to one of the nodes.
export const ISSUER = 'http://127.0.0.1:4000';
export const REDIRECT_URI = 'https://reports.example/callback';
export const PASSWORD = 'correct horse';
export const KEY_ENCRYPTION_KEY = 'a soak keeps no secret: its database is removed at the end';

// In seconds.
export const REVOCATION_LAG = 2;
export const REFRESH_GRACE = 60;
export const CODE_LIFETIME = 60;

/** What a node is started with. */
export interface NodeSettings {
  /** Of the database. */
  readonly address: string;
  /** Whether it imports the package's sources, instead of what is published. */
  readonly fromSources: boolean;
}

/** What a node says when it listens, and when it logs an error. */
export type NodeMessage = { readonly port: number } | { readonly error: string };

export function userId(user: number): string {
  return `user-${user}`;
}
