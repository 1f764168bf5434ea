/** Tests the proxy configurations of `deploy/` in front of real instances, with TLS and a context path. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { Agent } from 'node:https'
import { until } from '@plinth/dev/testing'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { dataDirectory, quickstart, runProgram, startProcess } from '../fixtures/product-process.ts'
import { contextPath, host, proxies, type RunningProxy, startProxy } from './behind-proxy.ts'

const administrator = { username: 'root', password: 'Correct-horse-7' }
const origin = `https://${host}`
const clients = 8

/** Settings of all instances. They share an SQLite database, which several processes of one host may use. */
async function settingsFor(t: Test): Promise<Readonly<Record<string, string>>> {
  const directory = await dataDirectory(t.teardown)
  const settings = {
    'platform.database.sqlite.file': `${directory}/plinth.sqlite`,
    'platform.storage.root': `${directory}/storage`,
    'platform.system-config.master-key-file': `${directory}/master.key`,
    'platform.rate-limit.enabled': 'false',
    'platform.rate-limit.annotation.client-ip.trusted-proxies': '["127.0.0.1"]',
    'platform.rate-limit.annotation.client-ip.headers': '["X-Forwarded-For"]',
    // The delay is longer than the interval at which Caddy checks the health.
    'platform.http.drain-delay': '4s',
  }
  const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])
  const create = ['admin', 'create', '--username', administrator.username, '--password-stdin']
  for (const words of [['migrate'], create])
    t.match(await runProgram([...words, '--product', quickstart, ...set], administrator.password), { code: 0 })
  return settings
}

/** Signs in as a browser does. Returns the headers for further requests of the page. */
async function signIn(t: Test, { call }: RunningProxy): Promise<Record<string, string>> {
  const { status, headers, body } = await call(`${contextPath}/api/v1/auth/login`, {
    method: 'POST',
    headers: { origin, 'x-forwarded-for': '203.0.113.9', 'x-forwarded-proto': 'http' },
    body: { ...administrator, session: 'cookie' },
  })
  t.equal(status, 200, body)
  const cookie = headers['set-cookie']?.[0] ?? ''
  t.match(cookie, /^__Host-.+; Path=\/;.*; Secure/, 'the product knows that the browser uses HTTPS')
  return { origin, cookie: cookie.split(';', 1)[0] ?? '' }
}

/** Returns how many requests to the send operation an instance has served, according to its metrics. */
async function sendsOf(url: string): Promise<number> {
  const page = await (await fetch(`${url}/metrics`)).text()
  const route =
    /^http_request_duration_seconds_count\{method="POST",route="\/api\/v1\/notifications\/send".*\} (\d+)$/gm
  return [...page.matchAll(route)].reduce((sum, [, count]) => sum + Number(count), 0)
}

for (const proxy of proxies) {
  const skip = proxy.program === undefined ? `no ${proxy.name.toLowerCase()} program` : false
  t.test(`two instances behind ${proxy.name}`, { skip, timeout: 600_000 }, async (t) => {
    const settings = await settingsFor(t)
    const [one, two] = await Promise.all([startProcess(t, quickstart, settings), startProcess(t, quickstart, settings)])
    const running = await startProxy(t, proxy, [one.url, two.url])
    const { call, port, plainPort, ca } = running

    const asked = { port: plainPort, path: `${contextPath}/`, headers: { host }, agent: false }
    const [plain] = (await once(get(asked), 'response')) as [IncomingMessage]
    t.match(plain, { statusCode: 308, headers: { location: /^https:\/\// } })
    const forged = call(`${contextPath}/health/live`, { headers: { host: 'evil.example' } })
    const answer = await forged.then(
      ({ body }) => body,
      () => '',
    )
    t.equal(answer, '', 'a request for another host does not reach the product')
    t.match(await call(contextPath), { status: 308, headers: { location: /\/shop\/$/ } })
    const start = await call(`${contextPath}/`, { headers: { 'x-forwarded-prefix': '/evil' } })
    t.match(start, { status: 302, headers: { location: new RegExp(`^${contextPath}/`) } }, 'redirects have the prefix')
    t.match(await call(`${contextPath}/metrics`), { status: 200 }, 'a client of a private network reads metrics')
    const page = await call(`${contextPath}/admin/`)
    t.match(page, { status: 200, headers: { 'strict-transport-security': /max-age/ } })

    const headers = await signIn(t, running)
    const sessions = await call(`${contextPath}/api/v1/iam/users/me/sessions`, { headers })
    t.match(sessions.body, /127\.0\.0\.1/)
    t.notMatch(sessions.body, /203\.0\.113\.9/, 'no client can choose its address')

    const events = { headers: { ...headers, accept: 'text/event-stream' }, untilText: '\n' }
    const stream = await call(`${contextPath}/api/v1/admin/console/events`, events)
    t.match(stream, { status: 200, headers: { 'content-type': /^text\/event-stream/ } }, 'events arrive without delay')

    const address = `wss://127.0.0.1:${port}${contextPath}/api/v1/ws`
    const socket = new WebSocket(address, [], {
      agent: new Agent({ ca, servername: host }),
      headers: { ...headers, host },
    })
    t.teardown(() => socket.terminate())
    const messages: string[] = []
    socket.on('message', (message) => messages.push(String(message)))
    await once(socket, 'open')
    socket.send('{"type":"ping"}')
    await until(() => messages.some((message) => message.includes('pong')), 'a WebSocket works')
    socket.close()

    const failures: string[] = []
    let served = 0
    let isEnough = false
    const client = async () => {
      const body = { channels: ['memory'], subject: 'x', content: 'y' }
      while (!isEnough) {
        const sent = await call(`${contextPath}/api/v1/notifications/send`, { method: 'POST', headers, body }).catch(
          (error: Error) => ({ status: 0, body: error.message }),
        )
        if (sent.status === 200 && JSON.parse(sent.body).code === '200') served++
        else failures.push(`${sent.status} ${sent.body}`)
      }
    }
    const load = Promise.all(Array.from({ length: clients }, client))
    await until(async () => (await sendsOf(one.url)) >= 20 && (await sendsOf(two.url)) >= 20, 'both instances serve')
    two.child.kill('SIGTERM')
    t.same(await two.ended(), [0, null], 'the instance drains and stops')
    const before = served
    await until(() => served >= before + 50, 'the other instance serves')
    isEnough = true
    await load
    t.same(failures, [], `none of ${served} requests failed`)
  })
}
