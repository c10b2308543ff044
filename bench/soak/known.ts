import type { Ending, Made, Scope } from './endings.ts';
import type { Begun } from './operations.ts';

/** A code, its grant and all tokens of it. */
export interface Family extends Made {
  readonly user: number;
  readonly client: number;
  readonly endings: Ending[];
  /** The claim `grant_id`, once there is a token. */
  grant: string | undefined;
  wasPresented: boolean;
  /** When the answer of an exchange with tokens arrived. */
  exchangedAt: number;
  /** Without an answer yet. */
  readonly exchanges: Set<Open>;
}

export interface RefreshToken {
  readonly family: Family;
  successor: number | undefined;
  /** When it was first presented. */
  firstBegin: number;
  /** When the first answer with a successor arrived. */
  redeemedAt: number;
}

export interface AccessToken extends Made {
  /** `undefined`: a client's own. */
  readonly family: Family | undefined;
  readonly client: number;
  endings: Ending[] | undefined;
}

/** An operation without an answer yet, and what it ends. */
export interface Open {
  readonly begun: Begun;
  ending: Ending | undefined;
}

const NONE: readonly Ending[] = [];

/** Everything that was answered, by its number, and what was ended. */
export class Known {
  readonly families: Map<number, Family> = new Map();
  readonly refreshTokens: Map<number, RefreshToken> = new Map();
  readonly accessTokens: Map<number, AccessToken> = new Map();
  readonly #endedUsers = new Map<number, Ending[]>();
  readonly #endedClients = new Map<number, Ending[]>();
  readonly #endedApps = new Map<string, Ending[]>();

  /** Where the ending of an operation belongs; `undefined` for one that is not there to end anything. */
  endingsBy(begun: Begun): Ending[] | undefined {
    switch (begun.kind) {
      case 'revoke access token':
        return (this.accessTokens.get(begun.access)!.endings ??= []);
      case 'revoke refresh token':
        return this.refreshTokens.get(begun.token)!.family.endings;
      case 'revoke grant':
        return this.families.get(begun.code)!.endings;
      case 'revoke user':
        return listOf(this.#endedUsers, begun.user);
      case 'revoke client':
        return listOf(this.#endedClients, begun.client);
      case 'disconnect app':
        return listOf(this.#endedApps, appOf(begun));
      default:
        return undefined;
    }
  }

  /** What ends a code and its tokens. */
  scopesOf(family: Family): Scope[] {
    return [
      { endings: family.endings },
      ...this.partiesOf(family, family),
      { endings: this.#endedApps.get(appOf(family)) ?? NONE, made: family },
    ];
  }

  /** @param lag - the delay after which no node issues a token that is revoked already, in milliseconds */
  scopesOfToken({ client, endings, family, from, until }: AccessToken, lag: number): Scope[] {
    const own: Scope[] = endings ? [{ endings }] : [];
    if (family) return own.concat(this.scopesOf(family));
    const made = { from, until };
    return own.concat({ endings: this.#endedClients.get(client) ?? NONE, made, makingLag: lag });
  }

  /** What ends an authorization that is under way. */
  partiesOf({ client, user }: { readonly user: number; readonly client: number }, made: Made): Scope[] {
    return [this.scopeOfUser(user, made), { endings: this.#endedClients.get(client) ?? NONE, made }];
  }

  /** What ends a login session. */
  scopeOfUser(user: number, made: Made): Scope {
    return { endings: this.#endedUsers.get(user) ?? NONE, made };
  }
}

export function appOf({ user, client }: { readonly user: number; readonly client: number }): string {
  return `${user} ${client}`;
}

function listOf<K>(lists: Map<K, Ending[]>, key: K): Ending[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}
