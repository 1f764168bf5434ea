/** Tests the writes of the send log while a simulated database is slow, unavailable or rejects rows. */
import { type Database, type Parameter, selectionOf } from '@plinth/database'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { pino } from 'pino'
import t from 'tap'
import { SendLogRow } from '../src/entities.ts'
import { maxBacklogWeight, rowWeight, SendRecorder } from '../src/send-log/recorder.ts'
import { SendLogWriter } from '../src/send-log/send-log-writer.ts'

interface Insert {
  readonly rows: number
  readonly ids: readonly Parameter[]
}

const columns = selectionOf(SendLogRow).columns.length

/** Returns a recorder with a simulated database. The test defines the results of its inserts. */
function recorderOn(insert: (write: Insert) => Promise<unknown>) {
  const clock = manualClock()
  const lines: Record<string, unknown>[] = []
  const state = { lost: 0, isAway: false, newest: 0 }
  const db = {
    dialect: 'postgresql',
    newId: () => ++state.newest,
    ping: async () => {
      if (state.isAway) throw new Error('away')
    },
    // Rows whose insert failed are not in the database, so nothing is found.
    transactional: (work: (em: unknown) => Promise<unknown>) => work({ find: async () => [] }),
    fork: () => ({ isInTransaction: () => false }),
    async execute(sql: string, values: readonly Parameter[] = []) {
      if (sql.includes('notification_send_log_count')) return values.length / 2
      const ids = values.filter((_, index) => index % columns === 0)
      await insert({ rows: values.length / columns, ids })
      return values.length / columns
    },
  } as unknown as Database
  const writer = new SendLogWriter({
    db,
    clock,
    events: undefined,
    config: { get: () => false } as never,
    settings: { sendDeadlineMs: 10_000 },
    channels: new Map(),
    redact: (text) => text,
    ownerOf: async () => ({ userId: null, orgId: null }),
  })
  const recorder = new SendRecorder({
    db,
    clock,
    writer,
    log: pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
    countLost: (rows) => {
      state.lost += rows
    },
  })
  let sent = 0
  const record = (count: number, success = true, content = 'Hi') => {
    for (let index = 0; index < count; index++) {
      const id = `m-${++sent}`
      const message = { id, subject: '', content, variables: {}, recipients: [], attributes: {} }
      const outcome = success ? ('accepted' as const) : ('rejected' as const)
      const result = { channel: 'pager', success, outcome, messageId: id, errorCode: null, errorMessage: null }
      recorder.record('pager', { message, idempotencyKey: id, attempt: 1 }, message, result)
    }
  }
  const reported = (msg: string) => lines.filter((line) => line['msg'] === msg)
  return { recorder, clock, state, record, reported }
}

/** Waits until a condition is true, and lets the event loop run in between. */
async function until(holds: () => boolean) {
  for (let turns = 0; !holds(); turns++) {
    if (turns > 100_000) throw new Error('it never came to be')
    await new Promise((resolve) => setImmediate(resolve))
  }
}

t.test('records that arrive during a write are written next, and a blocked database loses nothing', async (t) => {
  const gate = Promise.withResolvers<void>()
  const written = new Set<Parameter>()
  let statements = 0
  const { recorder, record, state, reported } = recorderOn(async ({ ids }) => {
    await gate.promise
    statements++
    for (const id of ids) written.add(id)
  })
  record(1)
  await new Promise((resolve) => setImmediate(resolve))
  // Records the sends of 20 s at 2,000 sends per second.
  record(39_999)
  gate.resolve()
  await recorder.written()
  t.equal(written.size, 40_000)
  t.equal(state.lost, 0)
  t.ok(statements < 450, `${statements} statements`)
  t.same(reported('a send could not be stored in the send log'), [])
})

t.test('an unavailable database is tried again, and an unconfirmed write is repeated with the same ids', async (t) => {
  const written: Parameter[][] = []
  let tries = 0
  const { recorder, record, clock, state, reported } = recorderOn(async ({ ids }) => {
    if (state.isAway) {
      tries++
      throw new Error('connection lost')
    }
    written.push([...ids])
  })
  state.isAway = true
  record(300)
  await recorder.written()
  t.equal(tries, 1, 'a caller that waits for the rows is not delayed')
  for (let count = 2; count < 12; count++) {
    await clock.advance(5_000)
    await until(() => tries === count)
  }
  record(5)
  state.isAway = false
  await clock.advance(5_000)
  await until(() => written.flat().length === 305)
  t.equal(new Set(written.flat()).size, 305)
  t.equal(state.lost, 0)
  assertMembers(t, reported('the send log cannot be written; the write is retried'), [
    { level: 50, waiting: 300, reason: 'connection lost' },
  ])
  assertMembers(t, reported('the send log can be written again'), [{ level: 30, waiting: 304 }])
})

t.test('records that find no room are counted, and logged once at the beginning and once at the end', async (t) => {
  const gate = Promise.withResolvers<void>()
  let written = 0
  const { recorder, record, state, reported } = recorderOn(async ({ rows }) => {
    await gate.promise
    written += rows
  })
  const room = maxBacklogWeight / rowWeight
  record(room)
  record(70)
  t.equal(state.lost, 70)
  assertMembers(t, reported('a send could not be stored in the send log'), [
    { reason: 'too many rows wait for the database' },
  ])
  gate.resolve()
  await recorder.close()
  t.equal(written, room)
  t.equal(reported('a send could not be stored in the send log').length, 1)
  assertMembers(t, reported('sends could not be stored in the send log'), [{ rows: 70 }])

  const still = recorderOn(() => new Promise(() => {}))
  still.record(200, false, 'x'.repeat(500_000))
  t.ok(still.state.lost > 90 && still.state.lost < 110, `large messages take more room: ${still.state.lost} are lost`)
})

t.test('records that were written make room for others', async (t) => {
  let written = 0
  const { recorder, record, state } = recorderOn(async ({ rows }) => {
    written += rows
  })
  for (const turn of [1, 2, 3]) {
    record(60, false, 'x'.repeat(500_000))
    await until(() => written === 60 * turn)
  }
  t.equal(state.lost, 0)
  await recorder.close()
})

t.test('a row that the database rejects is given up, and does not delay the others', async (t) => {
  const written = new Set<Parameter>()
  const { recorder, record, clock, state, reported } = recorderOn(async ({ ids }) => {
    if (ids.includes(3)) throw new Error('no such text')
    for (const id of ids) written.add(id)
  })
  record(5)
  for (let count = 0; count < 40 && written.size < 4; count++) {
    await clock.advance(5_000)
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  t.equal(written.size, 4)
  t.equal(state.lost, 1)
  assertMembers(t, reported('a send could not be stored in the send log'), [
    { messageId: 'm-3', reason: /no such text/ },
  ])
  await recorder.close()
  record(1)
  t.equal(state.lost, 2, 'after the end nothing is taken')
  t.match(reported('a send could not be stored in the send log')[1], { channel: 'pager', reason: 'the product stops' })
})
