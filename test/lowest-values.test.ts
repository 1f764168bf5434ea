/** Tests that an operator can sign in and the product is ready when each key has its smallest value. */

import { startForTest, until } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import type { JsonValue } from '@plinth/kernel'
import { pino } from 'pino'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory } from './fixtures/product-process.ts'

/** Values that were once valid although they locked operators out or stopped all sending. */
const tooSmall: readonly (readonly [key: string, value: JsonValue])[] = [
  ['platform.http.body-limit', 1],
  ['platform.http.max-connections', 1],
  ['platform.http.readiness-deadline', '1ms'],
  ['platform.http.send-timeout', '100ms'],
  ['platform.http.overload.max-requests', 0],
  ['platform.http.overload.max-wait', '1ms'],
  ['platform.http.overload.max-waiting', 0],
  ['platform.outgoing-http.deadline', '1ms'],
  ['platform.outgoing-http.connect-timeout', '1ms'],
  ['platform.outgoing-http.header-timeout', '1ms'],
  ['platform.outgoing-http.body-timeout', '1ms'],
  ['platform.outgoing-http.max-response-size', 1],
  ['platform.notification.send-deadline', '1ms'],
  ['platform.notification.channels.webhook.deadline', '1ms'],
  ['platform.rate-limit.store-deadline', '1ms'],
  ['platform.rate-limit.stores.memory.max-keys', 1],
  ['platform.storage.max-file-size', 1],
]

/**
 * Keys that are not set to their smallest value. Their smallest value, one second, is enough for a product, but not on
 * a host that runs many tests at the same time.
 */
const omitted = /^platform\.kernel\.(setup|drain|stop)-deadline$/
/** A longer deadline for health checks, because the host may be busy. */
const patience = { 'platform.http.readiness-deadline': '1m' }

t.test('a product with the smallest value of every key is ready, and the administrator signs in', async (t) => {
  const directory = await dataDirectory(t.teardown)
  const place = {
    'platform.http.port': '0',
    'platform.database.sqlite.file': `${directory}/plinth.sqlite`,
    'platform.storage.root': `${directory}/storage`,
  }
  const first = await startForTest(product, { set: place })
  const { catalogue } = first.config
  const smallest = catalogue.flatMap(({ key, scope, editable, schema }) => {
    const { minimum, formatMinimum } = schema as { minimum?: number; formatMinimum?: string }
    const value = formatMinimum ?? minimum
    const isStorable = scope !== 'process' && editable && !omitted.test(key)
    return value === undefined || !isStorable ? [] : [[key, String(value)] as const]
  })
  for (const [key, value] of tooSmall) {
    const { outcome, reason } = await first.config.verify(key, value, AbortSignal.timeout(60_000))
    t.equal(outcome, 'refused', `${key}=${value}: ${reason ?? ''}`)
  }
  const keys = new Set(smallest.map(([key]) => key))
  t.same(
    tooSmall.map(([key]) => key).filter((key) => !keys.has(key)),
    [],
  )
  for (const name of ['memory', 'passes', 'concurrency']) t.ok(keys.has(`platform.iam.password.hash.${name}`))
  await first.stop('again')

  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const running = await startForTest(product, {
    set: { ...Object.fromEntries(smallest), ...patience, ...place },
    logger,
  })
  t.teardown(() => running.stop('test ended'))
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
  const administrator = { username: 'root', password: 'Correct-horse-7' }
  await running.service(accounts).createAdministrator(administrator, origin)
  const { url = '' } = running.service(http)
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify(administrator)
  const signIn = async () => (await fetch(`${url}/api/v1/auth/login`, { method: 'POST', headers, body })).json()
  // On a busy host, the smallest limits may be exceeded for a moment.
  await until(async () => (await fetch(`${url}/health/ready`)).status === 200, 'the product is ready').catch(
    (error) => {
      throw new Error(`It is not ready. Its warnings: ${lines.join('')}`, { cause: error })
    },
  )
  let response = (await signIn()) as { code: string; data: { accessToken: string } }
  await until(async () => {
    if (response.code !== '200') response = (await signIn()) as typeof response
    return response.code === '200'
  }, 'the administrator signs in')
  const authorization = `Bearer ${response.data.accessToken}`
  const changes = [{ key: 'platform.http.overload.max-wait', action: 'set', value: '1s' }]
  await until(async () => {
    const saved = await fetch(`${url}/api/v1/admin/system-config/changes`, {
      method: 'POST',
      headers: { ...headers, authorization },
      body: JSON.stringify({ changes, reason: 'repair' }),
    })
    return ((await saved.json()) as { code: string }).code === '200'
  }, 'the administrator saves another value')
  t.pass('and repairs the configuration')
})
