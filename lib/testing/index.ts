import '#runtime';

export { storageContract } from './storage-contract.ts';
export type { Assertions, RegisterTest } from './test-runner.ts';
