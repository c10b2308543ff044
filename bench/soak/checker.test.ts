import test from '../../test/harness/test.ts';

import { Checker } from './checker.ts';
import type { Answer, Begun, Subject } from './operations.ts';

const LAG = 2000;
const GRACE = 60_000;

const OWNER = { user: 7, client: 1, grant: 'g' };

/** A checker, and a run that is told to it: each operation takes a millisecond, and begins when the one before has ended. */
function startHistory(): {
  checker: Checker;
  begin: (subject: Subject, node?: number) => Begun;
  end: (begun: Begun, answer: Answer) => void;
  does: (subject: Subject, answer: Answer, node?: number) => void;
  pass: (milliseconds: number) => void;
  found: () => string[];
} {
  const checker = new Checker({ revocationLag: LAG, refreshGrace: GRACE, codeLifetime: 60_000 });
  let at = 0;
  let count = 0;
  const begin = (subject: Subject, node = 0): Begun => {
    count += 1;
    at += 1;
    const begun: Begun = { ...subject, number: count, at, node };
    checker.begin(begun);
    return begun;
  };
  const end = ({ number }: Begun, answer: Answer): void => {
    at += 1;
    checker.end({ ...answer, number, at });
  };
  return {
    checker,
    begin,
    end,
    does: (subject, answer, node) => end(begin(subject, node), answer),
    pass(milliseconds) {
      at += milliseconds;
    },
    found: () => checker.violations.map(({ rule, what }) => `${rule}: ${what}`),
  };
}

/** User 7 has logged in and connected the app 1: code 1, access token 1, refresh token 1. */
function startConnected(): ReturnType<typeof startHistory> {
  const history = startHistory();
  history.does(
    { kind: 'authorization', user: 7, client: 1 },
    {
      status: 303,
      walk: {
        code: 1,
        requestedAt: 1,
        askedToLogIn: true,
        askedToConsent: true,
        session: 1,
        loggedInAt: 1,
        isForRequest: true,
      },
    },
  );
  history.does({ kind: 'code exchange', code: 1 }, { status: 200, owner: OWNER, access: 1, refresh: 1 });
  return history;
}

const USE: Subject = { kind: 'guarded request', access: 1 };
const GOOD: Answer = { status: 200, owner: { user: 7, client: 1 } };
const REVOKED: Answer = { status: 401, error: 'token_revoked' };
const INVALID: Answer = { status: 400, error: 'invalid_grant' };
const LOST: Answer = { status: 0 };
const REFRESH: Subject = { kind: 'refresh', token: 1 };

function refreshed(number: number): Answer {
  return { status: 200, owner: OWNER, access: number, refresh: number };
}

test('a run without faults passes, with nodes that do not answer', (t) => {
  const { begin, does, end, found, pass } = startConnected();
  does(USE, GOOD);
  does(REFRESH, LOST);
  does(REFRESH, refreshed(2));
  does(REFRESH, { ...refreshed(2), access: 3 });
  const [one, other] = [begin({ kind: 'refresh', token: 2 }, 0), begin({ kind: 'refresh', token: 2 }, 1)];
  end(one, refreshed(4));
  end(other, { ...refreshed(4), access: 5 });
  const revocation = begin({ kind: 'revoke refresh token', token: 4 }, 0);
  does(USE, GOOD, 0);
  does(USE, REVOKED, 1);
  end(revocation, { status: 200 });
  does(USE, REVOKED, 0);
  does(USE, GOOD, 1);
  pass(LAG);
  does({ kind: 'refresh', token: 4 }, INVALID);
  does(
    { kind: 'authorization', user: 7, client: 1, session: 1 },
    {
      status: 303,
      walk: { code: 2, requestedAt: 1, askedToLogIn: false, askedToConsent: false, isForRequest: true },
    },
  );
  does({ kind: 'code exchange', code: 2 }, LOST);
  does({ kind: 'code exchange', code: 2 }, INVALID);
  t.deepEqual(found(), []);
});

test('two winners', (t) => {
  const { does, found } = startConnected();
  does({ kind: 'code exchange', code: 1 }, { ...refreshed(2), owner: OWNER });
  does(REFRESH, refreshed(3));
  does(REFRESH, refreshed(4));
  t.deepEqual(found(), ['one winner: a second answer with tokens', 'one winner: its successor is 3']);
});

test('a lost token', (t) => {
  const { does, found } = startConnected();
  does(USE, REVOKED);
  does(REFRESH, INVALID);
  t.deepEqual(found(), ['nothing lost: nothing has ended it', 'nothing lost: nothing has ended it']);
});

test('a token that another revocation did not end', (t) => {
  const { does, found } = startConnected();
  does({ kind: 'revoke user', user: 8 }, { status: 200 });
  does({ kind: 'revoke client', client: 2 }, { status: 200 });
  does(
    { kind: 'disconnect app', user: 7, client: 2, session: 1 },
    {
      status: 303,
      walk: { askedToLogIn: false, askedToConsent: false },
    },
  );
  does(USE, REVOKED);
  t.deepEqual(found(), ['nothing lost: nothing has ended it']);
});

test('a refusal that only an operation under way could explain, which then did not end it', (t) => {
  const { begin, does, end, found, pass } = startConnected();
  does(REFRESH, refreshed(2));
  does({ kind: 'refresh', token: 2 }, refreshed(3));
  pass(GRACE + 1000);
  const reuse = begin(REFRESH);
  does(USE, REVOKED);
  t.deepEqual(found(), []);
  end(reuse, { ...refreshed(2), access: 9 });
  t.deepEqual(found(), ['nothing lost: nothing has ended it', 'nothing revived: a reuse after the grace']);
});

for (const [title, ending] of [
  ['grant', { kind: 'revoke grant', code: 1 }],
  ['family', { kind: 'revoke refresh token', token: 1 }],
  ['user', { kind: 'revoke user', user: 7 }],
  ['client', { kind: 'revoke client', client: 1 }],
] as const satisfies readonly (readonly [string, Subject])[]) {
  test(`a revived ${title}`, (t) => {
    const { checker, does, pass } = startConnected();
    does(ending, { status: 200 }, 0);
    does(REFRESH, refreshed(2), 1);
    does(USE, GOOD, 1);
    does(USE, GOOD, 0);
    pass(LAG + 200);
    does(USE, GOOD, 1);
    t.deepEqual(
      checker.violations.map(({ rule, begun }) => [rule, begun.kind, begun.node]),
      [
        ['nothing revived', 'refresh', 1],
        ['nothing revived', 'guarded request', 0],
        ['nothing revived', 'guarded request', 1],
      ],
    );
  });
}

test('an access token that lives on, and a disconnected app', (t) => {
  const { does, found } = startConnected();
  does({ kind: 'revoke access token', access: 1 }, { status: 200 });
  does(USE, GOOD);
  does(REFRESH, refreshed(2));
  does(
    { kind: 'disconnect app', user: 7, client: 1, session: 1 },
    {
      status: 303,
      walk: { askedToLogIn: false, askedToConsent: false },
    },
  );
  does({ kind: 'refresh', token: 2 }, refreshed(3));
  t.deepEqual(
    found().map((text) => text.replace(/ at .*/, '')),
    [
      'nothing revived: operation 3 (revoke access token) ended it',
      'nothing revived: operation 6 (disconnect app) ended it',
    ],
  );
});

test('a reuse that is accepted, and one whose family lives on', (t) => {
  const { does, found, pass } = startConnected();
  does(REFRESH, refreshed(2));
  pass(GRACE + 1000);
  does(REFRESH, { ...refreshed(2), access: 3 });
  does({ kind: 'refresh', token: 2 }, refreshed(4));
  does(REFRESH, INVALID);
  does({ kind: 'refresh', token: 4 }, refreshed(5));
  t.deepEqual(
    found().map((text) => text.replace(/ at .*/, '')),
    ['nothing revived: a reuse after the grace', 'nothing revived: operation 6 (refresh) ended it'],
  );
});

test('the refusal of a code that may have expired need not end its family', (t) => {
  const { does, found, pass } = startConnected();
  pass(GRACE + 1000);
  does({ kind: 'code exchange', code: 1 }, INVALID);
  does(REFRESH, refreshed(2));
  t.deepEqual(found(), []);
});

test('a reuse that is refused during a revocation at another node need not be what ended the family', (t) => {
  const { begin, does, end, found, pass } = startConnected();
  does(REFRESH, refreshed(2));
  does({ kind: 'refresh', token: 2 }, refreshed(3));
  pass(GRACE + 1000);
  const revocation = begin({ kind: 'revoke user', user: 7 }, 0);
  does(REFRESH, INVALID, 1);
  does(USE, GOOD, 1);
  end(revocation, { status: 200 });
  does(USE, REVOKED, 0);
  t.deepEqual(found(), []);
});

test('a repeated refresh that is answered when the grace is over may be refused, and one before may not', (t) => {
  const { begin, does, end, found, pass } = startConnected();
  does(REFRESH, refreshed(2));
  pass(GRACE - 5000);
  does(REFRESH, { ...refreshed(2), access: 3 });
  const repeated = begin(REFRESH);
  pass(10_000);
  end(repeated, INVALID);
  does(USE, REVOKED);
  t.deepEqual(found(), []);

  const other = startConnected();
  other.does(REFRESH, refreshed(2));
  other.pass(GRACE - 5000);
  other.does(REFRESH, INVALID);
  t.deepEqual(other.found(), ['nothing lost: nothing has ended it']);
});

test("another user's data", (t) => {
  const { does, found } = startConnected();
  does(USE, { status: 200, owner: { user: 8, client: 1 } });
  does(REFRESH, { ...refreshed(2), owner: { ...OWNER, grant: 'h' } });
  does({ kind: 'client credentials', client: 9 }, { status: 200, owner: OWNER, access: 3 });
  does({ kind: 'client credentials', client: 9 }, { status: 200, owner: { client: 9 }, access: 1 });
  t.deepEqual(found(), [
    `own data only: it is for {"user":7,"client":1}`,
    `own data only: it is for {"user":7,"client":1,"grant":"g"}`,
    `own data only: it is for {"client":9}`,
    `own data only: the access token of another answer`,
  ]);
});

test('sessions and consents', (t) => {
  const { does, found } = startConnected();
  const authorization: Subject = { kind: 'authorization', user: 7, client: 1, session: 1 };
  const walk = { requestedAt: 5, askedToLogIn: false, askedToConsent: false, isForRequest: true };
  does(authorization, {
    status: 303,
    walk: { ...walk, code: 2, askedToLogIn: true, session: 2, loggedInAt: 5 },
  });
  does(authorization, { status: 303, walk: { ...walk, code: 3, askedToConsent: true } });
  does({ ...authorization, client: 2 }, { status: 303, walk: { ...walk, code: 4 } });
  does({ ...authorization, session: undefined }, { status: 303, walk: { ...walk, code: 5 } });
  does(authorization, { status: 303, walk: { ...walk, code: 6, isForRequest: false } });
  does({ kind: 'revoke user', user: 7 }, { status: 200 });
  does(authorization, { status: 303, walk: { ...walk, code: 7 } });
  t.deepEqual(
    found().map((text) => text.replace(/ at .*/, '')),
    [
      'nothing lost: nothing has ended it',
      'nothing lost: the user has consented before',
      'nothing revived: the user was not asked for consent',
      'own data only: a code without a login',
      'own data only: state or iss of another request',
      'nothing revived: operation 8 (revoke user) ended it',
    ],
  );
});

test('answers that are not documented', (t) => {
  const { does, found } = startConnected();
  does(USE, { status: 500 });
  does(USE, { status: 401, error: 'token_invalid' });
  does({ kind: 'prune' }, { status: 500 });
  does({ kind: 'prune' }, { status: 503 });
  t.deepEqual(found(), [
    'documented answers: status 500',
    'documented answers: code token_invalid',
    'nothing lost: nothing has ended it',
    'documented answers: status 500',
  ]);
});
