import { executionAsyncResource } from 'node:async_hooks'

/**
 * One of the objects that Node.js makes for each call of `process.nextTick`, kept for the life of the process.
 *
 * V8 forgets the shape of objects of which none has lived over some collections of the whole heap, and loading a product takes
 * so many. The keys of that object are computed, and once its shape is forgotten no compiled code makes it any more: each
 * call, of which a request takes several, takes five times as long until the process ends.
 */
const kept: object[] = []

process.nextTick(() => kept.push(executionAsyncResource()))
