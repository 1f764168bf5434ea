/** Starts the quickstart with rows for every page of the back office, like a shop that has been used for some days. */

import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { until } from '@plinth/dev/testing'
import { createDatabase, startMigrated, type TestDialect } from '@plinth/dev/testing/database'
import { digests } from '@plinth/digest'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { installAudit } from '@plinth/install'
import { type Clock, defineProduct, omitUndefined, type Plugin, systemClock } from '@plinth/kernel'
import { payments } from '@plinth/money/payments'
import { mall } from '@plinth-example/mall'
import quickstart from '../../examples/quickstart/plinth.config.ts'

const origin = { name: 'setup', clientIp: '127.0.0.1', traceId: 'setup', userAgent: 'setup' }
export const password = 'Back-office-2026'

// biome-ignore lint/suspicious/noExplicitAny: answers of many routes
type Data = any

interface RowsOptions {
  readonly dialect?: TestDialect
  /** Number of instances of the product on the same database. */
  readonly instances?: number
  /** Plugins in addition to those of the quickstart. */
  readonly plugins?: readonly Plugin[]
  readonly clock?: Clock
}

/**
 * Starts the product.
 * @param teardown receives functions that stop the product and remove its database
 */
export async function startWithRows(
  teardown: (work: () => Promise<unknown>) => void,
  { dialect = 'sqlite', instances = 1, plugins = [], clock = systemClock }: RowsOptions = {},
) {
  const db = await createDatabase(dialect)
  teardown(() => db.drop())
  const product = defineProduct({
    name: 'quickstart',
    plugins: [...quickstart.plugins, ...plugins],
    config: {
      ...quickstart.config,
      ...db.config,
      'platform.http.port': 0,
      // On a busy host the load shedder would otherwise reject requests.
      'platform.http.overload.max-wait': '1m',
      'platform.template.compile-deadline': '1m',
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.backup.directory': join(db.directory, 'backups'),
      'platform.system-config.master-key-file': join(db.directory, 'master.key'),
      'platform.install.installed': true,
      'platform.site.title': 'Tea House',
      'platform.rate-limit.enabled': false,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.example.mall.test-payments': true,
      // Sends to a chat service on a port on which nothing listens.
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': ['127.0.0.1:9'],
      'platform.notification.channels.webhook.enabled': true,
      'platform.notification.channels.webhook.default-provider': 'generic',
      'platform.notification.channels.webhook.providers.generic.endpoint': 'http://127.0.0.1:9/hook',
      // A message that failed is not tried again, so that operators find it.
      'platform.notification.retry.enabled': false,
      'platform.mail.driver': 'file',
      'platform.mail.from': 'shop@example.com',
    },
  })
  const start = async () => {
    const instance = await startMigrated(product, { clock })
    teardown(() => instance.stop('end'))
    return instance
  }
  const running = await start()
  const server = running.service(http)
  const people = running.service(accounts)
  /** Texts that people entered. They have no translation. */
  const typed = new Set([
    'root',
    'setup',
    'root@example.com',
    'quickstart',
    'The warehouse does not answer',
    'Move to another host',
  ])
  await people.createAdministrator({ username: 'root', email: 'root@example.com', password }, origin)

  const logIn = async (username: string, secret = password) => {
    const payload = { username, password: secret }
    const response = (await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload })).json()
    return async (
      method: 'GET' | 'POST' | 'PUT' | 'DELETE',
      path: string,
      payload?: object,
      language = 'en',
    ): Promise<Data> => {
      for (const text of typedIn(payload)) typed.add(text)
      const { code, data, message } = (
        await server.inject(
          omitUndefined({
            method,
            url: `/api/v1/${path}`,
            headers: { authorization: `Bearer ${response.data?.accessToken}`, 'accept-language': language },
            payload,
          }),
        )
      ).json()
      if (code !== '200') throw new Error(`${method} ${path}: ${code} ${message} ${JSON.stringify(data)}`)
      return data
    }
  }
  await logIn('root', 'Not-the-password-1')
  const root = await logIn('root')

  const role = await root('POST', 'admin/iam/roles', {
    code: 'support',
    name: 'Customer service',
    description: 'Looks after orders and messages',
    dataScope: 'all',
    permissions: ['iam:user:view'],
  })
  const created: Data[] = []
  for (const username of ['anna', 'bela', 'chen', 'dana'])
    created.push(
      await root('POST', 'admin/iam/users', {
        username,
        email: `${username}@example.com`,
        password,
        roleIds: username === 'anna' ? [role.id] : [],
      }),
    )
  const [anna, bela, chen] = created

  const expiresAt = new Date(Date.now() + 30 * 86_400_000).toISOString()
  await root('POST', 'iam/users/me/api-tokens', { name: 'Stock report', expiresAt, permissions: ['iam:user:view'] })

  // Changes configuration values. One of them takes effect only after a restart.
  for (const [key, value, reason] of [
    ['platform.site.title', 'Tea House', 'The shop has a name'],
    ['platform.site.time-zone', 'Asia/Shanghai', 'Where the shop is'],
    ['platform.notification.send-deadline', '20s', 'The provider is slow'],
  ] as const)
    await root('POST', 'admin/system-config/changes', { changes: [{ key, action: 'set', value }], reason })

  // Sends messages to the inbox, by mail, and to a channel that rejects them.
  await root('POST', 'admin/templates', {
    code: 'order-shipped',
    channel: 'mail',
    locale: 'en',
    subject: 'Order {{orderNo}} is on its way',
    content: 'Dear {{name}}, order {{orderNo}} has left our house.',
  })
  const send = (channel: string, subject: string, recipientUserIds: readonly number[]) =>
    root('POST', 'notifications/send', { channels: [channel], recipientUserIds, subject, content: `${subject}.` })
  await send('database', 'The shop is closed on Monday', [anna.id, bela.id, chen.id])
  await send('mail', 'Your parcel is on its way', [bela.id])
  await send('mail', 'Your invoice', [chen.id])
  await send('webhook', 'Tea is running out', []).catch(() => {})
  await root('POST', 'notification-rules', {
    code: (await root('GET', 'notification-rules/templates'))[0].code,
    channels: ['database'],
    recipientUserIds: [anna.id],
  })

  // Collects items of a digest.
  await root('POST', 'admin/digests/definitions', { code: 'new-orders', content: 'New orders', channels: ['database'] })
  for (const n of [1, 2]) {
    const item = { subjectKey: 'tea', itemKey: `order ${n}`, data: { n } }
    await running.service(digests).add({ digest: 'new-orders', userIds: [anna.id], ...item })
  }

  // Fills the shop: it sells goods and awards points.
  await root('POST', 'admin/member-points/rules', {
    code: 'survey',
    type: 'task',
    enabled: true,
    config: { points: 50 },
    displayTitle: { en: 'Answer our questions', 'zh-CN': '填写问卷' },
  })
  for (const [user, points, reason] of [
    [bela, 1_200, 'Welcome gift'],
    [chen, 800, 'Moved from the old shop'],
    [bela, -200, 'Given twice by mistake'],
  ] as const)
    await root('POST', 'admin/member-points/manual-adjustments', { userId: user.id, points, reason })
  await running.service(mall).seedDemo()
  const buyer = await logIn('bela')
  await buyer('POST', 'member-points/users/me/check-in').catch(() => {})
  const { items: goods } = await buyer('GET', 'mall/goods')
  for (const pays of [true, false]) {
    const { orderNo } = await buyer('POST', 'mall/orders', { lines: [{ goodsId: goods[0].id, quantity: 1 }] })
    if (!pays) continue
    await buyer('POST', `mall/orders/${orderNo}/payments`, { provider: 'test' })
    await buyer('POST', `mall/orders/${orderNo}/refunds`, { amount: 100, reason: 'One cup is broken' })
  }
  await root('POST', 'admin/money/reconciliations', {})

  // Adds a chain, and an order whose buyer paid on the chain but did not tell the product the transaction.
  await root('POST', 'admin/web3/chains', {
    name: 'base',
    chainId: 8453,
    requiredConfirmations: 12,
    providers: [{ id: 'node', url: 'https://node.example.com/rpc' }],
    explorerTransactionUrl: 'https://basescan.org/tx/{hash}',
  })
  for (const [outTradeNo, action] of [
    ['TEA-2026-0001', 'settle'],
    ['TEA-2026-0002', 'record'],
  ] as const) {
    await running.service(payments).create({
      outTradeNo,
      provider: 'web3',
      scene: 'recharge',
      userId: bela.id,
      asset: 'points:mall',
      amount: 4_900,
      chainName: 'base',
      chainId: 8453,
      tokenContract: `0x${'a1'.repeat(20)}`,
      receiver: `0x${'5c'.repeat(20)}`,
      amountRaw: '49000000',
    })
    await root('POST', 'admin/web3/payment-settlement-review-logs', {
      outTradeNo,
      action,
      remark: 'Asked by the buyer',
    })
  }

  // Adds an application of a third party with its own limit.
  await root('POST', 'admin/open-platform/apps', {
    name: 'Warehouse',
    description: 'Tells when parcels leave',
    scopes: [],
  })
  // Registers a browser for push messages.
  await root('POST', 'push/devices/web-push', {
    endpoint: 'https://updates.push.services.mozilla.com/wpush/v2/gAAAAA',
    keys: {
      p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
      auth: 'BTBZMqHH6r4Tts7J_aSIgg',
    },
    label: 'Office laptop',
  })
  // Adds a receiver of webhooks, with a delivery.
  const endpoint = await root('POST', 'admin/webhooks/endpoints', {
    name: 'Stock keeping',
    url: 'https://stock.example.org/hooks',
    eventTypes: ['order.paid'],
  })
  await root('POST', `admin/webhooks/endpoints/${endpoint.id}/test`, {})
  const { items: tasks } = await root('GET', 'admin/scheduler/tasks').then((data) =>
    'items' in data ? data : { items: data },
  )
  await root('POST', `admin/scheduler/tasks/${tasks[0].name}/run-now`)

  // Adds an installation, like one that a person did in the browser.
  const sessionId = randomUUID()
  const installer = { operator: 'root', clientIp: '127.0.0.1', userAgent: 'Firefox', traceId: 'setup' }
  const audits = running.service(installAudit)
  for (const [action, status, summary] of [
    ['entry-check', 'failed', { reason: 'install.token.invalid' }],
    ['execute', 'passed', { outcome: 'passed', failedStep: '', records: 9 }],
    ['state-reset', 'failed', { finding: 'not-confirmed', reason: 'Move to another host' }],
  ] as const)
    await audits.record({ action, status, sessionId: action === 'execute' ? sessionId : '', ...installer, summary })

  // Adds an event that cannot be delivered and an event that can.
  const at = new Date()
  const later = new Date('9998-01-01T00:00:00Z')
  const store = running.service(database)
  for (const [type, status, error] of [
    ['shop.order-paid', 'failed', 'The warehouse does not answer'],
    ['shop.order-shipped', 'skipped', null],
  ] as const)
    await store.execute(
      'insert into outbox_event (id, type, payload, status, attempts, last_error, next_at, created_at) values (?, ?, ?, ?, ?, ?, ?, ?)',
      [store.newId(), type, '{"orderNo":"TEA-2026-0001"}', status, 5, error, later, at],
    )
  await store.execute(
    `insert into web3_settlement_audit_log (id, out_trade_no, risk_reasons, risk_level, risky, suggested_action, retryable,
       needs_fund_review, chain_reorg_suspected, confirmation_snapshot, handling_status, created_at)
     select ?, out_trade_no, ?, 'high', ?, 'manual-review', ?, ?, ?, plan_snapshot, 'open', created_at
     from web3_settlement_review_log where out_trade_no = 'TEA-2026-0002'`,
    [store.newId(), '["transfer-moved"]', true, false, true, false],
  )
  const hash = `0x${'0d'.repeat(32)}`
  const [receiver, payer] = ['5c', '9e'].map((byte) => `0x${byte.repeat(20)}`)
  await store.execute(
    `insert into web3_unmatched_payment (id, out_trade_no, kind, state, source, chain_name, transaction_hash, event_key,
       log_index, log_ordinal, block_number, token, receiver, payer, amount_raw, amount, version, created_at)
     select ?, out_trade_no, 'short', 'open', 'operator', chain_name, ?, ?, 0, 0, 1, token_contract, ?, ?, '48000000', 4800, 1, ?
     from money_payment_order where out_trade_no = 'TEA-2026-0001'`,
    [store.newId(), hash, `base:${hash}:0`, receiver ?? '', payer ?? '', at],
  )
  await store.execute(
    'insert into install_session (id, status, started_at, ended_at, retried_session_id, failed_step, message, client_ip) values (?, ?, ?, ?, ?, ?, ?, ?)',
    [sessionId, 'passed', at, at, '', '', '', '127.0.0.1'],
  )
  await store.execute(
    'insert into install_record (id, session_id, step_code, status, message, occurred_at) values (?, ?, ?, ?, ?, ?)',
    [store.newId(), sessionId, 'install-lock', 'passed', '', at],
  )
  await store.execute(
    `insert into delivery_receipt (id, source, receipt_id, fingerprint, status, state, channel, provider, message_id, detail, occurred_at, created_at)
     values (?, 'mailgun', 'event-1', '', 'unknown', 'delivered', 'mail', 'mailgun', 'message-1', '250 OK', ?, ?)`,
    [store.newId(), at, at],
  )
  await store.execute(
    `insert into delivery_receipt_confirmation (id, source, subject, url, url_hash, status, created_at, updated_at, version)
     values (?, 'ses', 'arn:aws:sns:eu-west-1:1:mail', '', '', 'waiting', ?, ?, 1)`,
    [store.newId(), at, at],
  )
  await store.execute(
    `insert into suppression (id, channel, address, address_key, category, reason, since, source)
     values (?, 'mail', 'a***@example.com', 'key', 'all', 'complaint', ?, 'report')`,
    [store.newId(), at],
  )
  // Adds the record of a backup that failed.
  const failed = join(db.directory, 'backups', '2026-11-29T02-30-00-000Z')
  await mkdir(failed, { recursive: true })
  const failure = { product: product.name, failedAt: 0, code: 'PLINTH_BACKUP_TOOL', reason: 'pg_dump is missing' }
  await writeFile(join(failed, 'failure.json'), JSON.stringify(failure))
  await running.service(events).idle()
  // Waits until the pages are built. Until then, the server sends a page that reloads automatically.
  const areBuilt = async () => !(await server.inject('/admin/')).body.includes('http-equiv="refresh"')
  await until(areBuilt, 'the pages are built')
  const texts = new Set(product.plugins.flatMap(({ messages }) => [...keysOf(messages?.en ?? {})]))
  const urls = [server.url]
  while (urls.length < instances) urls.push((await start()).service(http).url)
  return {
    running,
    server,
    root,
    logIn,
    texts,
    typed,
    url: `${server.url}/admin/`,
    urls: urls.map((one) => `${one}/admin/`),
  }
}

/** Members of requests with texts that people enter. Other members contain codes. */
const enteredMembers = new Set<string>([
  'username',
  'email',
  'name',
  'description',
  'subject',
  'content',
  'reason',
  'remark',
  'value',
  'id',
  'city',
  'en',
  'zh-CN',
  'outTradeNo',
])

/** Yields the texts of a request that people entered. */
function* typedIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  for (const [name, one] of Object.entries(value)) {
    if (typeof one === 'string' && enteredMembers.has(name)) yield one
    else yield* typedIn(one)
  }
}

/** Yields the keys of a text tree, with and without the prefix `messages`. */
function* keysOf(tree: object, path = ''): Generator<string> {
  for (const [name, value] of Object.entries(tree)) {
    if (typeof value === 'object') yield* keysOf(value, `${path}${name}.`)
    else yield* [`${path}${name}`, `messages.${path}${name}`]
  }
}
