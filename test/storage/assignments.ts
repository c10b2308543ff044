import { LOOKALIKES } from './rows.ts';
import { testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function assignmentContract(register: StorageTest): void {
  const test = testsOf(register, 'assignments');

  const nothing = { roles: [], permissions: [] };

  test('assignments: find returns what was saved, and empty lists for every other user id', async (t, assignments) => {
    const assignment = { roles: ['registrar', 'Schulträger “ü” 🎒'], permissions: ['view_schools'] };
    await assignments.save('Id', assignment);
    t.deepEqual(await assignments.find('Id'), assignment);
    for (const userId of [...LOOKALIKES, '', '%']) t.deepEqual(await assignments.find(userId), nothing);
  });

  test('assignments: save replaces roles and permissions together, also with twenty calls at once', async (t, assignments) => {
    await assignments.save('ann', { roles: ['registrar'], permissions: ['view_schools'] });
    await assignments.save('ann', { roles: [], permissions: ['edit_schools'] });
    t.deepEqual(await assignments.find('ann'), { roles: [], permissions: ['edit_schools'] });
    const saved = Array.from({ length: 20 }, (_, index) => ({
      roles: [`r${index}`],
      permissions: [`p${index}`],
    }));
    await Promise.all(saved.map(async (assignment) => assignments.save('ann', assignment)));
    const { roles, permissions } = await assignments.find('ann');
    t.is(`p${roles[0]?.slice(1)}`, permissions[0], 'roles and permissions of one call');
  });

  test('assignments: delete returns whether there was an assignment', async (t, assignments) => {
    await assignments.save('ann', { roles: ['registrar'], permissions: [] });
    await assignments.save('bob', nothing);
    t.true(await assignments.delete('ann'));
    t.false(await assignments.delete('ann'));
    t.deepEqual(await assignments.find('ann'), nothing);
    t.true(await assignments.delete('bob'));
  });

  test('assignments: stores user ids of 255 characters and lists of 5000 permissions', async (t, assignments) => {
    const users = ['x'.repeat(255), `${'x'.repeat(254)}y`, '🎒'.repeat(255)];
    const permissions = Array.from({ length: 5000 }, (_, index) => `permission_${index}`);
    for (const userId of users) await assignments.save(userId, { roles: [userId], permissions });
    for (const userId of users) {
      t.deepEqual(await assignments.find(userId), { roles: [userId], permissions });
    }
  });

  test('assignments: changing a saved or returned object does not change the stored one', async (t, assignments) => {
    const given = { roles: ['registrar'], permissions: [] };
    await assignments.save('ann', given);
    given.roles.push('changed');
    Object.assign(await assignments.find('ann'), { roles: ['changed'] });
    Object.assign(await assignments.find('unknown'), { roles: ['changed'] });
    t.deepEqual(await assignments.find('ann'), { roles: ['registrar'], permissions: [] });
    t.deepEqual(await assignments.find('unknown'), nothing);
  });
}
