import type { Made } from './endings.ts';
import { appOf } from './known.ts';
import type { Known, Open } from './known.ts';
import type { Begun, Ended } from './operations.ts';
import type { BegunAs } from './token-rules.ts';
import type { Verdicts } from './verdicts.ts';

interface Session extends Made {
  readonly user: number;
}

/** The rules of authorizations: login sessions, consents, and the redirect to the client. */
export class BrowserRules {
  readonly #known: Known;
  readonly #verdicts: Verdicts;
  readonly #sessions = new Map<number, Session>();
  /** By user and client; `undefined`: not known. A browser makes one request at a time, so nothing overlaps. */
  readonly #consents = new Map<string, boolean | undefined>();

  constructor(known: Known, verdicts: Verdicts) {
    this.#known = known;
    this.#verdicts = verdicts;
  }

  endAuthorization(begun: BegunAs<'authorization'>, ended: Ended): void {
    const { user } = begun;
    const { walk } = ended;
    this.#checkSession(begun, ended);
    if (walk?.session !== undefined)
      this.#sessions.set(walk.session, { user, from: walk.loggedInAt!, until: ended.at });
    this.#checkConsent(begun, ended);
    if (walk?.code !== undefined) {
      this.#takeCode(begun, ended, { code: walk.code, from: walk.requestedAt!, until: ended.at });
    } else if (ended.status !== 0 && ended.status !== 503) {
      const made = { from: begun.at, until: ended.at };
      this.#verdicts.expectEnded(this.#known.partiesOf(begun, made), begun, ended);
    }
  }

  endDisconnection(open: Open, begun: BegunAs<'disconnect app'>, ended: Ended): void {
    const app = appOf(begun);
    this.#checkSession(begun, ended);
    if (ended.walk?.askedToLogIn) {
      open.ending!.settle('none', ended.at);
    } else if (ended.walk) {
      open.ending!.settle('done', ended.at);
      this.#consents.set(app, false);
    } else {
      open.ending!.settle('perhaps', ended.at);
      if (this.#consents.get(app)) this.#consents.set(app, undefined);
    }
  }

  #takeCode(
    begun: BegunAs<'authorization'>,
    ended: Ended,
    { code, ...made }: Made & { readonly code: number },
  ): void {
    const { user, client } = begun;
    if (!ended.walk!.isForRequest)
      this.#verdicts.report('own data only', 'state or iss of another request', begun, ended);
    if (this.#known.families.has(code)) {
      this.#verdicts.report('own data only', 'the code of another answer', begun, ended);
      return;
    }
    this.#known.families.set(code, {
      user,
      client,
      ...made,
      endings: [],
      grant: undefined,
      wasPresented: false,
      exchangedAt: Infinity,
      exchanges: new Set(),
    });
  }

  /** A session lasts until its user is revoked, and no longer. Without one, there is no code without a login. */
  #checkSession(begun: Begun & { readonly session?: number | undefined }, ended: Ended): void {
    const session = this.#sessions.get(begun.session ?? -1);
    const { walk } = ended;
    if (!walk || ended.status === 0) return;
    if (!session) {
      if (!walk.askedToLogIn && walk.code !== undefined)
        this.#verdicts.report('own data only', 'a code without a login', begun, ended);
      return;
    }
    const scopes = [this.#known.scopeOfUser(session.user, session)];
    if (walk.askedToLogIn) this.#verdicts.expectEnded(scopes, begun, ended);
    else this.#verdicts.expectNotEnded(scopes, begun, ended);
  }

  /** A consent is asked for once, and again after it was withdrawn. */
  #checkConsent(begun: BegunAs<'authorization'>, ended: Ended): void {
    const { askedToConsent = false, code } = ended.walk ?? {};
    const app = appOf(begun);
    const consent = this.#consents.get(app);
    const isKnown = consent !== undefined || !this.#consents.has(app);
    if (askedToConsent && consent)
      this.#verdicts.report('nothing lost', 'the user has consented before', begun, ended);
    if (code !== undefined && !askedToConsent && isKnown && !consent)
      this.#verdicts.report('nothing revived', 'the user was not asked for consent', begun, ended);
    if (code !== undefined) this.#consents.set(app, true);
    else if (askedToConsent && !consent) this.#consents.set(app, undefined);
  }
}
