import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import { key, type Logger, PlinthError, redact } from '@plinth/kernel'
import type { StopFailedError } from '@plinth/kernel/host'
import { toErrorLine } from '@plinth/kernel/host'
import fc from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import { escapeTerminalControls, maskLogLine } from '../src/logging/logger.ts'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

const secretKeys = { 'platform.a.password': key.string({ title: 'x', sensitive: true, required: true }) }
const password = 'S3cret "quoted"'
const set = { 'platform.a.password': password }
const planted = () => new Error(`connect to db with ${password}`, { cause: new Error(`no user a:${password}`) })

t.test('K-009 secrets are masked in errors of plugins, which stay otherwise unchanged', async (t) => {
  const nowhere = (text: string) => t.notMatch(text, /S3cret/)
  for (const phase of ['setup', 'ready'] as const) {
    const thrown = planted()
    const failing = createSamplePlugin('a', {
      config: secretKeys,
      setup({ onReady }) {
        if (phase === 'setup') throw thrown
        onReady(() => Promise.reject(thrown))
      },
    })
    const error = (await startForTest(productOf([failing]), { set }).catch((caught: unknown) => caught)) as PlinthError
    t.equal(error.message, `Plugin "a" failed in ${phase}: connect to db with ******.`)
    t.equal(error.cause, thrown)
    nowhere(inspect(error, { depth: 9 }))
  }

  const own = new PlinthError('ACME_DOWN', `no answer to ${password}`, 'Wait.')
  const coded = createSamplePlugin('a', { config: secretKeys, setup: () => Promise.reject(own) })
  const error = await startForTest(productOf([coded]), { set }).catch((caught: unknown) => caught)
  t.match(error, {
    code: /^PLINTH_START_FAILED$/,
    message: /ACME_DOWN: no answer to \*{6}\.$/,
    fix: 'Wait.',
    cause: own,
  })
  nowhere(inspect(error, { depth: 9 }))

  for (const odd of [password, Object.freeze(planted())]) {
    const rejecting = createSamplePlugin('a', { config: secretKeys, setup: () => Promise.reject(odd) })
    const { message } = (await startForTest(productOf([rejecting]), { set }).catch(
      (caught: unknown) => caught,
    )) as Error
    nowhere(message)
  }
  const loop = new Error(password)
  loop.cause = new AggregateError([loop, planted()], password)
  const stopping = createSamplePlugin('a', {
    config: secretKeys,
    setup: ({ onStop }) => onStop(() => Promise.reject(loop)),
  })
  const running = await startForTest(productOf([stopping]), { set })
  const failure = (await running.stop('test ended').catch((caught: unknown) => caught)) as StopFailedError
  t.equal(failure.message, 'The product stopped with 1 error(s).\n  a in stop: ******')
  nowhere(inspect(failure, { depth: 9 }))
})

t.test('K-009 the reason why a late resource could not be released is logged without secrets', async (t) => {
  const lines: string[] = []
  const logger: Logger = pino({ level: 'error' }, { write: (line) => void lines.push(line) })
  const gate = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const late = createSamplePlugin('a', {
    config: secretKeys,
    setupDeadlineMs: 1,
    async setup({ onStop }) {
      await gate.promise
      onStop(() => Promise.reject(planted()))
      setImmediate(opened.resolve)
    },
  })
  await rejectsWith(t, startForTest(productOf([late]), { set, logger }), { code: 'PLINTH_DEADLINE_PASSED' })
  gate.resolve()
  await opened.promise
  assertMembers(
    t,
    lines.map((line) => JSON.parse(line)),
    [
      {
        plugin: 'a',
        reason: 'connect to db with ******',
        msg: 'a resource that was opened late could not be released',
      },
    ],
  )
})

t.test('K-008 the log level changes while the product runs, also for plugins', async (t) => {
  const lines: { plugin?: string; msg: string }[] = []
  const logger: Logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  let own: Logger | undefined
  const talker = createSamplePlugin('talker', {
    setup({ log }) {
      own = log
    },
  })
  const running = await startForTest(productOf([talker]), { logger })
  assertMembers(t, lines.splice(0), [{ msg: 'started', plugins: 1 }])
  own?.debug('not yet')
  const row = { name: 'platform.log.level', by: 'key', written: 'debug', place: 'row 1' } as const
  await running.config.apply([row])
  own?.debug('now')
  running.log.debug('here too')
  assertMembers(t, lines.splice(0), [{ msg: 'now', plugin: 'talker' }, { msg: 'here too' }])
  await running.config.apply([])
  own?.debug('no more')
  await running.stop('test ended')
  assertMembers(t, lines, [{ msg: 'stopping', reason: 'test ended' }])
  t.equal(lines.length, 1)
})

t.test('K-008 warnings of the configuration are logged at start with code and place', async (t) => {
  const lines: object[] = []
  const logger: Logger = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const running = await startForTest(productOf([]), { logger, environment: { PLATFORM_OF_OTHERS: '1' } })
  assertMembers(t, lines, [
    { code: /^PLINTH_CONFIG_UNKNOWN_KEY$/, place: 'environment variable PLATFORM_OF_OTHERS', msg: /is not a key/ },
  ])
  await running.stop('test ended')
})

t.test('K-009 a masked line is JSON, whatever the secrets are', async (t) => {
  const odd = fc.oneof(
    fc.nat(),
    fc.constantFrom('"msg":"', '":"a', 'u0001', '"}\n', 'info","'),
    fc.string({ minLength: 4 }),
  )
  fc.assert(
    fc.property(fc.array(odd, { minLength: 1, maxLength: 3 }), fc.string(), fc.nat(), (secrets, msg, number) => {
      const hidden = secrets.map(String)
      const about = { number, secrets, also: hidden[0] }
      const line = `${JSON.stringify({ level: 'info', time: '12:00', ...about, msg: `\u0001${msg}` })}\n`
      const masked = maskLogLine(line, (text) => redact(text, hidden))
      assert.ok(masked.endsWith('\n'))
      const shown = JSON.parse(masked)
      assert.equal(typeof shown.msg, 'string')
      for (const secret of hidden.filter((text) => text.length >= 4 && !'info 12:00 ******'.includes(text))) {
        assert.ok(!JSON.stringify(Object.values(shown)).includes(`"${secret}"`))
      }
    }),
  )
  t.same(
    JSON.parse(
      maskLogLine('{"level":"info","time":"t","msg":"pin 98765432","n":98765432}\n', (text) =>
        redact(text, ['98765432']),
      ),
    ),
    {
      level: 'info',
      time: 't',
      msg: '{"level":"info","time":"t","msg":"pin ******","n":******}',
    },
  )
})

t.test('the log line of an error has the members that show its origin', async (t) => {
  const members = {
    code: 'ECONNREFUSED',
    errno: -111,
    syscall: 'connect',
    address: '10.0.0.7',
    port: 5432,
    path: '/run/x',
    status: 503,
    statusCode: 503,
    sqlState: '08006',
    reason: 'away',
  }
  t.hasStrict(toErrorLine(Object.assign(new Error('no connection'), members)), members)
})

t.test('K-009 the log line of an error has a limited size and contains no data that a library attached', async (t) => {
  const request = { headers: { authorization: 'caller-token' } }
  const inner = Object.assign(new TypeError('inner'), { code: 'E_INNER', request, sql: 'insert caller-token' })
  const line = toErrorLine(new AggregateError([inner, request, 'text'], 'outer', { cause: inner }))
  assertMembers(t, line, {
    type: 'AggregateError',
    message: 'outer',
    stack: /logger\.test/,
    cause: { type: 'TypeError', message: 'inner', code: /^E_INNER$/ },
    errors: [{ type: 'TypeError' }, { type: 'object' }, { type: 'string', message: 'text' }],
  })
  t.notMatch(JSON.stringify(line), 'caller-token')
  let chain = new Error('x'.repeat(2 ** 20))
  for (let depth = 0; depth < 1000; depth++)
    chain = new AggregateError(Array(1000).fill(chain), 'm'.repeat(2 ** 16), { cause: chain })
  t.ok(
    JSON.stringify(toErrorLine(Object.assign(new Error('y'.repeat(2 ** 20)), { code: 'z'.repeat(2 ** 20) }))).length <
      40_000,
  )
  t.ok(JSON.stringify(toErrorLine(chain)).length < 10 * 40_000)
  for (const odd of [
    undefined,
    null,
    7,
    Symbol('x'),
    () => {},
    Object.create(null),
    new Proxy(new Error(), throwing),
  ]) {
    t.type(toErrorLine(odd).message, 'string')
  }
})

const throwing: ProxyHandler<Error> = {
  get() {
    throw new Error('no member')
  },
  getPrototypeOf() {
    throw new Error('no prototype')
  },
}

t.test('no character of a log line can control the terminal', (t) => {
  const dangerous = 'a\u007f\u009b31m \u202e\u2066 \u200f'
  const line = `${JSON.stringify({ level: 'info', msg: dangerous })}\n`
  const json = escapeTerminalControls(line, false)
  t.equal(json, '{"level":"info","msg":"a\\u007f\\u009b31m \\u202e\\u2066 \\u200f"}\n')
  t.equal(JSON.parse(json).msg, dangerous, 'a program reads the text as it was')
  t.equal(JSON.parse(escapeTerminalControls(line, true)).msg, 'a\\u007f\\u009b31m \\u202e\\u2066 \\u200f')
  t.end()
})
