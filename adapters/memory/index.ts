import '#runtime';

export { memoryStorage } from './memory-storage.ts';
