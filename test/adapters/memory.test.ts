// Alone: the contract of the storage on SQLite in this thread, which keeps what else is in the process waiting.
import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { storageContract } from '../storage/storage-contract.ts';

storageContract(test, memoryStorage);
