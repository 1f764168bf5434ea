/** Tests changes of keys while the product runs, and starts that fail because of such changes. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { key, PlinthError } from '@plinth/kernel'
import { SettingsTrial, StartRejectedError } from '@plinth/kernel/host'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startWithFallback, startWithSettingsTrial } from '../src/cli/trial-start.ts'
import { type PrepareOptions, prepareProduct } from '../src/product.ts'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

const patienceMs = 120_000
const unreachable = new PlinthError('PLINTH_START_FAILED', 'Plugin "database" failed', 'Mend it', {
  cause: new PlinthError('ACME_UNREACHABLE', 'no server at 127.0.0.1:1.', 'Start it', { unavailable: true }),
})
const unusable = new PlinthError('PLINTH_START_FAILED', 'Plugin "database" failed.', 'Mend it', {
  cause: new PlinthError('ACME_RIGHTS', 'the user may not create tables', 'Grant it'),
})

async function trialOf(t: Test, before: string | null = 'HOST=old\nPASSWORD=s3cret\n') {
  const root = t.testdir({})
  const file = join(root, '.env')
  if (before !== null) writeFileSync(file, before)
  const trial = new SettingsTrial(file)
  await trial.begin({ patienceMs, about: 'connection' })
  writeFileSync(file, 'HOST=new\n')
  const record = `${file}.trial`
  const clock = manualClock()
  const said: string[] = []
  const stop = new AbortController()
  const host = () => /HOST=(\w+)/.exec(existsSync(file) ? readFileSync(file, 'utf8') : 'HOST=none')?.[1] ?? ''
  const tries: string[] = []
  const run = (start: (signal: AbortSignal) => Promise<string>) =>
    startWithSettingsTrial({
      trial,
      clock,
      signal: stop.signal,
      progress: (text: string) => said.push(text),
      start: (signal) => {
        tries.push(`${clock.monotonic()} ${host()}`)
        return start(signal)
      },
    })
  /**
   * Waits until a timer is set, and then advances the clock. The code reads files between two timers, so a timer may be
   * set late.
   */
  const pass = async (ms: number) => {
    await until(() => clock.sleepers !== 0, 'a timer is set', 0)
    await clock.advance(ms)
  }
  return { trial, file, record, said, stop, host, run, tries, pass }
}

t.test(
  'a plugin declares the key with the path of the settings file, and the file that is read is known',
  async (t) => {
    const root = t.testdir({
      '.env': 'PLATFORM_SHOP_NAME=usual\nPLATFORM_SHOP_FILE=ignored.env\n',
      'a.env': 'PLATFORM_SHOP_NAME=a\n',
      'b.env': 'PLATFORM_SHOP_NAME=b\n',
    })
    const config = {
      'platform.shop.file': key.string({ title: 'File', default: '.env', scope: 'process' }),
      'platform.shop.name': key.string({ title: 'Name', default: 'none' }),
    }
    const shop = createSamplePlugin('shop', { config, settingsFileKey: 'platform.shop.file' })
    const read = (written: Readonly<Record<string, string>>, options: PrepareOptions, plugin = shop) => {
      const product = { ...productOf([plugin]), config: written, root }
      const { config, settingsFile, warnings } = prepareProduct(product, options)
      const name = config.get('shop', 'platform.shop.name')
      return [
        name,
        relative(root, settingsFile?.path ?? root),
        warnings.map(({ message }) => /(?<=It ).+/.exec(message)?.[0]),
      ]
    }
    const byVariable = { environment: { PLATFORM_SHOP_FILE: 'b.env' } }
    const unread = 'does not read .env.'
    t.strictSame(
      [
        read({}, {}, createSamplePlugin('shop', { config })),
        read({}, {}),
        read({ 'platform.shop.file': 'a.env' }, {}),
        read({ 'platform.shop.file': 'a.env' }, byVariable),
        read({}, { ...byVariable, set: { 'platform.shop.file': join(root, 'a.env') } }),
        read({}, { ...byVariable, envFile: join(root, 'a.env') }),
        read({}, { ...byVariable, envFile: false }),
        read({}, { environment: { PLATFORM_SHOP_FILE: 'missing.env' } }),
      ],
      [
        ['usual', '.env', []],
        ['usual', '.env', ['ignores PLATFORM_SHOP_FILE in this file.']],
        ['a', 'a.env', [unread]],
        ['b', 'b.env', [unread]],
        ['a', 'a.env', [unread]],
        ['a', 'a.env', [unread]],
        ['none', '', []],
        ['none', 'missing.env', [unread]],
      ],
    )
    const undeclared = { ...productOf([createSamplePlugin('lamp', { settingsFileKey: 'platform.shop.file' })]), root }
    const codes = new Set(prepareProduct(undeclared, {}).problems.map(({ code }) => code))
    t.ok(codes.has('PLINTH_PLAN_INVALID_DECLARATION'))
  },
)

t.test('a successful start ends the trial, and nothing of the old settings remains', async (t) => {
  const { trial, record, run, tries } = await trialOf(t)
  t.equal(statSync(record).mode & 0o777, 0o600)
  t.match(readFileSync(record, 'utf8'), 's3cret')
  t.equal(await run(async () => 'up'), 'up')
  t.notOk(existsSync(record))
  t.same(tries, ['0 new'])
  t.equal(await trial.takeReturned(), undefined)
  t.equal(await run(async () => 'up'), 'up', 'without a trial a start is a start')
  await rejectsWith(
    t,
    run(() => Promise.reject(unreachable)),
    { code: 'PLINTH_START_FAILED' },
    'and fails at once',
  )
})

t.test('failed starts are repeated after growing pauses, then the old settings apply again', async (t) => {
  const { trial, record, pass, run, tries, host, file, said } = await trialOf(t)
  const up = run(async () => {
    if (host() === 'new') throw unreachable
    return 'up on old'
  })
  await pass(patienceMs)
  t.equal(await up, 'up on old')
  t.same(tries, [
    '0 new',
    '1000 new',
    '3000 new',
    '7000 new',
    '15000 new',
    '30000 new',
    '45000 new',
    '60000 new',
    '75000 new',
    '90000 new',
    '105000 new',
    '120000 new',
    '120000 old',
  ])
  const begin = 'The product does not start on its new settings: Plugin "database" failed.'
  t.same(said.slice(0, 2), [`${begin} It tries again in 1 s.`, `${begin} It tries again in 2 s.`])
  t.equal(
    said.at(-1),
    'The product returns to its previous settings, because it does not start on the new ones: Plugin "database" failed.',
  )
  t.equal(readFileSync(file, 'utf8'), 'HOST=old\nPASSWORD=s3cret\n')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.notMatch(readFileSync(record, 'utf8'), 's3cret', 'no copy of the old secrets stays')
  const why = { about: 'connection', code: 'ACME_UNREACHABLE', reason: 'no server at 127.0.0.1:1.' }
  t.same(await trial.takeReturned(), why)
  t.equal(await trial.takeReturned(), undefined, 'it is told once')
})

t.test('an error that every start would cause ends the trial immediately', async (t) => {
  const { trial, run, tries, host, said } = await trialOf(t)
  const response = await run(async () => {
    if (host() === 'new') throw unusable
    return 'up on old'
  })
  t.equal(response, 'up on old')
  t.same(tries, ['0 new', '0 old'])
  t.match(said, { length: 1 })
  t.same(await trial.takeReturned(), {
    about: 'connection',
    code: 'ACME_RIGHTS',
    reason: 'the user may not create tables',
  })
})

t.test('the end of the trial does not hide why earlier starts failed, and seconds are whole numbers', async (t) => {
  const { trial, pass, run, host, said } = await trialOf(t)
  const first = Promise.withResolvers<string>()
  let count = 0
  const up = run((signal) => {
    if (host() !== 'new') return Promise.resolve('up on old')
    if (count++ === 0) return first.promise
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('Pool is closed.'))))
  })
  await pass(patienceMs - 600.25)
  first.reject(unreachable)
  await until(() => said.length === 1, 'the pause is announced')
  t.match(said[0], / It tries again in 1 s\.$/)
  await pass(1_000)
  t.equal(await up, 'up on old')
  t.hasStrict(await trial.takeReturned(), { code: 'ACME_UNREACHABLE' })
  for (const text of said) t.notMatch(text, /Pool is closed|\.\.|\d\.\d+ s/)
})

t.test('a start that hangs ends with the trial, and rejected settings end the trial immediately', async (t) => {
  const hanging = await trialOf(t)
  const up = hanging.run((signal) =>
    hanging.host() === 'new'
      ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      : Promise.resolve('up on old'),
  )
  await hanging.pass(patienceMs)
  t.equal(await up, 'up on old')
  t.match(await hanging.trial.takeReturned(), { code: '', reason: 'it took longer than 120 s' })

  const rejected = await trialOf(t, null)
  const response = await rejected.run(async () => {
    if (rejected.host() === 'new') throw new StartRejectedError([])
    return 'up without a file'
  })
  t.equal(response, 'up without a file')
  t.notOk(existsSync(rejected.file), 'there was none')
})

t.test('a product stops on request, and the trial continues with the next start', async (t) => {
  const { trial, pass, run, stop, host } = await trialOf(t)
  const ended = run(() => Promise.reject(unreachable))
  await pass(500)
  stop.abort(new Error('SIGTERM received'))
  await t.rejects(ended)
  t.equal(host(), 'new')
  t.equal(await trial.patienceMs(), patienceMs)
})

t.test('if settings change again, those that the product ran with are kept', async (t) => {
  const { trial, file, host } = await trialOf(t)
  await trial.begin({ patienceMs: 5000, about: 'second' })
  writeFileSync(file, 'HOST=newer\n')
  t.equal(await trial.takeReturned(), undefined)
  await trial.giveBack({ code: '', reason: 'x' })
  t.equal(host(), 'old')
  t.match(await trial.takeReturned(), { about: 'second' })
})

t.test('a web process that cannot start runs with the fallback values of a plugin', async (t) => {
  const said: string[] = []
  const reported: unknown[] = []
  const lamp = createSamplePlugin('lamp', {
    config: { 'platform.lamp.mode': key.string({ title: 'Mode', default: 'bright' }) },
    setup({ config }) {
      const mode = config.get('platform.lamp.mode')
      if (mode !== 'dim') throw new PlinthError('ACME_CURRENT', `no current for ${mode}.`, 'Dim it.')
    },
  })
  const centre = (mode: string | undefined) =>
    createSamplePlugin('centre', {
      config: { 'platform.centre.name': key.string({ title: 'Name', default: 'north' }) },
      fallbackStart({ code, reason, get, explain }) {
        reported.push([code, reason, get('platform.centre.name'), explain('platform.lamp.mode')?.effective.value])
        return mode === undefined ? undefined : { 'platform.lamp.mode': mode }
      },
    })
  const start = (mode: string | undefined, role: 'web' | 'worker' = 'web') => {
    const options = { envFile: false, roles: [role], logger: pino({ enabled: false }) } as const
    return startWithFallback(productOf([lamp, centre(mode)]), options, (text) => void said.push(text))
  }
  const running = await start('dim')
  await running.stop('test ended')
  t.same(reported.splice(0), [['ACME_CURRENT', 'no current for bright.', 'north', 'bright']])
  t.same(said.splice(0), [
    'no current for bright. The product starts without what failed, so that it can be mended in the browser.',
  ])

  await rejectsWith(t, start('dark'), { message: /no current for bright/ })
  t.equal(said.length, 2)
  t.match(said.splice(0)[1], /^That failed as well\. .*no current for dark/)
  await rejectsWith(t, start(undefined), { message: /no current for bright/ })
  await rejectsWith(t, start('dim', 'worker'), { message: /no current for bright/ })
  t.same(said, [], 'a worker has no pages, so it does not start again')
})
