/** Tests the calls of the back office: what is sent, what a response means, and what counts as unreachable. */
import { mock } from 'node:test'
import { rejectsWith } from '@plinth/dev/testing'
import t from 'tap'
import { readLabelName } from '../web/admin/api/labels.ts'
import type { Attention } from '../web/admin/api/page-types.ts'
import { countOf, isStoredFile, valuesFromRow } from '../web/admin/api/row-values.ts'
import { loadBrowserModule } from './fixtures/browser-module.ts'

Object.assign(globalThis, { document: { baseURI: 'https://shop.example/ctx/admin/' } })
const { Api, CallFailure, Connection } = await loadBrowserModule('api/call.ts')
const { Proofs } = await loadBrowserModule('api/proofs.ts')

/** A channel between tabs that delivers messages in the test. */
const channelOf = (others: { onmessage?: ((event: never) => void) | null }[] = []) => {
  const channel = {
    onmessage: null,
    postMessage: (data: unknown) => {
      for (const other of others) if (other !== channel) other.onmessage?.({ data } as never)
    },
  }
  others.push(channel)
  return channel
}

const never = new AbortController().signal
const read = { method: 'GET', path: '/api/v1/shops/{id}' }
const write = { method: 'POST', path: '/api/v1/shops' }

/** Returns an API client whose requests are answered by `respond`. */
function clientOf(respond: (init: RequestInit) => Response | Promise<Response>, proofs = new Proofs(channelOf())) {
  const sent: { readonly url: string; readonly init: RequestInit }[] = []
  const seen = { signedOut: 0 }
  t.teardown(
    t.capture(globalThis, 'fetch', async (url: string, init: RequestInit) => {
      sent.push({ url, init })
      return respond(init)
    }).restore,
  )
  const connection = new Connection(() => 7)
  const api = new Api(
    () => 'zh-CN',
    () => void seen.signedOut++,
    connection,
    proofs,
  )
  return { api, sent, seen, connection, proofs }
}
const envelope = (code: string, data: unknown = null, status = 200) =>
  Response.json({ code, message: `message ${code}`, data }, { status, headers: { 'x-trace-id': 'trace' } })
/** The members of an error that the tests read. */
interface Failure {
  readonly kind: string
  readonly reason: string
  readonly traceId: string
  readonly message: string
  readonly faults: readonly object[]
}
const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => (error instanceof CallFailure ? (error as Failure) : undefined),
  )

t.test('a call has the path, the query, the language and the reason of its input', async (t) => {
  const { api, sent } = clientOf(() => envelope('200', { id: 1 }))
  const query = { q: 'a b', none: undefined, empty: '', nothing: null, ids: ['1', '2'], isOpen: false }
  t.strictSame(await api.call(read, { params: { id: 'a/b' }, query, signal: never }), { id: 1 })
  t.equal(sent[0]?.url, 'https://shop.example/ctx/api/v1/shops/a%2Fb?q=a+b&ids=1&ids=2&isOpen=false')
  t.strictSame(sent[0]?.init.headers, { accept: 'application/json', 'accept-language': 'zh-CN' })
  t.hasStrict(sent[0]?.init, { method: 'GET', cache: 'no-store', redirect: 'error', credentials: 'same-origin' })
  t.equal(sent[0]?.init.body, undefined)
  await api.call(write, { body: {}, reason: ' 退款 ', signal: never })
  t.equal(sent[1]?.init.body, '{}')
  t.strictSame(sent[1]?.init.headers, {
    accept: 'application/json',
    'accept-language': 'zh-CN',
    'content-type': 'application/json',
    'x-reason': '%E9%80%80%E6%AC%BE',
  })
  await api.call(write, { reason: ' ', signal: never })
  t.notOk('x-reason' in (sent[2]?.init.headers ?? {}))
})

t.test('each code of the server is one kind of error, and the end of the session is reported', async (t) => {
  let code = ''
  const { api, seen } = clientOf(() => envelope(code, { reason: 'shop.closed', field: 'name' }))
  for (const [next, kind] of Object.entries({
    400: 'invalid',
    401: 'signed-out',
    403: 'forbidden',
    404: 'missing',
    409: 'conflict',
    422: 'invalid',
    429: 'limited',
    500: 'failed',
    503: 'away',
  })) {
    code = next
    const failure = await failureOf(api.call(read, { signal: never }))
    t.equal(failure?.kind, kind, next)
    t.equal(failure?.traceId, 'trace')
    t.equal(failure?.reason, 'shop.closed')
    t.strictSame(failure?.faults, [{ field: 'name', message: `message ${next}` }])
  }
  t.equal(seen.signedOut, 0, 'a rejected code of another plugin does not end the session')
  const ended = clientOf(() => envelope('401', { reason: 'iam.token-missing' }))
  t.equal((await failureOf(ended.api.call(read, { signal: never })))?.kind, 'signed-out')
  t.equal(ended.seen.signedOut, 1)
  const errors = [{ field: 'a', message: 'b' }]
  t.strictSame(new CallFailure('invalid', '', { data: { errors, field: 'c' } }).faults, errors)
  t.strictSame(new CallFailure('failed', '', { data: { reason: 7 } }).reason, '')
  t.strictSame(new CallFailure('failed', '').faults, [])
})

const unproven = () => envelope('401', { reason: 'iam.proof-required', maxAgeSeconds: 300, methods: ['password'] })
const proofOf = { method: 'POST', path: '/api/v1/auth/proof' }
/** Ends the current turn, so that calls on their way are answered. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

t.test('calls that need a proof share one question, and continue after the proof with the same content', async (t) => {
  let isProven = false
  const { api, sent, seen, proofs } = clientOf(() => (isProven ? envelope('200', 'done') : unproven()))
  const shown: unknown[] = []
  proofs.subscribe(() => shown.push(proofs.current()?.methods))
  const keys = {}
  const calls = [1, 2, 3].map((item) => api.call(write, { body: { item }, reason: 'why', keys, signal: never }))
  await turn()
  t.equal(sent.length, 3)
  t.strictSame(shown, [['password']], 'one question')
  await proofs.prove(async () => {
    isProven = true
  })
  t.strictSame(await Promise.all(calls), ['done', 'done', 'done'])
  t.strictSame(shown, [['password'], undefined])
  t.equal(sent.length, 6)
  const contentOf = ({ url, init }: (typeof sent)[number]) => [url, init.method, init.body, init.headers]
  const sorted = (from: number) =>
    sent
      .slice(from, from + 3)
      .map(contentOf)
      .sort()
  t.strictSame(sorted(3), sorted(0), 'the same body, reason and idempotency key')
  t.equal(seen.signedOut, 0)
  t.strictSame(keys, {}, 'the outcome is known')
})

t.test('without a proof the call fails with a clear text, and the session goes on', async (t) => {
  const { api, sent, seen, proofs } = clientOf(unproven)
  const call = failureOf(api.call(write, { body: {}, keys: {}, signal: never }))
  await turn()
  await proofs.prove(() => Promise.reject(new Error('wrong password'))).catch(() => {})
  t.strictSame(proofs.current()?.methods, ['password'], 'a wrong proof leaves the question open')
  proofs.cancel('You did not prove your identity.')
  const failure = await call
  const { kind, reason, message } = failure ?? {}
  t.strictSame([kind, reason, message], ['unproven', 'iam.proof-required', 'You did not prove your identity.'])
  t.equal(sent.length, 1)
  t.equal(seen.signedOut, 0)
  const leaving = new AbortController()
  const [left, stays] = [api.call(write, { signal: leaving.signal }), failureOf(api.call(read, { signal: never }))]
  await turn()
  leaving.abort(new Error('left'))
  await rejectsWith(t, left, { message: 'left' })
  t.ok(proofs.current(), 'another call still waits')
  proofs.cancel('')
  t.equal((await stays)?.message, 'message 401', 'the message of the server')
  const last = new AbortController()
  const closed = api.call(write, { signal: last.signal })
  await turn()
  last.abort(new Error('left'))
  await rejectsWith(t, closed, { message: 'left' })
  t.equal(proofs.current(), undefined, 'no call waits, so nothing is asked')
})

t.test('a call that a proof has overtaken is repeated once with the new token', async (t) => {
  const tabs: Parameters<typeof channelOf>[0] = []
  const [proofs, otherTab] = [new Proofs(channelOf(tabs)), new Proofs(channelOf(tabs))]
  const invalid = () => envelope('401', { reason: 'iam.token-invalid' })
  const responses: Response[] = []
  const { api, sent, seen } = clientOf(() => responses.shift() ?? invalid(), proofs)
  for (const by of [proofs, otherTab]) {
    const sentBefore = sent.length
    const proof = Promise.withResolvers<void>()
    const proving = by.prove(() => proof.promise)
    responses.push(invalid(), envelope('200', 'read'))
    const call = api.call(read, { signal: never })
    await turn()
    t.equal(sent.length, sentBefore + 1, 'waits for the running proof')
    proof.resolve()
    await proving
    t.equal(await call, 'read')
  }
  t.equal(seen.signedOut, 0)
  const other = Promise.withResolvers<void>()
  const running = otherTab.prove(() => other.promise)
  const second = proofs.prove(() => Promise.reject(new Error('sent twice')))
  other.resolve()
  await Promise.all([running, second])
  const before = sent.length
  t.equal((await failureOf(api.call(read, { signal: never })))?.kind, 'signed-out')
  t.equal(sent.length, before + 1, 'an ended session is not asked twice')
  t.equal(seen.signedOut, 1)
  const wrong = api.call(proofOf, { body: {}, isProof: true, signal: never })
  t.equal((await failureOf(wrong))?.kind, 'signed-out', 'a proof is never repeated')
})

t.test('the server is unreachable if nothing or only a proxy responds', async (t) => {
  let response = () => envelope('200')
  const { api, connection } = clientOf(() => response())
  const call = async () => {
    const failure = await failureOf(api.call(read, { signal: never }))
    return [failure?.kind, connection.current()]
  }
  response = () => envelope('502', null, 502)
  t.strictSame(await call(), ['away', 7], 'an envelope of a proxy')
  response = () => envelope('503', null, 503)
  t.strictSame(await call(), ['away', undefined], 'the product says that it is busy')
  response = () => new Response('<html>', { status: 504 })
  t.strictSame(await call(), ['away', 7])
  response = () => new Response('<html>', { status: 404 })
  t.strictSame(await call(), ['away', undefined], 'not an envelope, but a server that responds')
  response = () => {
    throw new TypeError('Failed to fetch')
  }
  t.strictSame(await call(), ['away', 7])
  response = () => envelope('500', null, 500)
  t.strictSame(await call(), ['failed', undefined])
  const left = AbortSignal.abort(new Error('left'))
  response = () => left.throwIfAborted() as never
  await rejectsWith(t, api.call(read, { signal: left }), { message: 'left' })
  t.equal(connection.current(), undefined, 'a cancelled call says nothing about the server')
})

t.test('a call without a response ends after thirty seconds', async (t) => {
  // The types of Node.js do not contain this API yet.
  mock.timers.enable({ apis: ['AbortSignal.timeout' as never] })
  t.teardown(() => mock.timers.reset())
  let given = never
  const { api, connection } = clientOf(({ signal }) => {
    given = signal ?? never
    return new Promise((_, reject) => given.addEventListener('abort', () => reject(given.reason)))
  })
  const call = failureOf(api.call(read, { signal: never }))
  mock.timers.tick(29_999)
  t.equal(given.aborted, false)
  mock.timers.tick(1)
  t.equal((await call)?.kind, 'away')
  t.equal(connection.current(), 7)
})

t.test('a write is repeated with its key until its outcome is known', async (t) => {
  let response = envelope('200')
  const { api, sent } = clientOf(() => response)
  const keys = {}
  const send = async (next: Response, body: object = { a: 1 }) => {
    response = next
    await failureOf(api.call(write, { body, keys, signal: never }))
    return new Headers(sent.at(-1)?.init.headers).get('idempotency-key')
  }
  const first = await send(envelope('503', null, 503))
  t.match(first, /^\d+(?:-\d+){3}$/)
  t.equal(await send(envelope('409', { reason: 'idempotency.in-progress' })), first)
  t.not(await send(envelope('503', null, 503), { a: 2 }), first, 'another write')
  t.equal(await send(envelope('409', { reason: 'version' })), first)
  const second = await send(envelope('503', null, 503))
  t.not(second, first, 'the server has rejected the first')
  t.equal(await send(envelope('200')), second)
  t.not(await send(envelope('200')), second)
  response = envelope('200')
  await api.call(read, { signal: never })
  t.notOk('idempotency-key' in (sent.at(-1)?.init.headers ?? {}), 'a read has no key')
})

t.test('the time since which the server is unreachable is that of the first failed call', (t) => {
  let now = 1
  let reported = 0
  const connection = new Connection(() => now)
  const stop = connection.subscribe(() => void reported++)
  connection.regain()
  connection.lose()
  now = 2
  connection.lose()
  t.equal(connection.current(), 1)
  connection.regain()
  t.equal(connection.current(), undefined)
  t.equal(reported, 2)
  stop()
  connection.lose()
  t.equal(reported, 2)
  t.end()
})

t.test('names that a page needs at the same time are read in one call per kind and language', async (t) => {
  const requested: { readonly kind: unknown; readonly ids: readonly string[] }[] = []
  const api = {
    async call<T>(_: unknown, { query }: { readonly query: Readonly<Record<string, unknown>> }) {
      const ids = query['ids'] as readonly string[]
      requested.push({ kind: query['kind'], ids })
      return { items: ids.filter((id) => id !== 'gone').map((id) => ({ id: Number(id), name: `name ${id}` })) } as T
    },
  }
  const names = ['1', '2', '1', 'gone'].map((id) => readLabelName(api, 'user', id, 'en'))
  const others = [readLabelName(api, 'shop', '1', 'en'), readLabelName(api, 'user', '1', 'zh-CN')]
  t.strictSame(await Promise.all(names), ['name 1', 'name 2', 'name 1', null])
  await Promise.all(others)
  t.strictSame(requested, [
    { kind: 'user', ids: ['1', '2', 'gone'] },
    { kind: 'shop', ids: ['1'] },
    { kind: 'user', ids: ['1'] },
  ])
  await readLabelName(api, 'user', '1', 'en')
  t.equal(requested.length, 4, 'a later page reads again')
  const many = Array.from({ length: 201 }, (_, id) => readLabelName(api, 'user', String(id), 'en'))
  t.equal((await Promise.all(many)).at(-1), 'name 200')
  t.strictSame(
    requested.slice(4).map(({ ids }) => ids.length),
    [200, 1],
  )
})

t.test('a condition counts the rows that match it, and whose member is filled', (t) => {
  const attention = (more: Partial<Attention>) => more as Attention
  const rows = [
    { state: 'failed', note: 'x' },
    { state: 'failed', note: '' },
    { state: 'done', note: 'x' },
  ]
  t.equal(countOf(attention({}), rows), 3)
  t.equal(countOf(attention({}), { items: rows, total: 9 }), 3)
  t.equal(countOf(attention({ where: { state: 'failed' } }), rows), 2)
  t.equal(countOf(attention({ where: { state: 'failed' }, filled: 'note' }), rows), 1)
  t.equal(countOf(attention({ count: 'jobs.failed' }), { jobs: { failed: 4 } }), 4)
  t.equal(countOf(attention({ count: 'jobs.failed' }), { jobs: null }), 0)
  t.equal(countOf(attention({ count: 'jobs' }), { jobs: rows }), 3)
  const empty = [0, '', null, [], undefined].map((note) => ({ note }))
  t.equal(countOf(attention({ filled: 'note' }), [...empty, { note: [1] }, { note: 1 }]), 2)
  t.end()
})

t.test('parameters come from members of the row, from lists of members, and from the page', (t) => {
  const sources = { id: { field: 'user.id' }, both: { list: ['a', 'b'] }, state: { value: 'open' } }
  const row = { user: { id: 7 }, a: 1, b: null }
  t.strictSame(valuesFromRow(sources, row), { id: 7, both: [1, null], state: 'open' })
  t.strictSame(valuesFromRow(undefined, row), {})
  t.equal(isStoredFile({ id: 'f', name: 'a.png', url: '/f' }), true)
  for (const other of [{ id: 'f', name: 'a.png' }, { id: 7, name: 'a', url: '/' }, null, 'f'])
    t.equal(isStoredFile(other), false, JSON.stringify(other))
  t.end()
})
