import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

import type { Context } from 'koa';

import type { Tokens } from './platform.ts';

/** The portal's session of a browser. */
export interface Session {
  /** Authorization requests without a response, oldest first: one per tab. */
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
 * The portal needs no database this way, and the browser cannot read the tokens.
 */
export class Sessions {
  readonly #key: Buffer;
  readonly #secure: boolean;

  constructor(key: string, secure: boolean) {
    this.#key = Buffer.from(key, 'base64url');
    this.#secure = secure;
  }

  /** The browser's session; an empty one if there is none, or if it cannot be decrypted. */
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
    // By the base URL, because the connection from a proxy to this server may be http.
    ctx.cookies.secure = this.#secure;
    // Lax, not Strict: the browser comes back from the platform's pages, which may be another site.
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
