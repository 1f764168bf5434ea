/**
 * Records the database of a product version for `upgrade.test.ts`. Run it in a checkout of that version:
 *
 *   node test/release/record-database.ts <target folder>
 *
 * It fills a database of each kind through the HTTP API, with a payment order in each review state on a local chain. It
 * writes a dump of each database, the state of the chain, and the facts that the upgraded product must preserve.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { programEnvironment } from '@plinth/dev/testing'
import { createDatabase, startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import { deployToken, startAnvil } from '@plinth/dev/testing/web3'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, omitUndefined, systemClock } from '@plinth/kernel'
import checkoutPlugin, { checkout } from '@plinth-example/checkout'
import { mall } from '@plinth-example/mall'
import { privateKeyToAccount } from 'viem/accounts'
import quickstart from '../../examples/quickstart/plinth.config.ts'

// biome-ignore lint/suspicious/noExplicitAny: responses of many routes
type Data = any

const origin = { name: 'recording', clientIp: '127.0.0.1', traceId: 'recording', userAgent: 'recording' }
const password = 'Correct-horse-7'
const shop = `0x${'5c'.repeat(20)}` as const
const wallet = privateKeyToAccount(`0x${'42'.repeat(32)}`)
/** Values in the config centre: secrets with their destinations, and keys of the examples. */
const storedValues = {
  'platform.mail.smtp.host': 'mail.example.org',
  'platform.mail.smtp.username': 'postman',
  'platform.mail.smtp.password': 'smtp-secret-of-the-recording',
  'platform.sms.twilio.account-sid': `AC${'1'.repeat(32)}`,
  'platform.sms.twilio.auth-token': 'twilio-secret-of-the-recording',
  'platform.example.mall.test-payments': true,
  'platform.example.mall.credit-asset': 'points:mall',
}

const dumps = {
  sqlite: ({ config }: TestDatabase, folder: string) =>
    writeFileSync(
      join(folder, 'sqlite.sqlite.gz'),
      gzipSync(readFileSync(`${config['platform.database.sqlite.file']}`)),
    ),
  postgresql: ({ config }: TestDatabase, folder: string) =>
    writeFileSync(
      join(folder, 'postgresql.sql.gz'),
      gzipSync(
        dumpOf('pg_dump', [
          '-h',
          '127.0.0.1',
          '-U',
          'postgres',
          '--no-owner',
          '--inserts',
          '--rows-per-insert=100',
          '--no-tablespaces',
          `${config['platform.database.name']}`,
        ]),
      ),
    ),
  mariadb: ({ config }: TestDatabase, folder: string) =>
    writeFileSync(
      join(folder, 'mariadb.sql.gz'),
      gzipSync(
        dumpOf('mariadb-dump', [
          '-h',
          '127.0.0.1',
          '-u',
          'root',
          '--skip-dump-date',
          `${config['platform.database.name']}`,
        ]),
      ),
    ),
} as const
const dumpOf = (program: string, words: readonly string[]) =>
  execFileSync(program, words, {
    maxBuffer: 256 * 1024 * 1024,
    env: { ...programEnvironment(), PATH: process.env['PATH'] },
  })

async function record(dialect: keyof typeof dumps, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const chain = await startAnvil()
  const token = await deployToken(chain)
  const db = await createDatabase(dialect)
  const product = defineProduct({
    name: 'quickstart',
    plugins: [...quickstart.plugins, checkoutPlugin],
    config: {
      ...quickstart.config,
      ...db.config,
      'platform.http.port': 0,
      'platform.storage.root': join(db.directory, 'storage'),
      'platform.system-config.master-key-file': join(db.directory, 'master.key'),
      'platform.install.installed': true,
      'platform.rate-limit.enabled': false,
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${chain.port}`],
      'platform.example.checkout.chain': 'local',
      'platform.example.checkout.token': token.address,
      'platform.example.checkout.receiver': shop,
    },
  })
  const running = await startMigrated(product, { clock: systemClock })
  const server = running.service(http)
  const call = async (
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    payload?: object,
    accessToken?: string,
  ): Promise<Data> => {
    const headers = accessToken === undefined ? {} : { authorization: `Bearer ${accessToken}` }
    const body = payload === undefined ? {} : { payload }
    const response = (await server.inject({ method, url: `/api/v1/${path}`, headers, ...body })).json()
    if (response.code !== '200') throw new Error(`${method} ${path}: ${JSON.stringify(response)}`)
    return response.data
  }
  const as = (accessToken: string) => (method: 'GET' | 'POST' | 'PUT', path: string, payload?: object) =>
    call(method, path, payload, accessToken)
  const logIn = async (username: string) => (await call('POST', 'auth/login', { username, password })).accessToken
  await running.service(accounts).createAdministrator({ username: 'root', password }, origin)
  const root = as(await logIn('root'))

  const changes = Object.entries(storedValues).map(([key, value]) => ({ key, action: 'set', value }))
  await root('POST', 'admin/system-config/changes', { changes, reason: 'recording' })

  // Members with points that were earned by an order, are on hold for another order, or were spent on a third one.
  const settled = () => running.service(events).idle()
  const members = new Map<string, Awaited<ReturnType<typeof memberNamed>>>()
  const memberNamed = async (username: string) => {
    const { id } = await running
      .service(accounts)
      .create({ username, password, email: `${username}@example.org` }, origin)
    return { id, call: as(await logIn(username)) }
  }
  for (const username of ['ann', 'ben']) members.set(username, await memberNamed(username))
  const ann = members.get('ann') as NonNullable<ReturnType<typeof members.get>>
  const ben = members.get('ben') as NonNullable<ReturnType<typeof members.get>>
  await running.service(mall).seedDemo()
  const { items: goods } = await ann.call('GET', 'mall/goods')
  const teaPot = goods.find(({ sku }: Data) => sku === 'DEMO-POT')
  const buy = async ({ call: member }: typeof ann, credit?: number): Promise<string> => {
    const lines = [{ goodsId: teaPot.id, quantity: 1 }]
    return (await member('POST', 'mall/orders', omitUndefined({ lines, credit }))).orderNo
  }
  const pay = async ({ call: member }: typeof ann, orderNo: string) => {
    await member('POST', `mall/orders/${orderNo}/payments`, { provider: 'test' })
    await settled()
  }
  const pointsOf = async ({ call: member }: typeof ann) =>
    (await member('GET', 'member-points/users/me/overview')).available
  const orders = { earning: await buy(ann), held: '', spent: '' }
  await pay(ann, orders.earning)
  orders.held = await buy(ann, 359)
  await ann.call('POST', `mall/orders/${orders.earning}/refunds`, { amount: 25_900, reason: 'too large' })
  await pay(ben, await buy(ben))
  orders.spent = await buy(ben, 300)
  await pay(ben, orders.spent)
  await ben.call('POST', 'member-points/users/me/check-in')

  // Payment orders on a chain with these states: settled, ready, underpaid, and waiting for confirmations.
  const provider = { id: 'node', url: chain.url }
  await root('POST', 'admin/web3/chains', {
    name: 'local',
    chainId: chain.chainId,
    requiredConfirmations: 3,
    providers: [provider],
  })
  await token.mint(wallet.address, 1_000_000_000n)
  const [funder = '0x'] = chain.accounts
  await chain.send({ from: funder, to: wallet.address, value: 10n ** 18n })
  await running.service(checkout).seedDemo()
  const challenge = await call('POST', 'auth/wallet/challenge', { chainType: 'evm', address: wallet.address })
  const signature = await wallet.signMessage({ message: challenge.message })
  const { challengeId } = challenge
  const buyer = as(
    (await call('POST', 'auth/wallet/login', { challengeId, address: wallet.address, signature })).accessToken,
  )
  const [offer] = (await buyer('GET', 'checkout/offers')).items
  let nonce = 0
  const payOnChain = async (terms: Data, share = 1n): Promise<string> =>
    chain.sendRaw(
      await wallet.signTransaction({
        chainId: chain.chainId,
        type: 'eip1559',
        nonce: nonce++,
        to: terms.tokenContract,
        gas: 100_000n,
        data: token.transferData(terms.receiver, BigInt(terms.amountRaw) / share),
        maxFeePerGas: 10n ** 10n,
        maxPriorityFeePerGas: 1n,
      }),
    )
  const order = async (share?: bigint): Promise<string> => {
    const { orderNo, pay: terms } = await buyer('POST', 'checkout/orders', { offerId: offer.id })
    const transactionHash = await payOnChain(terms, share)
    await buyer('PUT', `checkout/orders/${orderNo}/transaction`, { transactionHash })
    return orderNo
  }
  const review = (outTradeNo: string): Promise<Data> =>
    root('POST', 'admin/web3/payment-settlement-review-logs', { outTradeNo, action: 'settle', remark: 'recorded' })
  const payments = { settled: await order(), ready: await order(), short: await order(2n), confirming: '' }
  await chain.mine(5)
  payments.confirming = await order()
  const reviews = {
    settled: await review(payments.settled),
    ready: await review(payments.ready),
    short: await review(payments.short),
    confirming: await review(payments.confirming),
  }
  await root('POST', `admin/web3/payment-settlement-review-logs/${reviews.settled.id}/settle`)

  // Creates messages, a rule, a template, an application and a task.
  const message = { recipientUserIds: [ann.id], subject: 'Hello', content: 'Recorded.' }
  await root('POST', 'notifications/send', { ...message, channels: ['database', 'log'] })
  await root('POST', 'notifications/send', { ...message, channels: ['webhook'] }).catch(() => undefined)
  await settled()
  const [{ code: rule }] = await root('GET', 'notification-rules/templates')
  await root('POST', 'notification-rules', {
    code: rule,
    enabled: true,
    channels: ['database'],
    recipientUserIds: [ann.id],
  })
  await root('POST', 'admin/templates', {
    code: 'recorded',
    channel: 'mail',
    locale: 'en',
    subject: 'Hello {{name}}',
    content: 'Hello {{name}}',
  })
  const app = await root('POST', 'admin/open-platform/apps', { name: 'recorded', scopes: [], ownerUserId: ann.id })
  await root('POST', 'notification-rules/export', {})
  await settled()

  const facts = {
    password,
    users: { ann: ann.id, ben: ben.id },
    points: { ann: await pointsOf(ann), ben: await pointsOf(ben) },
    orders,
    payments,
    reviews: Object.fromEntries(Object.entries(reviews).map(([name, { id, state }]) => [name, { id, state }])),
    application: app,
    storedValues,
    token: token.address,
    chainState: await chain.rpc('anvil_dumpState'),
  }
  writeFileSync(join(folder, `${dialect}.json`), `${JSON.stringify(facts, undefined, 2)}\n`)
  await running.stop('recorded')
  dumps[dialect](db, folder)
  copyFileSync(join(db.directory, 'master.key'), join(folder, `${dialect}.master.key`))
  await db.drop()
  await chain.stop()
}

const [target = ''] = process.argv.slice(2)
for (const dialect of Object.keys(dumps) as (keyof typeof dumps)[]) await record(dialect, target)
