import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { http, metrics } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, type PlinthError } from '@plinth/kernel'
import type { RunningProduct } from '@plinth/kernel/host'
import { assertMembers, manualClock, rejectsWith, startForTest, until } from '@plinth/kernel/testing'
import { notification } from '@plinth/notification'
import { rateLimiter } from '@plinth/rate-limit'
import { configCentre } from '@plinth/system-config'
import acmeChat from '@plinth-example/acme-channel'
import acmeTask from '@plinth-example/acme-install-task'
import acmeStore from '@plinth-example/acme-limiter-store'
import t from 'tap'
import lite from '../examples/lite/plinth.config.ts'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory, quickstart, runProgram, startProcess } from './fixtures/product-process.ts'

const send = (url: string, body: object, headers: Record<string, string> = {}) =>
  fetch(`${url}/api/v1/notifications/send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

/** Long time limits, because on a slow host requests could be rejected and health checks could time out. */
const patient = { 'platform.http.overload.max-wait': '1m', 'platform.http.readiness-deadline': '1m' }

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
const administrator = { username: 'root', password: 'Correct-horse-7' }

/** Creates the administrator of a new product, logs in, and returns the headers for further requests. */
async function logIn(url: string, running: { service: RunningProduct['service'] }): Promise<Record<string, string>> {
  await running.service(accounts).createAdministrator(administrator, origin)
  return authorize(url)
}

async function authorize(url: string): Promise<Record<string, string>> {
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(administrator),
  })
  const { data } = (await answer.json()) as { data: { accessToken: string } }
  return { authorization: `Bearer ${data.accessToken}` }
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

/**
 * Plugins that require a plugin, by the id of the required plugin. A missing entry means that no plugin requires it.
 */
const dependantsOf: Readonly<Record<string, readonly string[]>> = {
  'async-task': ['notification.rules'],
  console: ['console.admin'],
  approval: ['web3-settlement'],
  database: [
    'approval',
    'async-task',
    'events',
    'example.mall',
    'iam',
    'install',
    'member-points',
    'money',
    'money.payments',
    'notification.rules',
    'open-platform',
    'quickstart-cleanup',
    'scheduler',
    'shared-store',
    'social',
    'system-config',
    'template',
    'web3',
    'web3-settlement',
  ],
  events: [
    'example.mall',
    'install',
    'member-points',
    'money.payments',
    'notification-linkage',
    'notification.inbox',
    'notification.rules',
    'web3-settlement',
  ],
  http: [
    'approval',
    'console.admin',
    'example.mall',
    'iam',
    'iam.verification',
    'idempotency',
    'install',
    'member-points',
    'notification-channels.websocket',
    'notification.inbox',
    'notification.rules',
    'open-platform',
    'quickstart-cleanup',
    'social',
    'system-config.admin',
    'web3',
    'wallet-login',
    'web3-settlement',
  ],
  iam: [
    'console.admin',
    'example.mall',
    'install',
    'member-points',
    'notification-channels.websocket',
    'notification.inbox',
    'notification.rules',
    'open-platform',
    'wallet-login',
  ],
  'money.payments': ['example.mall', 'web3-settlement'],
  money: ['example.mall', 'member-points', 'money.payments'],
  'notification.inbox': ['notification-channels.database'],
  'system-config': ['iam.verification', 'idempotency', 'install', 'social', 'system-config.admin', 'web3'],
  'outgoing-http': ['notification-channels.webhook', 'sms', 'social', 'web3'],
  'notification-channels.webhook': product.plugins.flatMap(({ id }) =>
    id.startsWith('webhook-providers.') ? [id] : [],
  ),
  mail: ['notification-channels.mail'],
  sms: ['notification-channels.sms'],
  social: ['notification-channels.social'],
  storage: ['async-task'],
  notification: [
    'notification-channels.database',
    'notification-channels.log',
    'notification-channels.mail',
    'notification-channels.memory',
    'notification-channels.sms',
    'notification-channels.social',
    'notification-channels.webhook',
    'notification-channels.websocket',
    'notification-linkage',
    'notification.rules',
  ],
  'notification-channels.log': ['notification'],
  'rate-limit': [
    'iam.verification',
    'idempotency',
    'open-platform',
    'rate-limit-stores.local-token-bucket',
    'rate-limit-stores.memory',
    'rate-limit-stores.shared-bucket',
    'rate-limit-stores.shared-window',
    'wallet-login',
  ],
  'rate-limit-stores.shared-window': ['rate-limit'],
  web3: ['wallet-login', 'web3-settlement'],
  'shared-store': [
    'iam.verification',
    'idempotency',
    'open-platform',
    'rate-limit-stores.shared-bucket',
    'rate-limit-stores.shared-window',
    'social',
    'wallet-login',
  ],
  site: ['console.admin', 'example.mall', 'install', 'member-points', 'open-platform', 'wallet-login'],
}

t.test(
  'C-002 K-019 without any one plugin the product starts, or is rejected with the name of the plugin that needs it',
  async (t) => {
    // The plugins of all webhook providers have the same form, so the test leaves out only one of them.
    const isLikeOthers = ({ id }: { readonly id: string }) =>
      id.startsWith('webhook-providers.') && id !== 'webhook-providers.dingtalk'
    for (const left of product.plugins.filter((plugin) => !isLikeOthers(plugin))) {
      const plugins = product.plugins.filter((plugin) => plugin !== left)
      const rest = defineProduct({ name: 'rest', plugins, config: product.config })
      const settings = {
        http: { 'platform.http.port': '0' },
        database: { 'platform.database.sqlite.file': `${await dataDirectory(t.teardown)}/plinth.sqlite` },
      }
      const set = Object.assign({}, ...Object.entries(settings).map(([id, values]) => (id === left.id ? {} : values)))
      const start = startForTest(rest, { set })
      const dependants = dependantsOf[left.id]
      if (dependants === undefined) {
        await t.resolves(
          start.then((running) => running.stop('test ended')),
          `starts without ${left.id}`,
        )
      } else {
        const { message, fix } = (await start.then(
          () => t.fail(`started without ${left.id}`),
          (error: unknown) => error,
        )) as PlinthError
        for (const dependant of dependants) t.match(message, `lugin "${dependant}"`)
        t.ok(fix.length > 0)
      }
    }
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

t.test(
  'K-018 SIGTERM under load: no request is interrupted, and the product and its supervisor end with 0',
  async (t) => {
    const settings = {
      'platform.database.sqlite.file': `${await dataDirectory(t.teardown)}/plinth.sqlite`,
      'platform.rate-limit.enabled': 'false',
    }
    const set = [
      '--product',
      quickstart,
      ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
    ]
    t.match(await runProgram(['migrate', ...set]), { code: 0 })
    const create = ['admin', 'create', '--username', administrator.username, '--password-stdin']
    t.match(await runProgram([...create, ...set], administrator.password), { code: 0 })
    const running = await startProcess(t, quickstart, settings, { supervised: true })
    const headers = await authorize(running.url)
    let answered = 0
    let cut = 0
    const client = async () => {
      const message = { channels: ['memory'], subject: 'x', content: 'y' }
      for (let isOpen = true; isOpen; ) {
        const answer = await send(running.url, message, headers).catch(() => undefined)
        const body = (await answer?.json().catch(() => undefined)) as { code: string } | undefined
        if (body?.code === '200') answered++
        else cut++
        if (answered === 200) running.child.kill('SIGTERM')
        // The client stops when the server drains: the server then closes each connection after its response and accepts
        // no new connections.
        isOpen = answer !== undefined && answer.headers.get('connection') !== 'close'
      }
    }
    await Promise.all(Array.from({ length: 16 }, client))
    t.same(await running.ended(), [0, null])
    t.equal(cut, 0, `of ${answered} requests none was cut`)
    t.ok(answered >= 200)
  },
)

t.test(
  'K-018 two processes on one empty database: one migrates, both serve; kill -9 leaves nothing that interferes',
  async (t) => {
    const file = `${await dataDirectory(t.teardown)}/plinth.sqlite`
    // The timeout is long, because on a slow disk one process may block the other one for a long time.
    const settings = { 'platform.database.sqlite.file': file, 'platform.database.sqlite.busy-timeout': '1m' }
    const both = await Promise.all([startProcess(t, quickstart, settings), startProcess(t, quickstart, settings)])
    for (const { url } of both) {
      t.equal((await fetch(`${url}/health/ready`)).status, 200)
    }
    for (const { child, ended } of both) {
      child.kill('SIGKILL')
      await ended()
    }
    const again = await startProcess(t, quickstart, settings)
    t.equal((await fetch(`${again.url}/health/ready`)).status, 200)
    again.child.kill('SIGTERM')
    t.same(await again.ended(), [0, null])
  },
)

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
  'a stored value that prevents a plugin from starting is reported, and every suggested command repairs it',
  async (t) => {
    const file = `${await dataDirectory(t.teardown)}/plinth.sqlite`
    const settings = { 'platform.http.port': '0', 'platform.database.sqlite.file': file }
    const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])
    const plinth = (...words: string[]) =>
      runProgram([...words, '--product', quickstart, ...set], administrator.password)
    const engine = 'platform.async-task.engine'
    const sender = 'platform.iam.auth.login.verification.sms.sender'
    t.match(await plinth('migrate'), { code: 0 })
    t.match(await plinth('config', 'set', engine, 'bullmq'), { code: 1, stderr: /no Redis/ }, 'its owner is asked')
    t.match(await plinth('config', 'set', engine, 'bullmq', '--no-verify'), { code: 0 })
    t.match(await plinth('config', 'set', sender, 'pigeon', '--no-verify'), { code: 0 })

    const start = await plinth('start', '--no-supervisor')
    t.match(start, { code: 1, stderr: 'config reset platform.' })
    t.match(
      start.stderr,
      /Plugin "iam\.verification" failed in setup.* the stored value of platform\.iam\.\S+\.sms\.sender, version 2, by cli:\S+ at \d{4}-/,
    )
    const doctor = await plinth('doctor')
    t.match(doctor, {
      code: 1,
      stdout: /failed +set-up +Plugin "iam.verification" failed.*config reset \S+sms\.sender`/,
    })
    t.match(doctor.stdout, /failed +stored value of platform\.async-task\.engine, version 1, .*no Redis/)
    t.match(await plinth('config', 'get', sender), { code: 0, stdout: 'pigeon\n', stderr: '' })
    t.match(await plinth('migrate'), { code: 0, stderr: '' })
    const create = ['admin', 'create', '--username', administrator.username, '--password-stdin']
    t.match(await plinth(...create), { code: 0, stderr: '' })
    const unasked = await plinth('config', 'set', sender, 'log')
    t.match(unasked, { code: 1, stderr: /it cannot be asked: Plugin "iam\.verification" failed/ })
    t.match(await plinth('config', 'reset', engine, sender), { code: 0, stderr: /iam\.verification/ })
    const running = await startProcess(t, quickstart, settings)
    t.equal((await fetch(`${running.url}/health/ready`)).status, 200)
    running.child.kill('SIGTERM')
    t.same(await running.ended(), [0, null])
  },
)

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
