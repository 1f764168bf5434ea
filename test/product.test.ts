import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { assertMembers, manualClock, rejectsWith, startForTest, until } from '@plinth/dev/testing'
import { http, metrics } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'
import { notification } from '@plinth/notification'
import { rateLimiter } from '@plinth/rate-limit'
import { configCentre } from '@plinth/system-config'
import acmeChat from '@plinth-example/acme-channel'
import acmeTask from '@plinth-example/acme-install-task'
import acmeStore from '@plinth-example/acme-limiter-store'
import t from 'tap'
import lite from '../examples/lite/plinth.config.ts'
import product from '../examples/quickstart/plinth.config.ts'
import { administrator, authorize, dataDirectory, quickstart, runProgram, send } from './fixtures/product-process.ts'

/** Long time limits, because on a slow host requests could be rejected and health checks could time out. */
const patient = { 'platform.http.overload.max-wait': '1m', 'platform.http.readiness-deadline': '1m' }

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }

/** Creates the administrator of a new product, logs in, and returns the headers for further requests. */
async function logIn(url: string, running: { service: RunningProduct['service'] }): Promise<Record<string, string>> {
  await running.service(accounts).createAdministrator(administrator, origin)
  return authorize(url)
}

/** The quickstart with three third-party plugins. Each of them is added by one line. */
const extended = defineProduct({
  name: 'extended',
  plugins: [...product.plugins, acmeChat, acmeStore, acmeTask],
})

async function chatRoom(teardown: (close: () => void) => void) {
  const messages: { title: string; text: string }[] = []
  const server = createServer(async (request, response) => {
    messages.push(JSON.parse(Buffer.concat(await request.toArray()).toString()))
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  teardown(() => server.close())
  return { messages, address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/rooms/secret-room` }
}

t.test(
  'C-001 C-022 C-023 R-001 one call through HTTP reaches log, memory and a third party, and is limited',
  async (t) => {
    const room = await chatRoom(t.teardown)
    const running = await startForTest(extended, {
      set: {
        'platform.http.port': '0',
        'platform.database.sqlite.file': `${await dataDirectory(t.teardown)}/plinth.sqlite`,
        'platform.acme.chat.room': room.address,
        'platform.rate-limit.default-store': 'memory',
        ...patient,
      },
    })
    t.teardown(() => running.stop('test ended'))
    const url = running.service(http).url ?? ''
    const message = { channels: ['log', 'memory', 'acme-chat'], subject: 'Release', content: 'It is out.' }

    const headers = await logIn(url, running)
    t.hasStrict(await (await send(url, message)).json(), { code: '401' }, 'not without a login')
    const first = await send(url, message, headers)
    t.equal(first.status, 200)
    const body = await first.json()
    assertMembers(t, body, {
      code: '200',
      data: [
        { channel: 'log', success: true },
        { channel: 'memory', success: true },
        { channel: 'acme-chat', success: true },
      ],
    })
    assertMembers(t, room.messages, [{ title: 'Release', text: 'It is out.' }])
    t.match(Number(first.headers.get('x-ratelimit-remaining')), 29)

    const responses = await Promise.all(
      Array.from({ length: 40 }, () => send(url, { ...message, channels: ['memory'] }, headers)),
    )
    const bodies = (await Promise.all(responses.map((answer) => answer.json()))) as { code: string }[]
    const codes = bodies.map(({ code }) => code)
    t.ok(
      responses.every(({ status }) => status === 200),
      'a denial is a business result, not an HTTP status',
    )
    t.equal(codes.filter((code) => code === '200').length, 29, 'exactly the rest of the quota was admitted')
    t.equal(codes.filter((code) => code === '429').length, 11)
    const text = await running.service(metrics).metrics()
    t.match(text, /platform_rate_limit_requests_total\{store="memory",outcome="rejected"\} 11/)
  },
)

t.test('calls that create accept idempotency keys, and the API description shows which', async (t) => {
  const running = await startForTest(product, { roles: ['cli'], set: { 'platform.database.sqlite.file': ':memory:' } })
  t.teardown(() => running.stop('test ended'))
  const { paths } = await running.service(http).openapi()
  const withKey = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { parameters = [] }]) => parameters.some(({ name }) => name === 'Idempotency-Key'))
      .map(([method]) => `${method} ${path}`),
  )
  const expected = [
    'post /api/v1/admin/iam/roles',
    'post /api/v1/admin/iam/users',
    'post /api/v1/admin/money/reconciliations',
    'post /api/v1/admin/open-platform/apps',
    'post /api/v1/admin/open-platform/apps/{id}/rotate-secret',
    'post /api/v1/admin/web3/chains',
    'post /api/v1/admin/web3/payment-settlement-review-logs',
    'post /api/v1/mall/orders',
    'post /api/v1/mall/orders/{orderNo}/refunds',
    'post /api/v1/notification-rules',
    'post /api/v1/notifications/send',
  ]
  t.same(
    expected.filter((route) => !withKey.includes(route)),
    [],
  )
})

t.test('a limiter store and an install task of third parties work in the product', async (t) => {
  const running = await startForTest(extended, {
    set: {
      'platform.http.port': '0',
      'platform.database.sqlite.file': `${await dataDirectory(t.teardown)}/plinth.sqlite`,
      'platform.acme.chat.room': 'http://127.0.0.1:9/unused',
    },
  })
  t.teardown(() => running.stop('test ended'))
  const limiter = running.service(rateLimiter)
  const store = [...running.plan.owners.keys()].includes('rate-limit.store')
  t.ok(store)
  const request = { key: 'shop:42', maxAttempts: 2, windowMs: 60_000, store: 'acme-sliding-window' }
  const decisions = [await limiter.consume(request), await limiter.consume(request), await limiter.consume(request)]
  t.same(
    decisions.map(({ allowed }) => allowed),
    [true, true, false],
  )
  t.ok(running.installTasks.some(({ plugin }) => plugin === acmeTask.id))
})

t.test('K-019 lite starts without a database server and cache, and responds', async (t) => {
  const file = `${await dataDirectory(t.teardown)}/plinth.sqlite`
  const running = await startForTest(lite, {
    set: { 'platform.http.port': '0', 'platform.database.sqlite.file': file, ...patient },
  })
  t.teardown(() => running.stop('test ended'))
  const url = running.service(http).url ?? ''
  t.equal((await fetch(`${url}/health/ready`)).status, 200)
  const headers = await logIn(url, running)
  assertMembers(t, await (await send(url, { subject: 'Hi', content: 'there' }, headers)).json(), {
    code: '200',
    data: [{ channel: 'log' }],
  })
})

t.test('R-018 lite limits logins in the memory of its only process', async (t) => {
  const file = `${await dataDirectory(t.teardown)}/plinth.sqlite`
  const running = await startForTest(lite, {
    set: { 'platform.http.port': '0', 'platform.database.sqlite.file': file, ...patient },
  })
  t.teardown(() => running.stop('test ended'))
  const url = running.service(http).url ?? ''
  const attempt = async (username: string) => {
    const answer = await fetch(`${url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: 'Wrong-guess-1' }),
    })
    return ((await answer.json()) as { code: string }).code
  }
  const codes: string[] = []
  for (let guess = 0; guess < 6; guess++) codes.push(await attempt('root'))
  t.same(codes, ['401', '401', '401', '401', '401', '429'], 'five guesses a minute for one account')
  t.equal(await attempt('somebody-else'), '401', 'another account has its own')
})

t.test('a plugin list with a mistake ends with 3 and reports the fix', async (t) => {
  const failure = await runProgram(['start', '--product', quickstart, '--set', 'platform.http.prot=1'])
  t.match(failure, {
    code: 3,
    stderr: /--set platform\.http\.prot[\s\S]*Did you mean "platform\.http\.port"[\s\S]*Fix:/,
  })
})

t.test('K-008 a value that the config centre stores is shown by the program and used at the next start', async (t) => {
  const file = `${await dataDirectory(t.teardown)}/plinth.sqlite`
  const on = ['--product', quickstart, '--set', `platform.database.sqlite.file=${file}`, '--json']
  const deadline = 'platform.notification.send-deadline'
  t.match(await runProgram(['migrate', ...on]), { code: 0 })
  t.match(await runProgram(['config', 'set', deadline, '7s', ...on]), { code: 0 })
  const { stdout } = await runProgram(['config', 'get', deadline, ...on])
  t.match(JSON.parse(stdout), { key: deadline, value: '7s', source: 'database' })
})

t.test(
  'K-008 a limit and a channel switch change in two running instances; a restart key waits and reports it',
  async (t) => {
    const file = `${await dataDirectory(t.teardown)}/plinth.sqlite`
    const clock = manualClock(Date.now())
    const set = { 'platform.http.port': '0', 'platform.database.sqlite.file': file }
    const first = await startForTest(product, { set, clock })
    t.teardown(() => first.stop('test ended'))
    const second = await startForTest(product, { set, clock })
    t.teardown(() => second.stop('test ended'))
    const both = [first, second]
    const request = { key: 'account:1' }
    const limits = () => Promise.all(both.map(async (one) => (await one.service(rateLimiter).peek(request)).limit))
    const switches = () =>
      both.map(
        (one) =>
          one
            .service(notification)
            .channels()
            .find(({ code }) => code === 'memory')?.enabled,
      )
    t.same(
      [await limits(), switches()],
      [
        [60, 60],
        [true, true],
      ],
    )

    const centre = first.service(configCentre)
    const ofProcess = (await centre.list('@process')).map(({ key }) => key)
    const connections = (await centre.list(''))
      .map(({ key }) => key)
      .filter((key) => /^platform\.(database|cache)\./.test(key))
    t.ok(connections.length > 20)
    for (const key of [...connections, 'platform.http.host', 'platform.http.port']) {
      t.ok(ofProcess.includes(key), `${key} is set where the process starts`)
    }
    const rejected = [
      ['platform.rate-limit.default-store', 'shared-windwo'],
      ['platform.notification.default-channel', 'lgo'],
      ['platform.iam.password.pattern', '(a)\\1'],
      ['platform.iam.auth.login.verification.sms.sender', 'nobody'],
      ['platform.storage.public-disk', 'local'],
      ['platform.scheduler.engine', 'bullmq'],
      ['platform.async-task.engine', 'bullmq'],
    ] as const
    for (const [key, value] of rejected) {
      const change = { key, action: 'set', value } as const
      assertMembers(
        t,
        (await centre.preview([change])).faults,
        [{ field: key, rule: 'refused' }],
        `the owner of ${key} judges it`,
      )
      const saved = centre.save([change], { actor: { name: 'root' } })
      await rejectsWith(t, saved, { code: '400', message: /cannot be saved/ }, `and ${value} is not stored`)
    }
    t.equal(centre.version, 0)

    const { effects } = await centre.save(
      [
        { key: 'platform.rate-limit.default-max-attempts', action: 'set', value: 5 },
        { key: 'platform.notification.channels.memory.enabled', action: 'set', value: false },
        { key: 'platform.http.body-limit', action: 'set', value: '2MiB' },
      ],
      { actor: { name: 'root' }, reason: 'quieter' },
    )
    t.same(
      new Map(effects.map(({ key, outcome }) => [key, outcome])),
      new Map([
        ['platform.rate-limit.default-max-attempts', 'applied'],
        ['platform.notification.channels.memory.enabled', 'applied'],
        ['platform.http.body-limit', 'pendingRestart'],
      ]),
    )
    await until(async () => {
      await clock.advance(1000)
      return (await limits())[1] === 5
    }, 'the other instance has read what was stored')
    t.same(
      [await limits(), switches()],
      [
        [5, 5],
        [false, false],
      ],
    )
    for (const one of both) {
      t.match(one.config.explain('platform.http.body-limit'), {
        pendingRestart: true,
        effective: { source: 'default' },
      })
    }
    const third = await startForTest(product, { set, clock })
    t.teardown(() => third.stop('test ended'))
    t.match(third.config.explain('platform.http.body-limit'), { pendingRestart: false, effective: { value: '2MiB' } })
  },
)
