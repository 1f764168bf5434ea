/** Tests the row of a send and its next attempt. */
import type { Database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { onSqlite } from '@plinth/dev/testing/database'
import type { NotificationMessage, OutcomeName } from '@plinth/kernel'
import t from 'tap'
import type { SendResult } from '../src/contract.ts'
import { SendLogWriter, type SendLogWriterDependencies } from '../src/send-log/send-log-writer.ts'
import { startSendLog } from './fixtures/send-log-product.ts'

const values: Readonly<Record<string, unknown>> = {
  'platform.notification.retry.enabled': true,
  'platform.notification.retry.max-attempts': 3,
  'platform.notification.retry.first-delay': 1_000,
  'platform.notification.retry.factor': 2,
  'platform.notification.retry.longest-delay': 60_000,
}
const message: NotificationMessage = {
  id: 'm-1',
  subject: 'Hi',
  content: '',
  variables: {},
  recipients: [],
  attributes: {},
}

/** Returns a writer without a database, with the channels `once` and `safe`. */
const createWriter = (more: Partial<SendLogWriterDependencies> = {}) =>
  new SendLogWriter({
    db: {} as Database,
    events: { publish: async () => undefined as never, isHandled: () => false },
    clock: { now: () => 5_000 },
    config: { get: (name: string) => values[name] } as never,
    settings: { sendDeadlineMs: 10_000 },
    channels: new Map([
      ['once', { traits: { idempotent: false } }],
      ['safe', { traits: { idempotent: true } }],
    ]),
    redact: (text) => text,
    ownerOf: async () => ({ userId: null, orgId: null }),
    ...more,
  })

/** Starts an entry, and returns a function that sets its outcome. */
function begin(writer: SendLogWriter, channel: string, attempt = 1, isRetried = true) {
  const entry = writer.entryOf(channel, { message, idempotencyKey: 'k', attempt, isRetried }, message)
  const conclude = (outcome: OutcomeName, more: Partial<SendResult> = {}) => {
    const success = outcome === 'accepted'
    const result = { channel, success, outcome, messageId: 'm-1', errorCode: null, errorMessage: null, ...more }
    writer.conclude(entry, result)
  }
  return { entry, conclude }
}

/** Returns the status of a send after this outcome, and whether the message is sent again. */
function concluded(outcome: OutcomeName, more: Partial<SendLogWriterDependencies> = {}, attempt = 1) {
  const of = (channel: string) => {
    const { entry, conclude } = begin(createWriter(more), channel, attempt)
    conclude(outcome)
    return [entry.row.status, entry.retryInMs !== undefined]
  }
  return { once: of('once'), safe: of('safe') }
}

t.test('B26 one class decides the state of a row and its retry', (t) => {
  t.same(concluded('accepted'), { once: ['success', false], safe: ['success', false] })
  t.same(concluded('rejected'), { once: ['failed', false], safe: ['failed', false] })
  t.same(concluded('deferred'), { once: ['waiting', true], safe: ['waiting', true] })
  t.same(concluded('unknown'), { once: ['unknown', false], safe: ['waiting', true] }, 'nothing is sent twice')
  t.same(concluded('deferred', {}, 3), { once: ['failed', false], safe: ['failed', false] }, 'after the last attempt')
  t.same(
    concluded('deferred', { events: undefined }),
    { once: ['failed', false], safe: ['failed', false] },
    'a product without events sends nothing again automatically',
  )
  t.end()
})

t.test('B26 the channel decides the first delays, and a wait for a rate limit is no attempt', (t) => {
  const nextOf = (attempt: number, more: Partial<SendResult>, isRetried = true) => {
    const { entry, conclude } = begin(createWriter(), 'once', attempt, isRetried)
    conclude('deferred', more)
    const { status, outcome, claimedUntil } = entry.row
    return [status, outcome, claimedUntil?.getTime(), entry.retryInMs]
  }
  const limited = { retryAfterMs: 700, isAttempted: false }
  t.same(
    {
      requested: nextOf(1, { retryAfterMs: 7 }),
      limited: nextOf(3, limited),
      last: nextOf(3, { retryAfterMs: 7 }),
      direct: [nextOf(1, { retryAfterMs: 7 }, false), nextOf(1, limited, false)],
    },
    {
      requested: ['waiting', 'deferred', 5_007, 7],
      limited: ['waiting', null, 5_700, 700],
      last: ['failed', 'deferred', undefined, undefined],
      direct: [
        ['failed', 'deferred', undefined, undefined],
        ['failed', null, undefined, undefined],
      ],
    },
  )
  t.end()
})

onSqlite(t, 'a write that is repeated, because its commit was not confirmed, plans no second retry', async (t, at) => {
  const { db, list, summary } = await startSendLog(t, at)
  const planned: unknown[] = []
  const publish: NonNullable<SendLogWriterDependencies['events']>['publish'] = async (_event, payload) => {
    planned.push(payload)
    return 1
  }
  const writer = createWriter({ db, events: { publish, isHandled: () => false } })
  const { entry, conclude } = begin(writer, 'safe')
  await writer.write([entry])
  conclude('unknown')
  for (let writes = 0; writes < 2; writes++) await writer.write([entry])
  t.same(planned, [{ logId: entry.id }])
  assertMembers(t, await list(), { total: 1, items: [{ id: entry.id, status: 'waiting' }] })
  t.match(await summary(), { total: 1, waiting: 1, sending: 0 })
})
