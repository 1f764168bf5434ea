/** Tests the operations on rules for operators (document 2 of the specification, "Notification rules"). */

import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onSqlite, watchStatements } from '@plinth/dev/testing/database'
import { events, forumReplyCreated, forumReplyLiked, forumTopicLiked } from '@plinth/events'
import { personalRecords } from '@plinth/iam'
import inboxPlugin from '@plinth/inbox'
import { definePlugin } from '@plinth/kernel'
import t from 'tap'
import { startRules } from './fixtures/rules-product.ts'

const code = 'open-platform.balance-low'

onDatabase(t, 'N-068 N-157 a rule is created, read, changed, enabled, disabled and deleted', async (t, at) => {
  const { rules, user } = await startRules(t, at)
  const [ann, bob] = [await user('ann'), await user('bob')]
  const written = {
    code,
    enabled: true,
    thresholdCount: 3,
    thresholdWindow: 600,
    dedupeWindow: 60,
    silenceWindow: 120,
    channels: ['database'],
    recipientUserIds: [ann],
    escalation: { enabled: true, after: 1800, dedupeWindow: 3600, channels: ['mail'], recipientUserIds: [bob] },
  }
  const created = await rules('POST', '', written)
  t.hasStrict(created, { code: '200', data: { ...written, version: 1, updatedBy: 'root' } })
  const { id } = created.data
  t.same((await rules('GET', `/${id}`)).data, created.data)

  await t.test('N-157 members that a change omits stay', async (t) => {
    const changed = await rules('PUT', `/${id}`, { thresholdCount: 5, escalation: { after: 60 } })
    const { thresholdCount, escalation, ...others } = written
    t.match(changed.data, { ...others, thresholdCount: 5, escalation: { ...escalation, after: 60 }, version: 2 })
    const renamed = await rules('PUT', `/${id}`, { code: 'shop.order.lost', recipientUserIds: [] })
    assertMembers(t, renamed.data, { code: 'shop.order.lost', recipientUserIds: [], version: 3 })
  })

  await t.test('N-121 a rule is disabled and enabled, also if it already is', async (t) => {
    t.match((await rules('POST', `/${id}/disable`)).data, { enabled: false, version: 4 })
    t.match((await rules('POST', `/${id}/disable`)).data, { enabled: false })
    const { version } = (await rules('GET', `/${id}`)).data
    t.match((await rules('POST', `/${id}/enable`, { version })).data, { enabled: true })
    t.match((await rules('POST', `/${id}/enable`)).data, { enabled: true })
  })
  t.hasStrict(await rules('DELETE', `/${id}`), { code: '200', data: null })
})

onSqlite(t, 'an erased user is removed from the recipients and the escalations of rules', async (t, at) => {
  const { running, rules, user } = await startRules(t, at)
  const [ann, bob] = [await user('ann'), await user('bob')]
  const escalation = { enabled: true, after: 60, channels: ['mail'], recipientUserIds: [ann, bob] }
  const { id } = (await rules('POST', '', { code, recipientUserIds: [bob, ann], escalation })).data
  const actor = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
  await running.service(personalRecords).erase(ann, { actor, signal: AbortSignal.timeout(60_000) })
  const { data } = await rules('GET', `/${id}`)
  t.same([data.recipientUserIds, data.escalation.recipientUserIds], [[bob], [bob]])
})

onSqlite(t, 'N-069..N-074 stored values are normalised', async (t, at) => {
  const { rules, user } = await startRules(t, at)
  const [ann, bob] = [await user('ann'), await user('bob')]
  let number = 0
  const stored = async (members: object) => {
    const response = await rules('POST', '', { code: `test.rule-${++number}`, ...members })
    t.equal(response.code, '200', response.message)
    t.same((await rules('GET', `/${response.data.id}`)).data, response.data)
    return response.data
  }
  await t.test('N-069 a threshold below 1 becomes 1', async (t) => {
    for (const thresholdCount of [0, -3]) t.equal((await stored({ thresholdCount })).thresholdCount, 1)
    t.equal((await stored({})).thresholdCount, 1)
  })
  await t.test('N-070 N-071 channels: database if none is given, lower case, without duplicates', async (t) => {
    t.same((await stored({})).channels, ['database'])
    t.same((await stored({ channels: [] })).channels, ['database'])
    t.same((await stored({ channels: ['Mail', 'mail', 'DATABASE'] })).channels, ['mail', 'database'])
    t.same((await stored({ channels: [' ', ''] })).channels, ['database'])
  })
  await t.test('N-072 duplicate recipients count once', async (t) => {
    t.same((await stored({ recipientUserIds: [bob, ann, bob] })).recipientUserIds, [bob, ann])
  })
  await t.test('N-073 a window of 0 seconds or less means none', async (t) => {
    const none = { thresholdWindow: null, dedupeWindow: null, silenceWindow: null }
    t.match(await stored({ thresholdWindow: 0, dedupeWindow: 0, silenceWindow: -5 }), none)
    t.match(await stored(none), none)
    t.match(await stored({}), none)
    t.match(await stored({ dedupeWindow: 1 }), { ...none, dedupeWindow: 1 })
  })
  await t.test('N-074 an escalation has the same members, also normalised', async (t) => {
    const empty = { enabled: false, after: null, dedupeWindow: null, channels: [], recipientUserIds: [] }
    t.same((await stored({})).escalation, empty)
    const escalation = {
      enabled: true,
      after: 60,
      dedupeWindow: 0,
      channels: ['MAIL', 'mail'],
      recipientUserIds: [ann, ann],
    }
    t.same((await stored({ escalation })).escalation, {
      enabled: true,
      after: 60,
      dedupeWindow: null,
      channels: ['mail'],
      recipientUserIds: [ann],
    })
  })
  await t.test('a change is normalised too', async (t) => {
    const { id } = await stored({ thresholdCount: 4, dedupeWindow: 9, channels: ['mail'] })
    assertMembers(t, (await rules('PUT', `/${id}`, { thresholdCount: -1, dedupeWindow: -1, channels: [] })).data, {
      thresholdCount: 1,
      dedupeWindow: null,
      channels: ['database'],
    })
  })
})

onSqlite(t, 'N-086 N-158 other invalid input is rejected with a reason and changes nothing', async (t, at) => {
  const { rules, user, call, path } = await startRules(t, at)
  const ann = await user('ann')
  const { data } = await rules('POST', '', { code })
  const taken = { code: '409', data: { reason: 'notification-rules.code-taken' } }
  t.match(await rules('POST', '', { code }), taken)
  t.match(await call('POST', path, { code }, 'root', 'zh-CN'), { message: `编码为 ${code} 的规则已存在。` })
  const { data: other } = await rules('POST', '', { code: 'shop.order.lost' })
  t.match(await rules('PUT', `/${other.id}`, { code }), taken)

  for (const [field, body] of [
    ['code', { code: 'Balance Low' }],
    ['code', { code: 'one-word' }],
    ['code', {}],
    ['dedupeWindow', { code: 'a.b', dedupeWindow: '10m' }],
    ['dedupeWindow', { code: 'a.b', dedupeWindow: 31_536_001 }],
    ['recipientUserIds[0]', { code: 'a.b', recipientUserIds: ['7'] }],
    ['recipientUserIds', { code: 'a.b', recipientUserIds: Array.from({ length: 201 }, (_, id) => id + 1) }],
    ['channels', { code: 'a.b', channels: Array(21).fill('mail') }],
    ['escalation/after', { code: 'a.b', escalation: { after: 'soon' } }],
  ] as const) {
    const response = await rules('POST', '', body)
    t.hasStrict(response, { code: '400', data: { reason: 'http.invalid-input' } }, JSON.stringify(body).slice(0, 60))
    t.ok(JSON.stringify(response.data.errors).includes(field.replace('/', '.')), field)
  }
  assertMembers(t, await rules('PUT', `/${data.id}`, { channels: ['mial'] }), {
    code: '400',
    data: { reason: 'notification-rules.channel-unknown', channel: 'mial', loaded: ['database', 'mail'] },
  })
  t.hasStrict(await rules('POST', '', { code: 'a.b', escalation: { channels: ['pigeon'] } }), { code: '400' })
  t.hasStrict(await rules('POST', '', { code: 'a.b', recipientUserIds: [ann, 4711] }), {
    code: '403',
    data: { reason: 'iam.out-of-scope' },
  })
  for (const recipients of [{ recipientUserIds: [4711] }, { recipientUserIds: [ann, 4711] }]) {
    const escalated = { code: 'a.b', recipientUserIds: [ann], escalation: { enabled: true, after: 60, ...recipients } }
    const response = await rules('POST', '', escalated)
    t.equal(response.code, '403')
    t.equal(response.data.reason, 'iam.out-of-scope', 'recipients of the escalation are in the data scope too')
  }
  assertMembers(t, (await rules('GET', `/${data.id}`)).data, { version: 1, channels: ['database'] })
  t.equal((await rules('GET')).data.total, 2)
})

onDatabase(t, 'N-148 the list is paged, and filtered by state and by a part of the code', async (t, at) => {
  const { rules, db } = await startRules(t, at)
  const codes = ['forum.reply.created', 'forum.topic.liked', 'install.execution.failed', 'scheduler.task.failed']
  for (const [index, code] of codes.entries()) await rules('POST', '', { code, enabled: index % 2 === 0 })
  const listed = async (query: string) => {
    const { data } = await rules('GET', `?${query}`)
    return [data.items.map(({ code }: { code: string }) => code), data.total]
  }
  t.same(await listed(''), [codes.toReversed(), 4])
  t.same(await listed('sort=code&size=2&page=2'), [codes.slice(2), 4])
  t.same(await listed('enabled=true'), [[codes[2], codes[0]], 2])
  t.same(await listed('enabled=false&keyword=FORUM'), [[codes[1]], 1])
  t.same(await listed('keyword=failed&sort=code'), [codes.slice(2), 2])

  await t.test('C-014 every filter and order has its index', async (t) => {
    const rows = Array.from({ length: 300 }, (_, index) => index + 1)
    await db.execute(
      `insert into notification_rule (id, code, enabled, threshold_count, channels, recipient_user_ids, escalation_enabled,
         escalation_channels, escalation_recipient_user_ids, version, created_at, updated_at)
       values ${rows.map(() => `(?, ?, ?, 1, '[]', '[]', ?, '[]', '[]', 1, ?, ?)`).join(', ')}`,
      rows.flatMap((id) => [id, `test.rule-${id}`, id % 10 === 0, false, new Date(id * 1000), new Date(id * 1000)]),
    )
    const { plansOf } = watchStatements(db, 'notification_rule')
    for (const [query, index] of [
      ['enabled=true', 'enabled_id_index'],
      ['sort=code', 'code_unique'],
      ['sort=-createdAt', 'created_at_id_index'],
      ['enabled=true&sort=code', 'enabled_code_id_index'],
      ['enabled=true&sort=createdAt', 'enabled_created_at_id_index'],
    ] as const) {
      const plans = await plansOf(() => rules('GET', `?${query}&size=1&count=none`))
      t.equal(plans.length, 1)
      for (const { sql, indexes, sorts } of plans) {
        t.notOk(sorts, `${query} sorts: ${sql}`)
        t.ok(indexes.length === 1 && indexes[0]?.endsWith(index), `${query} by ${indexes}: ${sql}`)
      }
    }
  })
})

onDatabase(t, 'N-157 several rules are deleted at once, and never all by mistake', async (t, at) => {
  const { rules } = await startRules(t, at)
  const ids: number[] = []
  for (const name of ['one', 'two', 'three', 'four']) {
    ids.push((await rules('POST', '', { code: `test.${name}` })).data.id)
  }
  for (const [rest, body] of [
    ['', undefined],
    ['', {}],
    ['', { ids: [] }],
    ['?ids=', undefined],
    ['?ids=all', undefined],
    ['?ids=9007199254740993', undefined],
    [`?ids=${Array.from({ length: 201 }, (_, id) => id + 1)}`, undefined],
  ] as const) {
    t.hasStrict(await rules('DELETE', rest, body), { code: '400' }, `${rest.slice(0, 40)} ${JSON.stringify(body)}`)
  }
  t.equal((await rules('GET')).data.total, 4)
  t.hasStrict(await rules('DELETE', '', { ids: [ids[0], ids[0], 4711] }), { code: '200', data: { affected: 1 } })
  t.hasStrict(await rules('DELETE', `?ids=${ids[1]},${ids[2]}`), { code: '200', data: { affected: 2 } })
  assertMembers(t, (await rules('GET')).data, { total: 1, items: [{ id: ids[3] }] })
})

const forumFacts = [forumReplyCreated, forumReplyLiked, forumTopicLiked]
const forum = definePlugin({
  id: 'test.forum',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { events },
  setup: ({ services }) => services.events.declarePublished(...forumFacts),
})

onSqlite(
  t,
  'C-018 N-149..N-153 N-164..N-166 N-168 built-in templates, and the settings that are still missing',
  async (t, at) => {
    const { rules, call, path, user, operator } = await startRules(t, at, { plugins: [forum, inboxPlugin] })
    const ann = await user('ann')
    const { data: templates } = await rules('GET', '/templates')
    interface Template {
      readonly code: string
      readonly category: string
      readonly displayName: string
    }
    const codes = templates.map(({ code }: Template) => code)
    await t.test(
      'N-149 N-164 N-165 N-166 N-168 every subject and event code of document 2 has a template',
      async (t) => {
        const subjects = {
          'open-platform': ['balance-low', 'package-exhausted', 'key-abnormal', 'provider-fault', 'rate-limited'],
          queue: ['job.failed'],
          events: ['outbox.delivery-failed'],
          compensation: ['command.failed'],
          web3: ['settlement.failed'],
          scheduler: ['task.failed'],
          'async-task': ['failed'],
          backup: ['completed', 'failed'],
          'content-safety': ['review.pending', 'review.rejected'],
          install: ['execution.completed', 'execution.failed'],
          mall: [
            'virtual-delivery.low-stock',
            'virtual-delivery.out-of-stock',
            'after-sales.pending-review',
            'order.pending-fulfilment',
          ],
          security: ['abuse-suspected'],
          webhooks: ['endpoint.failing', 'endpoint.suspended'],
          blog: ['article.published'],
          cms: ['review.rejected'],
          forum: ['reply.created', 'topic.liked', 'topic.favorited', 'reply.liked', 'report.status-changed'],
          'short-link': ['risk-visit'],
          'live-code': ['fallback-used'],
        }
        const expected = Object.entries(subjects).flatMap(([module, facts]) => facts.map((fact) => `${module}.${fact}`))
        t.equal(
          expected.length,
          24 + 9,
          'the 24 subjects, four more codes of the forum, suspected abuse, webhooks and backups',
        )
        t.same([...codes].sort(), expected.sort())
        for (const { code, category } of templates) t.equal(category, code.split('.')[0])
        assertMembers(t, templates[0], {
          code: 'open-platform.balance-low',
          thresholdCount: 1,
          channels: ['database'],
          escalation: { enabled: true, after: 3600, channels: ['mail'] },
        })
      },
    )
    await t.test(
      'N-177 install, CMS, short links and live codes recommend database or mail, all others database',
      async (t) => {
        for (const { code, category, channels } of templates) {
          const isEither = ['install', 'cms', 'short-link', 'live-code'].includes(category)
          t.same(channels, isEither ? ['database', 'mail'] : ['database'], code)
        }
      },
    )
    const { data: chinese } = await call('GET', `${path}/templates`, undefined, 'root', 'zh-CN')
    for (const [index, { code, displayName, subject, content }] of chinese.entries()) {
      for (const text of [displayName, subject, content]) t.match(text, /\p{Script=Han}/u, code)
      t.match(templates[index].displayName, /^[A-Z][ -~]+$/, code)
    }
    t.equal((await rules('GET')).data.total, 0, 'N-150 reading templates creates nothing')

    await t.test('N-151 N-152 N-087 N-088 the summary', async (t) => {
      const untouched = (await rules('GET', '/ops-summary')).data
      const published = [
        'events.outbox.delivery-failed',
        'async-task.failed',
        'forum.reply.created',
        'forum.topic.liked',
        'forum.reply.liked',
      ]
      assertMembers(t, untouched, {
        total: 0,
        coverage: { templates: 5, covered: 0, missing: 5 },
        silencedRuleCodes: [],
      })
      t.same(untouched.codesToConfigure, published, 'operations configure what a loaded plugin publishes')
      t.same(
        untouched.codesWithoutSource,
        codes.filter((code: string) => !published.includes(code)),
      )
      t.same(
        templates.filter((one: { published: boolean }) => one.published).map(({ code }: Template) => code),
        published,
      )
      const escalation = { enabled: true, after: 60 }
      await rules('POST', '', {
        code: 'scheduler.task.failed',
        recipientUserIds: [ann],
        escalation: { ...escalation, channels: ['mail'] },
      })
      await rules('POST', '', { code: 'async-task.failed', escalation: { ...escalation, recipientUserIds: [ann] } })
      await rules('POST', '', { code: 'forum.reply.created', recipientUserIds: [ann], escalation })
      await rules('POST', '', { code: 'forum.topic.liked', enabled: false, escalation })
      await rules('POST', '', { code: 'shop.order.lost', escalation: { enabled: false } })
      const { data } = await rules('GET', '/ops-summary')
      assertMembers(t, data, {
        total: 5,
        enabled: 4,
        disabled: 1,
        escalation: { enabled: 3, complete: 2, incomplete: 1 },
        recipients: { configured: 2, missing: 3, enabledMissingCodes: ['async-task.failed', 'shop.order.lost'] },
        coverage: { templates: 5, covered: 3, missing: 2 },
        escalationIncompleteRuleCodes: ['forum.reply.created'],
      })
      const byCategory = new Map(data.categories.map((one: { category: string }) => [one.category, one]))
      t.match(byCategory.get('forum'), { templates: 3, covered: 2, missing: 1 })
      t.equal(byCategory.get('mall'), undefined, 'no loaded plugin publishes facts of a mall')
      t.same(data.codesToConfigure, ['events.outbox.delivery-failed', 'forum.reply.liked'])
      t.same((await rules('GET', '/ops-summary')).data, data, 'N-152 it changes nothing')
    })
    await t.test('N-105 a rule whose recipient has disabled its alerts is in the summary', async (t) => {
      const duty = await operator('duty')
      const preferences = (change: object) => call('PUT', '/api/v1/notifications/preferences', change, 'duty')
      await rules('POST', '', { code: 'shop.stock.low', channels: ['database', 'mail'], recipientUserIds: [ann, duty] })
      await rules('POST', '', { code: 'shop.stock.out', enabled: false, recipientUserIds: [duty] })
      const silenced = async () => (await rules('GET', '/ops-summary')).data.silencedRuleCodes
      t.same(await silenced(), [])
      await preferences({ databaseEnabled: false })
      t.same(await silenced(), [], 'the other channel reaches the recipient')
      await preferences({ emailEnabled: false })
      t.same(await silenced(), ['shop.stock.low'])
      await preferences({ databaseEnabled: true, systemEnabled: false })
      t.same(await silenced(), ['shop.stock.low'], 'the category alone is enough')

      const members = { code: 'shop.stock.late', channels: ['database'], recipientUserIds: [ann] }
      const escalation = { enabled: true, after: 60, recipientUserIds: [duty] }
      const { data } = await rules('POST', '', { ...members, escalation })
      t.same(await silenced(), ['shop.stock.late', 'shop.stock.low'], 'a recipient of the escalation')
      await preferences({ databaseEnabled: false, emailEnabled: true, systemEnabled: true })
      await rules('PUT', `/${data.id}`, { escalation: { ...escalation, channels: ['mail'] } })
      t.same(await silenced(), [], 'a channel of the escalation reaches the recipient')
      await rules('PUT', `/${data.id}`, { escalation: { ...escalation, channels: [] } })
      t.same(await silenced(), ['shop.stock.late'])
      await rules('PUT', `/${data.id}`, { escalation: { ...escalation, enabled: false } })
      t.same(await silenced(), [], 'the escalation is off')
    })
  },
)

onSqlite(t, 'N-159 N-160 every operation has its permission', async (t, at) => {
  const { rules, operator, call, path } = await startRules(t, at)
  const { data } = await rules('POST', '', { code })
  const acts = {
    view: [
      ['GET', ''],
      ['GET', '/templates'],
      ['GET', '/ops-summary'],
      ['GET', `/${data.id}`],
      ['POST', '/export'],
    ],
    create: [['POST', '', { code: 'shop.order.lost' }]],
    update: [
      ['PUT', `/${data.id}`, { thresholdCount: 2 }],
      ['POST', `/${data.id}/disable`],
      ['POST', `/${data.id}/enable`],
    ],
    delete: [
      ['DELETE', '?ids=4711'],
      ['DELETE', `/${data.id}`],
    ],
  } as const
  for (const own of Object.keys(acts)) await operator(own, `notification:rule:${own}`)
  for (const [needed, calls] of Object.entries(acts)) {
    for (const [method, rest, body] of calls) {
      for (const who of Object.keys(acts).filter((other) => other !== needed)) {
        t.hasStrict(await rules(method, rest, body, who), { code: '403' }, `${who}: ${method} ${rest}`)
      }
      t.hasStrict(await rules(method, rest, body, needed), { code: '200' }, `${needed}: ${method} ${rest}`)
      t.hasStrict(await call(method, `${path}${rest}`, body, 'nobody'), { code: '401' })
    }
  }
})

onSqlite(t, 'every change is in the audit, with user, action and rule', async (t, at) => {
  const { rules, call } = await startRules(t, at)
  const { data } = await rules('POST', '', { code })
  await rules('PUT', `/${data.id}`, { thresholdCount: 7 })
  await rules('POST', `/${data.id}/disable`)
  await rules('DELETE', '', { ids: [data.id] })
  const { data: audits } = await call(
    'GET',
    `/api/v1/admin/iam/audits?targetType=notification-rule&targetId=${data.id}`,
  )
  t.same(
    audits.items.map(({ action }: { action: string }) => action),
    ['delete', 'disable', 'update', 'create'].map((verb) => `notification-rule.${verb}`),
  )
  t.match(audits.items[2], { summary: { code, thresholdCount: 7 } })
})
