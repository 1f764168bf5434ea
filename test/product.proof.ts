/** Tests that the quickstart starts without each plugin, and what its processes do at their start and end. */

import { startForTest } from '@plinth/dev/testing'
import { defineProduct, type PlinthError } from '@plinth/kernel'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import {
  administrator,
  authorize,
  dataDirectory,
  quickstart,
  readinessOf,
  runProgram,
  send,
  startProcess,
} from './fixtures/product-process.ts'

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
    'delivery-receipts',
    'events',
    'example.mall',
    'iam',
    'iam.recovery',
    'idempotency',
    'install',
    'member-points',
    'money',
    'money.payments',
    'notification.rules',
    'open-platform',
    'push',
    'quickstart-cleanup',
    'scheduler',
    'shared-store',
    'social',
    'suppression',
    'system-config',
    'template',
    'web3',
    'web3-settlement',
    'webhooks',
  ],
  events: [
    'delivery-receipts',
    'example.mall',
    'iam.recovery',
    'install',
    'member-points',
    'money.payments',
    'notification-linkage',
    'notification.inbox',
    'notification.rules',
    'web3-settlement',
    'webhooks',
  ],
  http: [
    'approval',
    'console.admin',
    'delivery-receipts',
    'example.mall',
    'iam',
    'iam.recovery',
    'iam.verification',
    'idempotency',
    'install',
    'member-points',
    'notification-channels.websocket',
    'notification.inbox',
    'notification.rules',
    'open-platform',
    'push',
    'quickstart-cleanup',
    'social',
    'suppression',
    'system-config.admin',
    'wallet-login',
    'web3',
    'web3-settlement',
    'webhooks',
  ],
  i18n: ['iam.recovery'],
  iam: [
    'console.admin',
    'delivery-receipts',
    'example.mall',
    'iam.recovery',
    'install',
    'member-points',
    'notification-channels.websocket',
    'notification.inbox',
    'notification.rules',
    'open-platform',
    'suppression',
    'push',
    'wallet-login',
    'webhooks',
  ],
  'money.payments': ['example.mall', 'web3-settlement'],
  money: ['example.mall', 'member-points', 'money.payments'],
  'notification.inbox': ['notification-channels.database'],
  'system-config': [
    'delivery-receipts',
    'iam.verification',
    'idempotency',
    'install',
    'push',
    'social',
    'suppression',
    'system-config.admin',
    'web3',
    'webhooks',
  ],
  'outgoing-http': ['delivery-receipts', 'notification-channels.webhook', 'push', 'sms', 'social', 'web3', 'webhooks'],
  'notification-channels.webhook': product.plugins.flatMap(({ id }) =>
    id.startsWith('webhook-providers.') ? [id] : [],
  ),
  mail: ['iam.recovery', 'notification-channels.mail'],
  sms: ['notification-channels.sms'],
  social: ['notification-channels.social'],
  storage: ['async-task'],
  notification: [
    'delivery-receipts',
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
    'push',
  ],
  'notification-channels.log': ['notification'],
  'rate-limit': [
    'iam.recovery',
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
  site: [
    'console.admin',
    'example.mall',
    'iam.recovery',
    'install',
    'member-points',
    'open-platform',
    'push',
    'wallet-login',
  ],
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
    for (const one of both) {
      t.equal(await readinessOf(one), 'ready')
    }
    for (const { child, ended } of both) {
      child.kill('SIGKILL')
      await ended()
    }
    const again = await startProcess(t, quickstart, settings)
    t.equal(await readinessOf(again), 'ready')
    again.child.kill('SIGTERM')
    t.same(await again.ended(), [0, null])
  },
)

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
    t.equal(await readinessOf(running), 'ready')
    running.child.kill('SIGTERM')
    t.same(await running.ended(), [0, null])
  },
)
