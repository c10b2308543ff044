import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { storageContract } from '../storage/storage-contract.ts';

storageContract(test, memoryStorage);
