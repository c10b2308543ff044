import test from '../../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { storageContract } from '../../storage/storage-contract.ts';

storageContract(test, memoryStorage);
