/** Tests the connection between a frame and the back office without a browser. */
import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { until } from '@plinth/dev/testing'
import t from 'tap'
import { Cancelled, FrameBridge, type FrameShell, limits } from '../web/admin/pages/frames/frame-bridge.ts'
import { FrameFailure, type FrameRequest } from '../web/admin/pages/frames/frame-request.ts'

const common = { takesReason: false, hasBody: false, allowed: true, params: [], query: [], members: [] }
const operations = {
  list: { ...common, operation: 'list', method: 'GET', path: '/things', query: ['page', 'tags'] },
  one: { ...common, operation: 'one', method: 'GET', path: '/things/{id}', params: ['id'] },
  change: { ...common, operation: 'change', method: 'PUT', path: '/things', members: ['name'], label: 'Change' },
  move: {
    ...common,
    operation: 'move',
    method: 'PUT',
    path: '/things/{id}',
    params: ['id'],
    members: ['name'],
    label: 'Move',
    undo: { ...common, operation: 'one', method: 'GET', path: '/things/{id}' },
  },
  denied: { ...common, operation: 'denied', method: 'PUT', path: '/x', label: 'No', allowed: false, permission: 'x:y' },
}

/** Connects a frame. `next` returns the next message that the frame receives. */
function connected(teardown: (work: () => void) => void, parts: Partial<FrameShell> = {}, now = () => 0) {
  const { port1, port2 } = new MessageChannel()
  const seen: unknown[] = []
  const shell: FrameShell = {
    read: (operation, request) => {
      seen.push({ [operation.operation]: request })
      return Promise.resolve('read')
    },
    write: (_, request) => {
      seen.push({ write: request })
      return Promise.resolve('written')
    },
    isInUse: () => true,
    writeWithUndo: (_, request) => {
      seen.push({ moved: request.params })
      return Promise.resolve('moved')
    },
    errorOf: (error) =>
      error instanceof FrameFailure
        ? { code: error.code, message: '', field: error.subject }
        : { code: 'failed', message: String(error), field: null },
    ready: () => void seen.push('ready'),
    toast: (text) => void seen.push({ toast: text }),
    resize: (height) => void seen.push({ height }),
    stop: (reason) => void seen.push({ stop: reason }),
    ...parts,
  }
  const bridge = new FrameBridge(port1 as never, operations, shell, now)
  const received: unknown[] = []
  const readers: ((message: unknown) => void)[] = []
  port2.on('message', (text: string) => {
    const reader = readers.shift()
    if (reader === undefined) received.push(JSON.parse(text))
    else reader(JSON.parse(text))
  })
  teardown(() => {
    bridge.close()
    port2.close()
  })
  const next = () =>
    received.length > 0 ? Promise.resolve(received.shift()) : new Promise((resolve) => readers.push(resolve))
  const send = (message: unknown) => port2.postMessage(JSON.stringify(message))
  const call = (operation: unknown, request: object = {}) => {
    send({ type: 'call', id: 1, operation, ...request })
    return next()
  }
  /** Waits until the back office has seen these events and no others. */
  const expectSeen = (...events: unknown[]) =>
    until(() => JSON.stringify(seen) === JSON.stringify(events), `${JSON.stringify(events)} is seen`)
  return { seen, call, send, next, port: port2, bridge, expectSeen }
}

t.test('a declared operation is called with its declared request', async (t) => {
  const { call, seen } = connected(t.teardown)
  t.strictSame(await call('list', { query: { page: 2, tags: ['a', 'b'] } }), { type: 'result', id: 1, data: 'read' })
  t.strictSame(await call('one', { params: { id: 'a b' } }), { type: 'result', id: 1, data: 'read' })
  t.strictSame(await call('change', { body: { name: { first: 'A' } } }), { type: 'result', id: 1, data: 'written' })
  t.strictSame(seen, [
    { list: { params: {}, query: { page: 2, tags: ['a', 'b'] }, body: {} } },
    { one: { params: { id: 'a b' }, query: {}, body: {} } },
    { write: { params: {}, query: {}, body: { name: { first: 'A' } } } },
  ])
})

t.test('another operation, and a request that breaks the rules, is rejected', async (t) => {
  const { call, seen } = connected(t.teardown)
  const rejected: readonly (readonly [operation: unknown, request: object, code: string, field: string])[] = [
    ['other', {}, 'not-declared', ''],
    ['constructor', {}, 'not-declared', ''],
    [{}, {}, 'not-declared', ''],
    ['denied', {}, 'not-permitted', 'x:y'],
    ['one', {}, 'parameter', 'id'],
    ...['', '.', '..', '\ud800', null, {}, ['a']].map((id) => ['one', { params: { id } }, 'parameter', 'id'] as const),
    ['one', { params: { id: 1, other: 2 } }, 'parameter', 'other'],
    ['list', { query: { other: 1 } }, 'parameter', 'other'],
    ['list', { query: { page: { $gt: 0 } } }, 'parameter', 'page'],
    ['list', { query: ['page'] }, 'parameter', 'query'],
    ['list', { params: 'x' }, 'parameter', 'params'],
    ['change', { body: { name: 'x', isAdmin: true } }, 'parameter', 'isAdmin'],
  ]
  for (const [operation, request, code, field] of rejected)
    t.strictSame(
      await call(operation, request),
      { type: 'error', id: 1, error: { code, message: '', field } },
      `${JSON.stringify(operation)} ${JSON.stringify(request)}`,
    )
  t.strictSame(seen, [])
})

t.test('the calls at the same time are limited', async (t) => {
  let running = 0
  let most = 0
  const ends: (() => void)[] = []
  const { send, next } = connected(t.teardown, {
    async read() {
      running += 1
      most = Math.max(most, running)
      await new Promise<void>((resolve) => ends.push(resolve))
      running -= 1
    },
  })
  for (let id = 0; id <= limits.open; id++) send({ type: 'call', id, operation: 'list' })
  t.hasStrict(await next(), { type: 'error', id: limits.open, error: { code: 'busy' } }, 'one is too many')
  const results = Array.from({ length: limits.open }, next)
  while (running > 0) {
    for (const end of ends.splice(0)) end()
    await new Promise(setImmediate)
  }
  t.equal((await Promise.all(results)).length, limits.open, 'the others have a result')
  t.equal(most, limits.running)
})

t.test('too many messages stop the frame, and a new period begins after some seconds', async (t) => {
  let now = 0
  const { send, expectSeen } = connected(t.teardown, {}, () => now)
  const fill = () => {
    for (let count = 1; count < limits.messages; count++) send({ type: 'other' })
    send({ type: 'ready' })
  }
  fill()
  await expectSeen('ready')
  now = limits.periodMs
  fill()
  await expectSeen('ready', 'ready')
  send({ type: 'ready' })
  send({ type: 'ready' })
  await expectSeen('ready', 'ready', { stop: 'flooded' })
})

t.test('a message that is no text, or too long, stops the frame', async (t) => {
  for (const message of [{ type: 'ready' }, 'x'.repeat(limits.message + 1), new Uint8Array(9)]) {
    const { port, expectSeen } = connected(t.teardown)
    port.postMessage(message)
    await expectSeen({ stop: 'flooded' })
  }
})

t.test('other messages are checked', async (t) => {
  const { send, port, expectSeen } = connected(t.teardown)
  port.postMessage('not JSON')
  for (const message of [null, 7, [], { type: 'call', id: 'x' }, { type: 'toast', text: 7 }, { type: 'height' }])
    send(message)
  send({ type: 'ready' })
  send({ type: 'toast', text: 'x'.repeat(1_000) })
  send({ type: 'height', height: 1e9 })
  send({ type: 'height', height: -1 })
  send({ type: 'ready' })
  await expectSeen('ready', { toast: 'x'.repeat(limits.toast) }, { height: limits.height }, 'ready')
})

t.test('only one write waits for the operator, and three cancelled writes stop the frame', async (t) => {
  const decisions: { resolve(result: unknown): void; reject(error: Error): void }[] = []
  const write = (_: unknown, __: FrameRequest) => new Promise((resolve, reject) => decisions.push({ resolve, reject }))
  const { send, next, expectSeen } = connected(t.teardown, { write })
  const change = (id: number) => send({ type: 'call', id, operation: 'change', body: { name: 'x' } })
  change(1)
  change(2)
  t.hasStrict(await next(), { id: 2, error: { code: 'busy' } })
  const decide = async (id: number, decision: Error | string) => {
    change(id)
    await until(() => decisions.length === 1, 'the operator is asked')
    const last = decisions.pop()
    if (typeof decision === 'string') last?.resolve(decision)
    else last?.reject(decision)
  }
  decisions.pop()?.reject(new Cancelled())
  t.hasStrict(await next(), { id: 1, error: { code: 'cancelled' } })
  await decide(3, new Cancelled())
  t.hasStrict(await next(), { id: 3, error: { code: 'cancelled' } })
  await decide(4, 'done')
  t.hasStrict(await next(), { id: 4, data: 'done' }, 'a write that is not cancelled begins a new count')
  for (const id of [5, 6, 7]) await decide(id, new Cancelled())
  await expectSeen({ stop: 'insistent' })
})

t.test(
  'a write that can be undone needs no question while the operator works in the frame, with a pause between',
  async (t) => {
    let now = 0
    let isInUse = false
    const { call, seen } = connected(t.teardown, { isInUse: () => isInUse }, () => now)
    const move = async () => {
      seen.length = 0
      await call('move', { params: { id: 7 }, body: { name: 'x' } })
      return Object.keys(seen[0] as object)[0]
    }
    t.equal(await move(), 'write', 'a script that writes on its own asks')
    isInUse = true
    t.equal(await move(), 'moved')
    now = limits.betweenMs - 1
    t.equal(await move(), 'write', 'the next write comes too soon')
    now = limits.betweenMs
    t.equal(await move(), 'moved', 'a question does not begin a new pause')
    isInUse = false
    now = 1e9
    t.equal(await move(), 'write')
    isInUse = true
    await call('change', { body: { name: 'x' } })
    t.hasStrict(seen.at(-1), { write: { body: { name: 'x' } } }, 'a write without undo always asks')
  },
)

t.test('a closed bridge ends its calls and receives nothing', async (t) => {
  let signal: AbortSignal | undefined
  const { send, port, seen, bridge } = connected(t.teardown, {
    read: (_, __, given) => {
      signal = given
      return new Promise(() => {})
    },
  })
  send({ type: 'call', id: 1, operation: 'list' })
  await until(() => signal !== undefined, 'the call runs')
  const closed = once(port, 'close')
  send({ type: 'ready' })
  bridge.close()
  t.equal(signal?.aborted, true)
  await closed
  t.strictSame(seen, [])
})
