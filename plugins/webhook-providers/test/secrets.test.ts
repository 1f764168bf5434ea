import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import database from '@plinth/database'
import http, { metrics } from '@plinth/http'
import { withoutSecretAttributes } from '@plinth/notification'
import t from 'tap'
import { samples } from './fixtures/samples.ts'
import { type Answer, type Received, startServices, startWebhooks, through } from './fixtures/services.ts'

/** Returns all parts of a request that a service could repeat in its response. */
const echo = ({ url, headers, body }: Received) =>
  `${url} ${JSON.stringify(headers)} ${body} ${decodeURIComponent(url)}`

/** Appends the echo to each text of a body. */
function repeating(body: unknown, said: string): unknown {
  if (typeof body === 'string') return `${body} ${said}`
  if (Array.isArray(body)) return body.map((item) => repeating(item, said))
  if (typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, repeating(value, said)]))
}

const failurePaths = (code: string): Readonly<Record<string, Answer>> => {
  const [failure] = samples[code]?.failures ?? []
  return {
    'business failure': (request) => ({
      status: failure?.status ?? 200,
      body: repeating(failure?.body, echo(request)),
    }),
    'HTTP 500': (request) => ({ status: 500, body: echo(request) }),
    empty: { status: 500, body: '' },
    HTML: (request) => ({ status: 404, body: `<html>${echo(request)}</html>` }),
    'truncated JSON': (request) => ({ status: 400, body: `{"errcode":1,"errmsg":"${echo(request)}` }),
    'Retry-After in seconds': (request) => ({ status: 429, headers: { 'retry-after': '3' }, body: echo(request) }),
    'Retry-After as a date': { status: 429, headers: { 'retry-after': 'Fri, 01 Jan 2100 00:00:00 GMT' }, body: '' },
    redirect: (request) => ({
      status: 302,
      headers: { location: `https://elsewhere.example${request.url}` },
      body: '',
    }),
    hang: 'hang',
    'connection lost': 'reset',
  }
}

/** Returns the secrets of a provider: from the configuration, and from the attributes of the tests. */
const planted = (code: string) => {
  const { endpoint = 'https://x/', secret = '' } = samples[code] ?? {}
  const { searchParams, pathname } = new URL(endpoint)
  const parts = [...searchParams.values(), ...pathname.split('/')].filter(
    (part) => /[A-Z0-9]/.test(part) && part.length > 9,
  )
  const attributes = [`attr-S3cret-${code}`, `attr-T0ken-${code}`, `attr-DeviceK3y-${code}`]
  return [...secret.split(/[/:]/), ...parts, ...attributes].filter((part) => part.length >= 9 && part !== '2016-06-01')
}

t.test('N-019 N-057 N-180 no failure of a provider shows a secret in a result, line, metric or row', async (t) => {
  const services = await startServices(t)
  const directory = await mkdtemp(join(tmpdir(), 'webhook-secrets-'))
  t.teardown(() => rm(directory, { recursive: true }))
  const deadline = 'platform.notification.channels.webhook.deadline'
  const { send, lines, running, stop } = await startWebhooks(t, services, {
    plugins: [database, http],
    config: {
      'platform.http.port': 0,
      'platform.database.sqlite.file': join(directory, 'plinth.sqlite'),
      'platform.notification.channels.webhook.rate-limit-enabled': false,
    },
  })
  const results: unknown[] = []
  const sendBoth = async (code: string, path: string) => {
    const configured = await send(through(code))
    const named = await send(
      through(code, {
        'webhook.endpoint': `${services.endpoint(code).replace(/\?.*/, '')}?token=attr-T0ken-${code}`,
        ...(code === 'generic' ? {} : { 'webhook.secret': `attr-S3cret-${code}` }),
        ...(code === 'bark' ? { 'webhook.bark.device-key': `attr-DeviceK3y-${code}` } : {}),
        ...(code === 'pushplus' ? { 'webhook.pushplus.token': `attr-DeviceK3y-${code}` } : {}),
      }),
    )
    for (const result of [configured, named]) {
      t.equal(result.success, false, `${code}: ${path} is no success`)
      t.match(result, { provider: code, hint: /\w/ }, 'and says whose failure it is and what to do')
      results.push(result)
    }
    t.equal(configured.outcome === 'unknown', /hang|lost/.test(path), `${code}: ${path} is ${configured.outcome}`)
  }
  const codes = Object.keys(samples)
  for (const path of Object.keys(failurePaths('generic'))) {
    if (path === 'connection lost') {
      // A server rests after several slow failures. A reply proves that it responds.
      for (const code of codes) services.answer(code, samples[code]?.success ?? 'reset')
      await Promise.all(codes.map((code) => send(through(code))))
    }
    for (const code of codes) services.answer(code, failurePaths(code)[path] ?? 'reset')
    const hurry = { by: 'key', name: deadline, written: '20s', place: 'row 1' } as const
    await running.config.apply(path === 'hang' ? [hurry] : [])
    await Promise.all(codes.map((code) => sendBoth(code, path)))
  }
  const text = await running.service(metrics).metrics()
  await stop()
  const files = await Promise.all((await readdir(directory)).map((file) => readFile(join(directory, file), 'latin1')))
  t.ok(files.join('').includes('notification_send_log'), 'the sends are in the send log')
  t.ok(lines.filter((line) => line.includes('webhook not delivered')).length > 100, 'and in the log')
  t.match(
    text,
    /platform_outgoing_http_requests_total\{plugin="notification-channels.webhook",outcome="deadline-exceeded"\}/,
  )
  const places = { results: JSON.stringify(results), lines: lines.join(''), metrics: text, rows: files.join('') }
  for (const code of Object.keys(samples)) {
    for (const secret of planted(code)) {
      for (const form of [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64').slice(0, -3)]) {
        for (const [place, content] of Object.entries(places)) {
          t.notOk(content.includes(form), `${code}: a secret of ${secret.length} characters is not in the ${place}`)
        }
      }
    }
  }
  t.notMatch(
    places.results,
    /127\.0\.0\.1:\d+\/|203\.0\.113\.9/,
    'addresses are shown as origins, and not where we come from',
  )
})

t.test('N-057 an unreachable or forbidden address is shown only as its origin', async (t) => {
  const services = await startServices(t)
  const { send, lines } = await startWebhooks(t, services)
  const addresses: [string, object][] = [
    ['https://10.1.2.3/hook/attr-T0ken-99', { outcome: 'rejected', errorCode: 'webhook.endpoint-blocked' }],
    ['https://user:attr-T0ken-99@example.com/', { outcome: 'rejected', errorCode: 'webhook.endpoint-blocked' }],
    ['https://example.com:22/attr-T0ken-99', { outcome: 'rejected', errorCode: 'webhook.endpoint-blocked' }],
    ['http://attr-t0ken-99.invalid/attr-T0ken-99', { outcome: 'deferred', errorCode: 'webhook.network' }],
    ['attr-T0ken-99', { outcome: 'rejected', errorCode: 'webhook.attribute-invalid' }],
    ['ftp://example.com/attr-T0ken-99', { outcome: 'rejected', errorCode: 'webhook.attribute-invalid' }],
  ]
  for (const [address, expected] of addresses) {
    const result = await send(through('generic', { 'webhook.endpoint': address }))
    t.match(result, { success: false, ...expected }, address)
    t.notMatch(JSON.stringify(result), 'attr-T0ken-99')
  }
  t.notMatch(lines.join(''), 'attr-T0ken-99')
})

t.test('N-180 attributes that providers declare sensitive are stored nowhere', (t) => {
  const names = Object.values(samples).flatMap(({ plugin }) => Object.keys(plugin.config ?? {}))
  t.ok(names.length >= 17 * 4)
  const attributes = {
    'webhook.secret': 's',
    'webhook.endpoint': 'https://x',
    'webhook.pushplus.token': 't',
    'webhook.bark.device-key': 'd',
    'webhook.serverchan.open-id': 'o',
    'webhook.bark.group': 'kept',
  }
  t.same(withoutSecretAttributes(attributes), { 'webhook.bark.group': 'kept' })
  t.end()
})
