/**
 * Storage in the memory of one process, for tests and first steps.
 *
 * @module koa-gatehouse/adapters/memory
 */
import '#runtime';

export { memoryStorage } from './memory-storage.ts';
