import type { DeviceCode, DeviceCodeStore, Seconds } from '../../lib/contracts/index.ts';
import { insertGrant } from './grants.ts';
import { changeRow, copy, copyWithPayload, throwIfTaken } from './tables.ts';
import type { Tables } from './tables.ts';

/** Device authorization requests. */
export function deviceCodeStore(tables: Tables): DeviceCodeStore {
  const { deviceCodes } = tables;

  function findByUserCode(userCodeId: string): DeviceCode | undefined {
    return [...deviceCodes.values()].find((code) => code.userCodeId === userCodeId);
  }

  return {
    async insert(code) {
      throwIfTaken(deviceCodes, code.id);
      const sameUserCode = findByUserCode(code.userCodeId);
      if (sameUserCode) throwIfTaken(deviceCodes, sameUserCode.id);
      deviceCodes.set(code.id, copyWithPayload(code));
    },
    async find(id) {
      return copy(deviceCodes.get(id));
    },
    async findByUserCode(userCodeId) {
      return copy(findByUserCode(userCodeId));
    },
    async poll(id, { at, since }) {
      return changeRow(deviceCodes, id, ({ polledAt = 0 }) => polledAt <= since && { polledAt: at });
    },
    async approve(grant, credential, prerequisites, now) {
      return changeRow(
        deviceCodes,
        credential.id,
        (code) =>
          isOpen(code, now) &&
          insertGrant(tables, grant, credential, prerequisites) && { answer: 'approved' as const },
      );
    },
    async deny(id, now) {
      return changeRow(deviceCodes, id, (code) => isOpen(code, now) && { answer: 'denied' as const });
    },
  };
}

function isOpen({ answer, expiresAt }: DeviceCode, now: Seconds): boolean {
  return answer === undefined && expiresAt > now;
}
