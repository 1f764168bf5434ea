/** Tests that raised events are counted in the database, decided once, and sent by the notification service. */

import { hash } from 'node:crypto'
import { insertRows } from '@plinth/database'
import { applyLiveValues, assertKeyEffect, assertMembers, rejectsWith } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase, onSqlite, watchStatements } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import type { DeliveryOutcome } from '@plinth/kernel'
import type { RuleDecision } from '@plinth/notification-rules'
import t from 'tap'
import { AlertStateRow } from '../src/entities.ts'
import { startRules } from './fixtures/rules-product.ts'

const minute = 60_000
const code = 'open-platform.balance-low'

onEachDatabase(t, 'N-075 N-077 N-078 N-079 events are counted, and one alert is sent once', async (t, at) => {
  const { rules, raise, user, inbox, pass, settled, db } = await startRules(t, at)
  const ann = await user('ann')
  const rule = { code, thresholdCount: 3, thresholdWindow: 600, dedupeWindow: 1200, recipientUserIds: [ann] }
  t.hasStrict(await rules('POST', '', rule), { code: '200' })
  const outcomes = async (times: number, dedupeKey = 'app:1') => {
    const found: string[] = []
    for (let time = 0; time < times; time++) found.push((await raise({ code, dedupeKey })).outcome)
    return found
  }
  t.same(await outcomes(2), ['below-threshold', 'below-threshold'])
  await pass(10 * minute)
  t.same(await outcomes(3), ['below-threshold', 'below-threshold', 'sent'], 'the window began anew')
  t.same(await outcomes(1), ['duplicate'])
  t.same(await outcomes(3, 'app:2'), ['below-threshold', 'below-threshold', 'sent'], 'another key, another alert')
  await settled()
  t.equal(inbox.sent.length, 2)
  await pass(20 * minute)
  t.same(await outcomes(3), ['below-threshold', 'below-threshold', 'sent'])

  await t.test('N-075 without a window, events are counted from the last message', async (t) => {
    const open = 'open-platform.key-abnormal'
    t.hasStrict(await rules('POST', '', { code: open, thresholdCount: 3, recipientUserIds: [ann] }), { code: '200' })
    const found: string[] = []
    for (let time = 0; time < 7; time++) found.push((await raise({ code: open })).outcome)
    const below = ['below-threshold', 'below-threshold']
    t.same(found, [...below, 'sent', ...below, 'sent', 'below-threshold'])
  })

  await t.test('C-014 no statement about an alert reads the whole table', async (t) => {
    const { plansOf } = watchStatements(db, 'notification_rule_state')
    const plans = await plansOf(() => raise({ code, dedupeKey: 'app:3' }))
    t.ok(plans.length >= 2)
    const [prefix] = ['notification_rule_state_state_key_unique']
    for (const { sql, indexes, scans } of plans.filter(({ sql }) => !sql.startsWith('insert'))) {
      t.same([indexes, scans], [[prefix], []], sql)
    }
  })
})

onDatabase(
  t,
  'N-083 N-084 a continuing alert is escalated, and an alert after a quiet time begins again',
  async (t, at) => {
    const { rules, raise, user, inbox, mail, pass, settled, running } = await startRules(t, at)
    const [ann, boss] = [await user('ann'), await user('boss')]
    const escalation = { enabled: true, after: 1800, channels: ['mail'], recipientUserIds: [boss] }
    await rules('POST', '', { code, dedupeWindow: 600, recipientUserIds: [ann], escalation })
    await rules('POST', '', { code: 'scheduler.task.failed', recipientUserIds: [ann], escalation })
    const outcomes: string[] = []
    for (let step = 0; step < 7; step++) {
      outcomes.push((await raise({ code })).outcome)
      await pass(10 * minute)
    }
    t.same(
      outcomes,
      ['sent', 'sent', 'sent', 'escalated', 'sent', 'sent', 'escalated'],
      'although it is sent all the time',
    )
    await settled()
    t.equal(inbox.sent.length, 7)
    t.same(
      mail.sent.map(({ message }) => message.recipients),
      [1, 2].map(() => [
        { kind: 'user', userId: ann },
        { kind: 'user', userId: boss },
      ]),
    )
    await pass(24 * 60 * minute)
    t.equal((await raise({ code })).outcome, 'sent', 'after a day without an event it is another alert')

    let alerts = 0
    const [later] = await assertKeyEffect(t, 'platform.notification.rules.quiet-period', {
      changed: '1h',
      async observe(values) {
        await applyLiveValues(running, values)
        const alert = { code: 'scheduler.task.failed', dedupeKey: `task:${++alerts}` }
        t.equal((await raise(alert)).outcome, 'sent')
        await pass(60 * minute)
        return (await raise(alert)).outcome
      },
    })
    t.match(later, { before: 'escalated', after: 'sent' }, 'an alert that was quiet for an hour is another one')
  },
)

onEachDatabase(t, 'N-077 if two instances raise one alert at the same time, one sends', async (t, at) => {
  const first = await startRules(t, at)
  const ann = await first.user('ann')
  await first.rules('POST', '', { code, dedupeWindow: 600, recipientUserIds: [ann] })
  const instances = [first]
  // SQLite allows one writer. Two processes on a SQLite file therefore send the same statements as one instance on a
  // server.
  if (at.dialect !== 'sqlite') instances.push(await startRules(t, at, { isFirst: false }))
  const raised = await Promise.all(
    Array.from({ length: 12 }, (_, index) => {
      const { raise } = instances[index % instances.length] as typeof first
      return raise({ code, dedupeKey: 'app:1' })
    }),
  )
  const count = (expected: RuleDecision['outcome']) => raised.filter(({ outcome }) => outcome === expected).length
  t.same([count('sent'), count('duplicate')], [1, 11])
  for (const { settled } of instances) await settled()
  t.equal(instances.flatMap(({ inbox }) => inbox.sent).length, 1)
})

onSqlite(t, 'N-085 N-086 the content, the recipients and the scope of a send', async (t, at) => {
  const { rules, raise, user, inbox, settled, lines, db } = await startRules(t, at)
  const [ann, bob] = [await user('ann'), await user('bob')]
  await rules('POST', '', { code, recipientUserIds: [ann, bob] })
  const variables = { appName: 'Acme', balance: 5 }
  const attributes = { targetType: 'open-app', targetId: '12', module: 'open-platform' }
  assertMembers(t, await raise({ code, dedupeKey: 'app:12', locale: 'zh-CN', variables, attributes }), {
    shouldSend: true,
    channels: ['database'],
    recipientUserIds: [ann, bob],
    dedupeKey: 'app:12',
  })
  await settled()
  t.match(inbox.last(), {
    recipients: [ann, bob].map((userId) => ({ kind: 'user', userId })),
    locale: 'zh-CN',
    variables: { ...variables, code, count: 1 },
    attributes: { ...attributes, event: code, dedupeKey: 'app:12', ruleCode: code },
  })
  await raise({ code, subject: 'Own words', content: 'Own text' })
  await settled()
  t.match(inbox.last(), { subject: 'Own words', content: 'Own text' })

  await db.execute('delete from iam_user where id = ?', [bob])
  t.equal((await raise({ code, dedupeKey: 'app:13' })).outcome, 'sent')
  await settled()
  t.same(inbox.last()?.recipients, [{ kind: 'user', userId: ann }], 'who is gone is left out')
  assertMembers(
    t,
    lines.find(({ msg }) => String(msg).includes('are deleted or outside the data scope')),
    { code, scope: 'root', skipped: [bob] },
    'and not in silence',
  )
  await db.execute('delete from iam_user where id = ?', [ann])
  t.equal((await raise({ code, dedupeKey: 'app:14' })).outcome, 'no-recipients')
})

onSqlite(t, 'N-081 D.50 an alert without recipients is a debug log line and a count', async (t, at) => {
  const { rules, raise, user, inbox, lines, running, settled } = await startRules(t, at)
  t.equal((await raise({ code })).outcome, 'no-rule')
  const { data } = await rules('POST', '', { code })
  t.equal((await raise({ code })).outcome, 'no-recipients')
  const ann = await user('ann')
  await rules('PUT', `/${data.id}`, { recipientUserIds: [ann], enabled: false })
  t.equal((await raise({ code })).outcome, 'disabled', 'a change counts at once')
  await rules('PUT', `/${data.id}`, { enabled: true })
  t.equal((await raise({ code })).outcome, 'sent')
  await settled()
  t.equal(inbox.sent.length, 1)
  const judged = lines.filter(({ msg }) => String(msg).includes('rule was applied to an event'))
  t.same(
    judged.map(({ level, code, outcome }) => [level, code, outcome]),
    ['no-rule', 'no-recipients', 'disabled', 'sent'].map((outcome) => [20, code, outcome]),
  )
  const { body } = await running.service(http).inject('/metrics')
  for (const outcome of ['no-rule', 'no-recipients', 'disabled', 'sent']) {
    t.match(body, `platform_notification_rule_events_total{outcome="${outcome}"} 1`)
  }
})

onSqlite(t, 'a removed channel is left out, and the other channels are used', async (t, at) => {
  const { rules, raise, user, inbox, db, lines, settled, clock } = await startRules(t, at)
  const ann = await user('ann')
  await rules('POST', '', { code, channels: ['database', 'mail'], recipientUserIds: [ann] })
  const become = (channels: string[]) =>
    db.execute('update notification_rule set channels = ?', [JSON.stringify(channels)])
  await become(['database', 'pigeon'])
  t.same((await raise({ code })).channels, ['database'])
  await settled()
  t.equal(inbox.sent.length, 1)
  assertMembers(
    t,
    lines.find(({ msg }) => String(msg).includes('not loaded')),
    { level: 40, code, missing: ['pigeon'] },
  )
  await become(['pigeon'])
  t.same((await raise({ code })).channels, ['database'], 'a rule is remembered for a second')
  await clock.advance(1000)
  t.equal((await raise({ code })).outcome, 'no-channel', 'then another instance is heard')
})

onSqlite(t, 'a count from the caller is used unchanged, and a count that fits no event is rejected', async (t, at) => {
  const { rules, raise, user } = await startRules(t, at)
  const ann = await user('ann')
  await rules('POST', '', { code, thresholdCount: 5, thresholdWindow: 60, recipientUserIds: [ann] })
  t.equal((await raise({ code, count: 9 })).outcome, 'window-untrusted')
  t.equal((await raise({ code, count: 9, windowMs: 60_001 })).outcome, 'window-untrusted')
  t.equal((await raise({ code, count: 4, windowMs: 60_000 })).outcome, 'below-threshold')
  t.equal((await raise({ code, count: 5, windowMs: 60_000 })).outcome, 'sent')
  for (const wrong of [
    { code: 'Balance' },
    { code: 'balance' },
    { code: `a.${'b'.repeat(127)}` },
    { dedupeKey: '' },
    { dedupeKey: 'k'.repeat(201) },
    { dedupeKey: 'a\nb' },
    { count: 0 },
    { count: 1.5 },
    { count: 1_000_001 },
    { windowMs: 0 },
    { windowMs: Number.NaN },
  ]) {
    await rejectsWith(t, raise({ code, ...wrong }), { code: '400', reason: 'notification-rules.event-invalid' })
  }
})

onDatabase(t, 'an alert that was raised in a transaction is sent with it or not at all', async (t, at) => {
  const { rules, raise, user, inbox, db, settled } = await startRules(t, at)
  const ann = await user('ann')
  await rules('POST', '', { code, dedupeWindow: 600, recipientUserIds: [ann] })
  const failing = db.transactional(async () => {
    t.equal((await raise({ code })).outcome, 'sent')
    throw new Error('changed my mind')
  })
  await rejectsWith(t, failing, { message: 'changed my mind' })
  await settled()
  t.equal(inbox.sent.length, 0)
  t.equal((await raise({ code })).outcome, 'sent', 'the alert was not remembered either')
  await settled()
  t.equal(inbox.sent.length, 1)
})

onDatabase(t, 'N-079 unused keys are not stored forever: their state ends, and the row is removed', async (t, at) => {
  const { rules, raise, user, pass, running, db, lines, clock } = await startRules(t, at)
  const ann = await user('ann')
  await rules('POST', '', { code, thresholdCount: 2, thresholdWindow: 60, recipientUserIds: [ann] })
  const rows = async () =>
    Number((await db.query<{ n: unknown }>('select count(*) as n from notification_rule_state'))[0]?.n)
  const purge = () =>
    running.scheduledTasks.find(({ name }) => name === 'notification.rules.purge')?.run(new AbortController().signal)
  const [days, keys] = [4, 150]
  for (let day = 0; day < days; day++) {
    for (let key = 0; key < keys; key++) await raise({ code, dedupeKey: `order:${day}:${key}:${'漢'.repeat(150)}` })
    t.equal(await rows(), keys, 'those of one day alone')
    await pass(86_400_000 + minute)
    await purge()
    t.equal(await rows(), 0)
  }
  await raise({ code, dedupeKey: '漢'.repeat(200) })
  await rejectsWith(t, raise({ code, dedupeKey: '漢'.repeat(201) }), {
    code: '400',
    reason: 'notification-rules.event-invalid',
  })
  t.equal(await rows(), 1, 'a key is one row however often it comes')
  for (let time = 0; time < 5; time++) await raise({ code, dedupeKey: '漢'.repeat(200) })
  t.equal(await rows(), 1)

  await t.test('beyond 10,000 alerts of a rule, new keys count as one', async (t) => {
    const flooded = 'async-task.failed'
    const [most, other] = [10_000, 'scheduler.task.failed']
    const rule = { thresholdCount: 2, thresholdWindow: 60, recipientUserIds: [ann] }
    for (const code of [flooded, other]) await rules('POST', '', { ...rule, code })
    const stateKey = (key: string) => hash('sha256', `${flooded}\n${key}`)
    const state = { code: flooded, counted: 0, windowStartedAtMs: 0, expiresAtMs: Date.now() + 86_400_000 }
    const written = Array.from({ length: most - 1 }, (_, index) => {
      const dedupeKey = `ip:${index}`
      return { ...state, id: db.newId(), stateKey: stateKey(dedupeKey), dedupeKey }
    })
    await insertRows(db, AlertStateRow, written)
    const before = await rows()
    const outcomes: string[] = []
    const { plansOf } = watchStatements(db, 'notification_rule_state')
    const plans = await plansOf(async () => {
      for (const dedupeKey of ['new:1', 'new:2', 'new:3', 'new:4', 'ip:7', 'ip:7', 'new:1', 'new:5'])
        outcomes.push((await raise({ code: flooded, dedupeKey })).outcome)
    })
    const [low, sent] = ['below-threshold', 'sent']
    t.same(
      outcomes,
      [low, low, sent, sent, low, sent, sent, sent],
      'new:1 and ip:7 for themselves, the others together',
    )
    t.equal(await rows(), before + 2, 'one fitted, and one stands for the others')
    for (const { sql, scans } of plans) if (!sql.startsWith('insert')) t.same(scans, [], sql)
    const reported = lines.filter((line) => JSON.stringify(line).includes('kept apart'))
    assertMembers(t, reported, [{ code: flooded, most }], 'once')

    t.equal((await raise({ code: other, dedupeKey: 'new:1' })).outcome, low)
    t.equal((await raise({ code: other, dedupeKey: 'new:2' })).outcome, low, 'another rule has room of its own')

    await db.execute('delete from notification_rule_state where code = ?', [flooded])
    await clock.advance(10_000)
    const later = [
      await raise({ code: flooded, dedupeKey: 'new:6' }),
      await raise({ code: flooded, dedupeKey: 'new:7' }),
    ]
    t.same(
      later.map(({ outcome }) => outcome),
      [low, low],
      'apart again where there is room',
    )
  })
})

onDatabase(t, 'the state of finished alerts is removed, with an index', async (t, at) => {
  const { rules, raise, user, pass, running, db } = await startRules(t, at)
  const ann = await user('ann')
  await rules('POST', '', { code, silenceWindow: 2 * 86_400, recipientUserIds: [ann] })
  await rules('POST', '', { code: 'async-task.failed', recipientUserIds: [ann] })
  await raise({ code })
  await raise({ code: 'async-task.failed' })
  await pass(86_400_000 + minute)
  const purge = () =>
    running.scheduledTasks.find(({ name }) => name === 'notification.rules.purge')?.run(new AbortController().signal)
  const { plansOf } = watchStatements(db, 'notification_rule_state')
  const plans = await plansOf(async () => purge())
  const left = await db.query<{ code: string }>('select code from notification_rule_state')
  t.same(left, [{ code }], 'as long as a window of its rule')
  // MariaDB is not checked, because it scans the table if there are only two rows.
  if (at.dialect !== 'mariadb') for (const { sql, scans } of plans) t.same(scans, [], sql)
  t.ok(plans.some(({ indexes }) => indexes.includes('notification_rule_state_expires_at_ms_id_index')))
})

onDatabase(t, 'N-081 N-082 an alert that reached nobody is sent again at the next event', async (t, at) => {
  const config = { 'platform.notification.retry.max-attempts': 2, 'platform.notification.retry.first-delay': '1m' }
  const started = await startRules(t, at, { config })
  const { rules, raise, user, mail, settled, clock, db, call } = started
  const windows = { thresholdCount: 2, dedupeWindow: 36_000, silenceWindow: 36_000 }
  const ann = await user('ann')
  t.hasStrict(await rules('POST', '', { code, ...windows, channels: ['mail'], recipientUserIds: [ann] }), {
    code: '200',
  })
  const down: DeliveryOutcome = { outcome: 'deferred', errorCode: 'acme.503', errorMessage: 'Down' }
  const outcomes: string[] = []
  const event = async () => {
    outcomes.push((await raise({ code })).outcome)
    await settled()
  }
  /** Makes the retry due. The clock of a database server cannot be moved, so its time is moved back instead. */
  const retry = async () => {
    await db.execute(`update outbox_event set next_at = ? where status = 'scheduled'`, [new Date(1_000)])
    await clock.advance(1_000)
    await settled()
    // The list waits until the outcome of the retry is stored.
    await call('GET', '/api/v1/notification-send-logs')
  }
  mail.behave = async () => down
  await event()
  await event()
  await event()
  await retry()
  await event()
  mail.behave = async () => ({ outcome: 'unknown', errorCode: 'acme.timeout', errorMessage: 'No answer' })
  await retry()
  await event()
  t.same(outcomes, ['below-threshold', 'sent', 'below-threshold', 'sent', 'below-threshold'])
  t.equal(mail.sent.length, 4, 'two attempts each')
})
