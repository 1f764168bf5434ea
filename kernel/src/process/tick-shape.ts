import { executionAsyncResource } from 'node:async_hooks'

/**
 * One of the objects that Node.js creates for each call of `process.nextTick`, stored until the process ends.
 *
 * V8 discards the shape of objects if none of them survives some collections of the whole heap. Loading a product
 * causes that many. The keys of this object are computed, so no compiled code recreates a discarded shape. Each call,
 * and a request makes several, would then take five times as long until the process ends.
 */
const kept: object[] = []

process.nextTick(() => kept.push(executionAsyncResource()))
