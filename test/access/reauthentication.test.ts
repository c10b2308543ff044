import test from '../harness/test.ts';

import type { AuthFailure } from '../../lib/access/challenge.ts';
import { AUTH_FAILURES } from '../../lib/access/challenge.ts';
import { createReauthentication } from '../../lib/access/reauthentication.ts';
import type { Principal } from '../../lib/contracts/index.ts';
import type { Problem } from '../../lib/http/problem.ts';
import { API } from './platform.ts';

const personNamed = (id: string): Principal => ({ type: 'user', user: { id } }) as unknown as Principal;
const first = personNamed('1');
const second = personNamed('2');
const ENDED: Problem = { status: 401, code: 'login_required', detail: 'Log in.' };

/** A request with a token or a session, each of whose reads a test answers in turn. */
function start() {
  const clock = { time: 1_000_000 };
  const codes: string[] = [];
  const reads: PromiseWithResolvers<Principal | Problem | AuthFailure>[] = [];
  const read = async (): Promise<Principal | Problem | AuthFailure> => {
    const next = Promise.withResolvers<Principal | Problem | AuthFailure>();
    reads.push(next);
    return next.promise;
  };
  const cached: { principal: Principal | undefined } = { principal: undefined };
  const again = createReauthentication({
    api: API,
    authenticator: {
      findCached: () => cached.principal && ({ principal: cached.principal } as never),
      async authenticate() {
        const result = await read();
        return 'code' in result ? (result as AuthFailure) : ({ principal: result } as never);
      },
    },
    now: () => clock.time,
    onEnd: ({ code }) => codes.push(code),
    revocationLag: 5,
  });
  const ofSession = again.ofSession({} as never, first, async () => (await read()) as Principal | Problem);
  return { cached, clock, codes, ofSession, ofToken: again.ofToken('token'), reads };
}

test('a token is read again when the cache does not have it', async (t) => {
  const { cached, ofToken, reads } = start();
  cached.principal = first;
  t.is(ofToken(), first);
  cached.principal = undefined;
  const reading = ofToken();
  reads[0]!.resolve(second);
  t.is(await reading, second);
  t.is(reads.length, 1);
});

test('a session is read again after `revocationLag`, and when the clock was set back', async (t) => {
  const { clock, ofSession, reads } = start();
  clock.time += 4999;
  t.is(ofSession(), first);
  clock.time += 1;
  const reading = ofSession();
  clock.time += 3000;
  reads[0]!.resolve(second);
  t.is(await reading, second);
  // Counted from the beginning of the read, which includes every earlier change.
  clock.time += 1999;
  t.is(ofSession(), second);
  clock.time += 1;
  void ofSession();
  t.is(reads.length, 2);
  clock.time -= 60_000;
  void ofSession();
  t.is(reads.length, 3);
});

test('what has ended stays ended for the request, without another read, and is reported once', async (t) => {
  const { cached, codes, ofToken, reads } = start();
  const [one, other] = [ofToken(), ofToken()];
  reads[0]!.resolve(AUTH_FAILURES.revoked);
  t.like(await one, { status: 401, code: 'token_revoked' });
  reads[1]!.resolve(first);
  t.is(await other, await one, 'a read that began before');
  cached.principal = first;
  t.is(ofToken(), await one);
  t.is(reads.length, 2);
  t.deepEqual(codes, ['token_revoked']);

  const session = start();
  session.clock.time += 5000;
  const ended = session.ofSession();
  session.reads[0]!.resolve(ENDED);
  t.is(await ended, ENDED);
  session.clock.time -= 5000;
  t.is(session.ofSession(), ENDED);
  t.deepEqual(session.codes, ['login_required']);
});

test('a read that fails is thrown, and ends nothing', async (t) => {
  const { codes, ofToken, reads } = start();
  const failing = ofToken();
  reads[0]!.reject(new Error('the database is away'));
  await t.throwsAsync(async () => failing, { message: 'the database is away' });
  const reading = ofToken();
  reads[1]!.resolve(first);
  t.is(await reading, first);
  t.deepEqual(codes, []);
});
