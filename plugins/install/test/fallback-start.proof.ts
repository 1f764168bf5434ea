/**
 * Tests a product that was never installed and whose database in `.env` cannot be used. The installer shows the
 * problem.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import { maskedValue } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { FallbackDatabaseWatch } from '../src/state/fallback.ts'
import { command, productRoot, serve } from './fixtures/processes.ts'
import { formFor, secrets } from './fixtures/product.ts'

const timeout = 600_000
const embedded = { type: 'h2', host: '', port: null, database: '', username: '', password: '' }
const form = formFor({ dialect: 'sqlite', config: {}, directory: '', drop: async () => {} })

/** No server listens on this port. */
const closed = {
  PLATFORM_DATABASE_TYPE: 'postgresql',
  PLATFORM_DATABASE_HOST: '127.0.0.1',
  PLATFORM_DATABASE_PORT: '1',
  PLATFORM_DATABASE_NAME: 'shop',
  PLATFORM_DATABASE_USERNAME: 'keeper',
  PLATFORM_DATABASE_PASSWORD: secrets.database,
}
const textOf = (variables: Readonly<Record<string, string>>) =>
  Object.entries(variables)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')

function rootWith(t: Test, variables: Readonly<Record<string, string>> = closed): string {
  const root = productRoot(t)
  writeFileSync(join(root, '.env'), textOf(variables))
  return root
}

t.test('the wizard shows the connection with the warning, and installs on a better one', { timeout }, async (t) => {
  const root = rootWith(t)
  const product = await serve(t, root)
  const api = '/api/v1/install'
  t.match((await product.call('GET', `${api}/status`)).data, { installed: false, installAllowed: true })
  t.equal((await fetch(`${product.url()}/health/ready`)).status, 503, 'it is not ready to serve')
  t.equal((await fetch(`${product.url()}/health/live`)).status, 200)
  const { database } = (await product.call('GET', `${api}/config/defaults`)).data
  t.match(database, { type: 'postgresql', host: '127.0.0.1', port: 1, database: 'shop', username: 'keeper' })
  t.match(database, { fault: /does not respond/, faultField: 'database.host' })
  const { passed, checks } = (await product.call('POST', `${api}/preflight`)).data
  const [connection] = checks.filter(({ code }: { code: string }) => code === 'database-connection')
  assertMembers(t, [passed, connection], [true, { status: 'warning', finding: 'unreachable' }])

  // These steps are rejected, because their results would be lost when the process ends.
  for (const [path, body] of [
    ['migrate', undefined],
    ['lock', undefined],
    ['administrator', form.administrator],
  ] as const) {
    const { data } = await product.call('POST', `${api}/${path}`, body)
    t.match(data.message, /nowhere to do this/, path)
    t.notOk(data.migrated || data.locked || data.ready, path)
  }
  const { database: same } = (await product.call('GET', `${api}/config/defaults`)).data
  const again = { ...form, database: { ...same, password: maskedValue } }
  t.match((await product.call('POST', `${api}/execute`, again)).data, {
    passed: false,
    failedField: 'database.host',
  })
  t.equal(readFileSync(join(root, '.env'), 'utf8'), textOf(closed))
  t.notOk(existsSync(join(root, 'data', 'storage', 'install', 'installed.json')))

  const better = { ...form, database: embedded }
  t.match((await product.call('POST', `${api}/execute`, better)).data, { passed: true, restartRequired: true })
  await product.started(2)
  t.match((await product.call('POST', `${api}/execute`, better)).data, { passed: true, locked: true })
  t.ok(existsSync(join(root, 'data', 'plinth.sqlite')), 'on the disk')
  t.equal((await fetch(`${product.url()}/health/ready`)).status, 200)
  t.notMatch(product.output(), secrets.database)
})

t.test('a product that somebody could take over does not start', { timeout }, async (t) => {
  const installed = rootWith(t)
  mkdirSync(join(installed, 'data', 'storage', 'install'), { recursive: true })
  writeFileSync(join(installed, 'data', 'storage', 'install', 'installed.json'), '{}\n')
  const stays: readonly (readonly [string, string, Readonly<Record<string, string>>])[] = [
    ['this machine was installed', installed, {}],
    ['the environment names the database', rootWith(t, {}), closed],
    ['the installation is switched off', rootWith(t, { ...closed, PLATFORM_INSTALL_MODE: 'disabled' }), {}],
    ['production without a token', rootWith(t), { NODE_ENV: 'production' }],
  ]
  for (const [why, root, environment] of stays) {
    const { code, stderr } = await command(root, ['start'], { environment })
    t.equal(code, 1, why)
    t.match(stderr, /PLINTH_DATABASE_UNREACHABLE|Cannot connect to the postgresql server/, why)
    t.notMatch(stderr, secrets.database, why)
  }
  const { code } = await command(rootWith(t), ['start', '--role', 'worker'])
  t.equal(code, 1, 'a worker has no wizard')
})

t.test('the product starts again automatically when the configured database responds', async (t) => {
  const clock = manualClock()
  const restarts: string[] = []
  let isThere = false
  const tries: number[] = []
  const stop = new AbortController()
  const fallback = { code: 'PLINTH_DATABASE_UNREACHABLE', reason: 'no server' }
  const watch = (failed: typeof fallback | undefined) =>
    new FallbackDatabaseWatch({
      kernel: { fallback: failed, requestRestart: (reason) => restarts.push(reason) },
      settings: {
        tryConfigured: async () => {
          tries.push(clock.monotonic())
          if (!isThere) throw new Error('no server')
        },
      },
      clock,
      log: pino({ level: 'silent' }),
    })
  await watch(undefined).run(stop.signal)
  t.same(tries, [], 'a product that runs as it is configured is left alone')
  t.equal(watch(undefined).problem, undefined)
  t.hasStrict(watch(fallback).problem, { code: 'PLINTH_INSTALL_DATABASE_UNUSABLE' })
  const done = watch(fallback).run(stop.signal)
  await clock.advance(15_000)
  t.same(restarts, [])
  isThere = true
  await clock.advance(15_000)
  await done
  t.same([tries.length, restarts.length], [2, 1])

  isThere = false
  const stopped = watch(fallback).run(stop.signal)
  stop.abort()
  await stopped
  t.equal(restarts.length, 1, 'a product that stops asks for nothing')
})
