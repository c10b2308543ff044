import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

import type { Context } from 'koa';

import type { Tokens } from './platform.ts';

/** What the portal remembers of a browser. */
export interface Session {
  /** Authorization requests that have not come back yet, oldest first: one per tab. */
  readonly pending: readonly { readonly state: string; readonly codeVerifier: string }[];
  readonly tokens?: Tokens | undefined;
  /** Ids of the documents that were uploaded, the newest first. */
  readonly documents?: readonly string[] | undefined;
  /** Shown on the next page, once. */
  readonly notice?: Notice | undefined;
}

export interface Notice {
  readonly kind: 'success' | 'plain' | 'problem';
  readonly text: string;
}

const COOKIE = 'partner_portal';
const EMPTY: Session = { pending: [] };

/**
 * Reads and writes the portal's sessions: cookies that are encrypted and authenticated (AES-256-GCM).
 *
 * The portal needs no database this way, and a browser never holds a token that it could read.
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #secure: boolean;

  constructor(key: string, secure: boolean) {
    this.#key = Buffer.from(key, 'base64url');
    this.#secure = secure;
  }

  /** The browser's session; an empty one when there is none, or when it cannot be opened. */
  read(ctx: Context): Session {
    const sealed = Buffer.from(ctx.cookies.get(COOKIE) ?? '', 'base64url');
    try {
      const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(0, 12), {
        authTagLength: 16,
      });
      decipher.setAuthTag(sealed.subarray(12, 28));
      const text = decipher.update(sealed.subarray(28), undefined, 'utf8') + decipher.final('utf8');
      const session: Session = JSON.parse(text);
      return session;
    } catch {
      return EMPTY;
    }
  }

  write(ctx: Context, session: Session): void {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce, { authTagLength: 16 });
    const text = Buffer.concat([cipher.update(JSON.stringify(session), 'utf8'), cipher.final()]);
    const sealed = Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url');
    // The base URL says how people come here; the last hop from a proxy may be plain http.
    ctx.cookies.secure = this.#secure;
    // Lax, not Strict: the person comes back from the platform's pages, which may be another site.
    ctx.cookies.set(COOKIE, sealed, {
      path: '/portal',
      httpOnly: true,
      sameSite: 'lax',
      secure: this.#secure,
      overwrite: true,
      signed: false,
    });
  }
}
