/** Kills processes whose mails were accepted by the server, but whose response was lost. */
import { fork } from 'node:child_process'
import { type Database, database } from '@plinth/database'
import { startForTest, until, watchProcess } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import { notification } from '@plinth/notification'
import t from 'tap'
import { startMailServer } from '../../mail/test/fixtures/mail-server.ts'
import { secrets } from './fixtures/product.ts'
import { dsn } from './fixtures/providers.ts'
import { senderConfig, senderProduct } from './fixtures/sender.ts'

const program = new URL('fixtures/sender-process.ts', import.meta.url)
const kills = 20
const base = '/api/v1/delivery-receipts'

const held: { readonly database: string; readonly kills: number; readonly mails: number; readonly resolved: number }[] =
  []
t.teardown(() => console.table(held))

const statesOf = (db: Database) =>
  db.query<{ status: string; state: string | null; n: unknown }>(
    'select status, delivery_state as state, count(*) as n from notification_send_log group by status, delivery_state',
  )

onEachDatabase(t, 'a mail whose response was lost is resolved by its report, and never sent twice', async (t, at) => {
  const smtp = await startMailServer(t)
  const config = senderConfig(at, smtp.config)
  const web = await startForTest(senderProduct(config), { roles: ['web'] })
  t.teardown(() => web.stop('test ended'))
  const db = web.service(database)
  const server = web.service(http)
  // The server accepts each mail and never replies.
  smtp.behave({ hangs: true })

  /** Reports the mail with a number: most as delivered, each fifth as returned to its own return path. */
  const report = async (number: number) => {
    const mail = smtp.received[number]
    if (mail === undefined) throw new Error(`no mail ${number}`)
    const { headers, from } = mail
    const at = Date.now()
    const returned = dsn(['failed', '5.1.1', 'smtp; 550 5.1.1'], { id: `dsn-${number}`, at, to: from })
    const delivered = JSON.stringify({
      RecordType: 'Delivery',
      MessageID: `postmark-${number}`,
      Recipient: 'ada@example.com',
      DeliveredAt: new Date(at).toISOString(),
      Metadata: { ref: headers['x-pm-metadata-ref'] },
    })
    const [source, payload, type] =
      number % 5 === 4 ? ['returned-mail', returned, 'message/rfc822'] : ['postmark', delivered, 'application/json']
    const secret = secrets[source as 'postmark' | 'returned-mail']
    const request = { url: `${base}/${source}/${secret}`, headers: { 'content-type': type } }
    const { statusCode } = await server.inject({ ...request, method: 'POST', payload })
    t.equal(statusCode, 200)
  }

  for (let kill = 0; kill < kills; kill++) {
    const victim = watchProcess(t, fork(program, [JSON.stringify(config)], { silent: true }))
    const recipients = [{ kind: 'email' as const, address: `user${kill}@example.com` }]
    await web.service(notification).enqueue({ subject: 'Order', content: 'Paid', recipients }, { channels: ['mail'] })
    await victim.until(() => smtp.received.length > kill, `the server has mail ${kill}`)
    await victim.end('SIGKILL')
    // Half of the reports arrive while the send log does not know yet that the process died.
    if (kill % 2 === 0) await report(kill)
  }
  for (let kill = 1; kill < kills; kill += 2) await report(kill)
  t.match(smtp.received[0]?.from, /^bounce\+[0-9a-z]{47}@shop\.example$/)

  watchProcess(t, fork(program, [JSON.stringify(config)], { silent: true }))
  const resolved = async () =>
    (await statesOf(db))
      .filter(({ status, state }) => status === 'success' && state !== null)
      .reduce((sum, { n }) => sum + Number(n), 0)
  await until(async () => (await resolved()) >= kills, 'all sends are resolved', 50, 120_000).catch(() => {})
  const rows = (await statesOf(db)).map(({ status, state, n }) => `${status} ${state} ${n}`).sort()
  t.same(rows, [`success bounced ${kills / 5}`, `success delivered ${(kills * 4) / 5}`])
  const addresses = smtp.received.map(({ to }) => to.join())
  t.equal(addresses.length, kills, 'each mail was sent once')
  t.equal(new Set(addresses).size, kills, 'to its own recipient')
  held.push({ database: at.dialect, kills, mails: addresses.length, resolved: await resolved() })
})
