import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { storageContract } from 'koa-gatehouse/testing';

storageContract(test, memoryStorage);
