import type { DeviceCode, DeviceCodeStore } from '../../lib/contracts/index.ts';
import { insertGrant } from './grants.ts';
import { copy, copyWithPayload, throwIfTaken } from './tables.ts';
import type { Tables } from './tables.ts';

/** Device authorization requests. */
export function deviceCodeStore(tables: Tables): DeviceCodeStore {
  const { deviceCodes } = tables;

  function findByUserCode(userCodeId: string): DeviceCode | undefined {
    return [...deviceCodes.values()].find((code) => code.userCodeId === userCodeId);
  }

  function findOpen(id: string, now: number): DeviceCode | undefined {
    const code = deviceCodes.get(id);
    return code && code.answer === undefined && code.expiresAt > now ? code : undefined;
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
      const code = deviceCodes.get(id);
      if (!code || (code.polledAt ?? 0) > since) return false;
      deviceCodes.set(id, { ...code, polledAt: at });
      return true;
    },
    async approve(grant, credential, prerequisites, now) {
      const code = findOpen(credential.id, now);
      if (!code || !insertGrant(tables, grant, credential, prerequisites)) return false;
      deviceCodes.set(code.id, { ...code, answer: 'approved' });
      return true;
    },
    async deny(id, now) {
      const code = findOpen(id, now);
      if (code) deviceCodes.set(id, { ...code, answer: 'denied' });
      return code !== undefined;
    },
  };
}
