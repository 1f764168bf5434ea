import { writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Writable } from 'node:stream'
import { Worker } from 'node:worker_threads'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts, identity } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import product from '../../examples/quickstart/plinth.config.ts'
import { watchEventLoopTicks } from '../fixtures/event-loop-turns.ts'
import { dataDirectory } from '../fixtures/product-process.ts'
import type { CallerCommand, CallerReport, CallerSettings } from './caller.ts'
import type { ApiDescription, Role } from './requests.ts'

/** Set FUZZ_SEED to any integer for other calls. Each run prints its seed. */
const seed = Number(process.env['FUZZ_SEED'] ?? 337_167)
/**
 * Set FUZZ_CALLS, for example to 100000, for more calls. By default, the proof calls each operation more than sixty times.
 */
const calls = Number(process.env['FUZZ_CALLS'] ?? 17_000)
const secrets = {
  installToken: 'planted-Install-token-0123456789-abcdef',
  masterKey: Buffer.from('planted-master-key-of-32-bytes!!').toString('base64'),
  cachePassword: 'planted-cache-password-4711',
  administrator: 'Planted-Passw0rd-4712',
}
const origin = { name: 'fuzz', clientIp: '127.0.0.1', traceId: 'fuzz', userAgent: '' }
const attempt = { ...origin, method: 'fuzz', identifier: 'fuzz', setHeader() {} }

async function startProduct(t: Test, config: Readonly<Record<string, string>>) {
  const root = await dataDirectory(t.teardown)
  writeFileSync(`${root}/.env.example`, 'PLATFORM_DATABASE_PASSWORD=\nPLATFORM_CACHE_PASSWORD=\n')
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const running = await startForTest({ ...product, root } as Product, {
    logger: pino({ level: 'warn' }, sink),
    set: {
      'platform.http.port': '0',
      'platform.http.response-check': 'true',
      'platform.database.sqlite.file': `${root}/plinth.sqlite`,
      'platform.database.sqlite.synchronous': 'normal',
      'platform.system-config.master-key': secrets.masterKey,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': '1',
      // Rate limits are off, because they would prevent most calls from reaching the code.
      'platform.rate-limit.enabled': 'false',
      // On a busy host, deadlines would otherwise be exceeded.
      'platform.http.overload.max-wait': '1m',
      'platform.http.readiness-deadline': '1m',
      ...config,
    },
  })
  t.teardown(() => running.stop('test ended'))
  return { running, lines }
}

/** Calls the product from another thread and checks every response against the rules. */
async function fuzz(
  t: Test,
  { running, lines }: Awaited<ReturnType<typeof startProduct>>,
  settings: Pick<CallerSettings, 'calls' | 'roles' | 'prefix'>,
): Promise<CallerReport> {
  const server = running.service(http)
  const description = JSON.parse(JSON.stringify(await server.openapi())) as ApiDescription
  let made = 0
  const tokenOf = async (role: Role): Promise<string> => {
    const user = { username: `fuzz-${role}-${++made}`, password: secrets.administrator }
    const all = running.service(accounts)
    const { id } = role === 'user' ? await all.create(user, origin) : await all.createSuperAdministrator(user, origin)
    return (await running.service(identity).openSession(id, attempt)).accessToken
  }
  const hidden = [...Object.values(secrets), dirname(import.meta.dirname)]
  const workerData: CallerSettings = { url: server.url ?? '', description, seed, secrets: hidden, ...settings }
  const worker = new Worker(new URL('./caller.ts', import.meta.url), { workerData })
  const turns = watchEventLoopTicks()
  t.teardown(turns.end)
  const report = await new Promise<CallerReport>((resolve, reject) => {
    worker.on('error', reject)
    worker.on('exit', (code) => reject(new Error(`the calling thread ended with ${code}`)))
    worker.on('message', (message: CallerCommand | CallerReport) => {
      if ('calls' in message) resolve(message)
      else if ('role' in message) tokenOf(message.role).then((token) => worker.postMessage(token), reject)
      else worker.postMessage(turns.longest())
    })
  })

  const about = `seed ${seed}: ${JSON.stringify({ ...report, faults: report.faults.length, succeeded: report.succeeded.length })}`
  t.comment(about)
  for (const { broken, role, request, answer } of report.faults.slice(0, 30)) {
    t.fail(`${broken.join('; ')} | ${role}: ${request} | ${answer}`)
  }
  t.equal(report.faults.length, 0, about)
  const log = lines.join('')
  for (const [name, secret] of Object.entries(secrets)) t.notOk(log.includes(secret), `${name} is not in the log`)
  const failed = lines.filter((line) => /"level":(?:50|60)/.test(line))
  t.same(failed.slice(0, 5), [], 'no call left an error in the log')
  return report
}

t.test('every operation of an installed product survives any input', { timeout: 600_000 }, async (t) => {
  const started = await startProduct(t, {
    'platform.install.installed': 'true',
    'platform.install.token': secrets.installToken,
    'platform.cache.password': secrets.cachePassword,
  })
  const user = { username: 'founder', password: secrets.administrator }
  await started.running.service(accounts).createAdministrator(user, origin)
  const roles: readonly Role[] = ['anonymous', 'user', 'administrator', 'administrator']
  const report = await fuzz(t, started, { calls, roles, prefix: '' })
  t.ok(report.succeeded.length > report.operations / 2, `${report.succeeded.length} operations also answered a success`)
})

t.test('every operation of an open installation survives any input', { timeout: 600_000 }, async (t) => {
  const started = await startProduct(t, {})
  const report = await fuzz(t, started, { calls: calls / 8, roles: ['anonymous'], prefix: '/api/v1/install' })
  t.ok(report.succeeded.length > report.operations / 2, `${report.succeeded.length} operations also answered a success`)
})
