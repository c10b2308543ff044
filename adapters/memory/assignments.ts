import type { AssignmentStore } from '../../lib/contracts/index.ts';
import { copy } from './copy.ts';
import type { Tables } from './tables.ts';

/** Who holds what. */
export function assignmentStore({ assignments }: Tables): AssignmentStore {
  return {
    async find(userId) {
      return copy(assignments.get(userId) ?? { roles: [], permissions: [] });
    },
    async save(userId, assignment) {
      assignments.set(userId, copy(assignment));
    },
    async remove(userId) {
      return assignments.delete(userId);
    },
  };
}
