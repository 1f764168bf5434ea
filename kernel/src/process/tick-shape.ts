import { executionAsyncResource } from 'node:async_hooks'

/**
 * Keeps one of the objects that Node.js creates for each call of `process.nextTick`.
 *
 * V8 discards the hidden class of such objects if none of them survives several full garbage collections, as happens
 * while a product loads. It is then not recreated in optimised form, because the keys of these objects are computed.
 * From then on, each call of `process.nextTick` would take five times as long, and each request makes several calls.
 */
const kept: object[] = []

process.nextTick(() => kept.push(executionAsyncResource()))
