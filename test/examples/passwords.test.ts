import test from 'ava';

import { hashPassword, makePassword, verifyPassword } from '../../examples/server/passwords.ts';

test('a password is recognised by its hash, and no other is', async (t) => {
  const password = makePassword();
  const hash = await hashPassword(password);
  t.false(hash.includes(password));
  t.not(hash, await hashPassword(password));
  t.true(await verifyPassword(hash, password));
  for (const other of ['', `${password} `, password.toUpperCase(), '\0', 'x'.repeat(100_000)]) {
    t.false(await verifyPassword(hash, other));
  }
});

test('a hash that was made on a Node.js without Argon2 is read everywhere', async (t) => {
  const hash = '$scrypt$ln=14,r=8,p=5$c2l4dGVlbiBieXRlcyEhIQ$a-MCk4wCqn6RVRs3C7Ugs6GLKouA0Bfd6kG6aQjV7wc';
  t.true(await verifyPassword(hash, 'correct horse'));
  t.false(await verifyPassword(hash, 'battery staple'));
});

test('a hash of another kind is an error, not a wrong password', async (t) => {
  await t.throwsAsync(verifyPassword('$2b$10$abcdefghijklmnopqrstuv', 'x'), {
    message: /was hashed in a way/,
  });
});
