import databasePlugin, { database } from '@plinth/database'
import { applyLiveValues, assertKeyEffect, manualClock, startForTest } from '@plinth/dev/testing'
import { onDatabase, watchStatements } from '@plinth/dev/testing/database'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import { definePlugin, defineProduct } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import sharedStore from '@plinth/shared-store'
import socialPlugin, { type SocialMessage, social } from '@plinth/social'
import systemConfig from '@plinth/system-config'
import t from 'tap'

const dayMs = 86_400_000

/** Plugin that admits every request, in place of an identity plugin. */
const door = definePlugin({
  id: 'test.door',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  setup: ({ services }) => services.http.guard({ name: 'test.door', stage: 'access', forRoute: () => () => {} }),
})

const message: SocialMessage = {
  accountCode: 'shop',
  messageType: 'official-kefu-text',
  toUser: 'oPlanted-open-id-4711',
  content: 'Hello',
  data: {},
  clientMessageId: 'm1',
}

onDatabase(t, 'the outbound log is read by an index, and rows are removed after their retention', async (t, at) => {
  const clock = manualClock()
  const plugins = [databasePlugin, httpPlugin, i18n, sharedStore, systemConfig, outgoingHttp, door, socialPlugin]
  const config = { ...at.config, 'platform.http.port': 0, 'platform.http.response-check': true }
  const running = await startForTest(defineProduct({ name: 'social', plugins, config }), { clock })
  t.teardown(() => running.stop('test ended'))
  const db = running.service(database)
  const list = async (query: string) => {
    const url = `/api/v1/admin/social/messages?${query}`
    return (await running.service(http).inject({ method: 'GET', url })).json().data
  }
  const rejected = await running.service(social).send(message, AbortSignal.timeout(60_000))
  t.hasStrict(rejected, { outcome: 'rejected', errorCode: 'social.account-unknown' })
  const [row] = (await list('')).items
  t.match(row, { accountCode: 'shop', toUser: '***4711', outcome: /^rejected$/, providerMessage: /names no account/ })

  const rows = Array.from({ length: 400 }, (_, index) => index + 1)
  await db.execute(
    `insert into social_outbound (id, account_code, message_type, to_user, client_message_id, outcome, created_at)
       values ${rows.map(() => "(?, ?, 'official-template', '***', 'm', ?, ?)").join(', ')}`,
    rows.flatMap((id) => [
      id,
      id % 10 === 0 ? 'other' : 'shop',
      id % 20 === 0 ? 'unknown' : 'accepted',
      new Date(clock.now() - id * dayMs),
    ]),
  )
  const { plansOf } = watchStatements(db, 'social_outbound')
  for (const query of ['', 'accountCode=other', 'outcome=unknown', 'accountCode=other&outcome=unknown']) {
    const found = await list(`${query}&size=200`)
    t.ok(found.items.length >= 20, query)
    const plans = await plansOf(async () => {
      const { next } = await list(`${query}&size=5&count=capped`)
      if (next !== null) await list(`${query}&size=5&cursor=${encodeURIComponent(next)}&count=none`)
    })
    t.ok(plans.length >= 2, query)
    for (const { sql, sorts } of plans) t.notOk(sorts, `${query} sorts: ${sql}`)
  }

  const purge = () =>
    running.scheduledTasks.find(({ name }) => name === 'social.outbound.purge')?.run(new AbortController().signal)
  const [stored] = await assertKeyEffect(t, 'platform.social.outbound.retention', {
    changed: '10d',
    async observe(values) {
      await applyLiveValues(running, values)
      await purge()
      return (await list('count=exact')).total
    },
  })
  t.match(stored, { before: 91, after: 11 }, 'the rows of that many days, and the one of today')
})
