/** Tests the HTTP operations of members and operators. */

import { assertMembers, manualClock } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import idempotency from '@plinth/idempotency'
import { definePlugin } from '@plinth/kernel'
import { memberPoints } from '@plinth/member-points'
import { ledgerAssets } from '@plinth/money'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedStore from '@plinth/shared-store'
import systemConfig from '@plinth/system-config'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { asset, day, origin, startPoints } from './fixtures/product.ts'

const outcome = ({ code, data }: { code: string; data?: { reason?: string } | null }) =>
  data?.reason === undefined ? code : `${code} ${data.reason}`
const me = 'member-points/users/me'
const admins = 'admin/member-points'

onDatabase(t, 'P-E01 P-E04 P-018 P-046 members check in and see their points', async (t, at) => {
  const clock = manualClock(Date.UTC(2026, 4, 30, 12))
  const config = { 'platform.member-points.time-zone': 'Asia/Shanghai' }
  const product = await startPoints(t, at, { clock, config })
  const { server, member, rows, balance, ledger, ref, points } = product
  const ada = await member('ada')
  const bob = await member('bob')
  const overview = async ({ call }: Pick<typeof ada, 'call'>) => (await call('GET', `${me}/overview`)).data

  await t.test('P-046 P-048 P-049 without a login every call is rejected', async (t) => {
    for (const [method, path] of [
      ['GET', `${me}/overview`],
      ['GET', `${me}/ledgers`],
      ['GET', 'member-points/tasks'],
      ['POST', `${me}/check-in`],
    ] as const) {
      const response = await server.inject({ method, url: `/api/v1/${path}` })
      t.equal(response.json().code, '401', path)
    }
  })

  await t.test('P-011 P-012 a member without points has zero points', async (t) => {
    t.same(await overview(ada), {
      asset,
      available: 0,
      frozen: 0,
      monthEarned: 0,
      monthUsed: 0,
      monthReturned: 0,
      monthReversed: 0,
      monthExpired: 0,
      expiringSoon: 0,
      expiringSoonDays: 30,
    })
    t.same((await ada.call('GET', `${me}/ledgers`)).data.items, [])
  })

  await t.test('P-018 P-022 P-049 once a day, with a record, a source and an entry', async (t) => {
    const first = await ada.call('POST', `${me}/check-in`)
    t.hasStrict(first, {
      code: '200',
      data: { checkedIn: true, repeated: false, points: 5, date: '2026-05-30', consecutiveDays: 1 },
    })
    const again = await server.inject({
      method: 'POST',
      url: `/api/v1/${me}/check-in`,
      headers: { authorization: `Bearer ${ada.token}`, 'content-type': 'application/json' },
    })
    t.hasStrict(again.json(), { code: '200', data: { checkedIn: true, repeated: true, points: 0, consecutiveDays: 1 } })
    const [record] = await rows(
      'select user_id, check_date, zone, consecutive_days, points, journal_id from points_check_in',
    )
    t.match(record, {
      user_id: ada.id,
      check_date: '2026-05-30',
      zone: 'Asia/Shanghai',
      consecutive_days: 1,
      points: 5,
    })
    const [source] = await rows(
      'select source_type, granted, remaining, journal_id, rule_code, rule_version from points_source',
    )
    t.match(source, { source_type: 'check-in', granted: 5, remaining: 5, rule_code: 'check-in', rule_version: 1 })
    t.equal(source?.['journal_id'], record?.['journal_id'])
    const journal = await ledger.journal(Number(record?.['journal_id']))
    t.match(journal, { key: `member-points:check-in:${ada.id}:2026-05-30`, kind: 'points.check-in' })
  })

  await t.test('C10 P-019 twenty concurrent check-ins', async (t) => {
    const responses = await Promise.all(Array.from({ length: 20 }, () => bob.call('POST', `${me}/check-in`)))
    t.same(
      responses.map(({ data }) => data.points).sort((a, b) => a - b),
      [...Array(19).fill(0), 5],
    )
    t.equal((await rows('select id from points_check_in where user_id = ?', [bob.id])).length, 1)
    t.equal((await ada.call('GET', `${me}/ledgers`)).data.items.length, 1)
    t.same(await balance(bob.id), [5, 0])
  })

  await t.test('P-013 P-014 P-020 B6 a month begins in the time zone of the programme', async (t) => {
    // 23:59:59.999 of 31 May in Shanghai.
    clock.shiftWallClock(Date.UTC(2026, 4, 31, 15, 59, 59, 999) - clock.now())
    t.match((await ada.call('POST', `${me}/check-in`)).data, { date: '2026-05-31', consecutiveDays: 2, points: 5 })
    await points.spend({ userId: ada.id, points: 3, key: 'may' })
    t.match(await overview(ada), { available: 7, monthEarned: 10, monthUsed: 3 })
    clock.shiftWallClock(1)
    t.match((await ada.call('POST', `${me}/check-in`)).data, { date: '2026-06-01', consecutiveDays: 3, points: 5 })
    await points.spend({ userId: ada.id, points: 1, key: 'june' })
    t.match(await overview(ada), { available: 11, monthEarned: 5, monthUsed: 1 })
    const account = await ledger.find(ref(ada.id))
    const slices = [
      await ledger.monthTotals(account?.id ?? 0, 202605),
      await ledger.monthTotals(account?.id ?? 0, 202606),
    ]
    const sum = (name: 'received' | 'spent') => slices.flat().reduce((total, slice) => total + slice[name], 0)
    const [all] = await rows(
      `select sum(case when d_available > 0 then d_available else 0 end) as received,
         sum(case when d_available < 0 then -d_available else 0 end) as spent from money_entry where account_id = ?`,
      [account?.id ?? 0],
    )
    t.same({ received: sum('received'), spent: sum('spent') }, all, 'I15 the slices of the months are the whole')
  })

  await t.test('P-002 P-004 P-012 the figures are those of the ledger', async (t) => {
    await ledger.credit({ ...ref(bob.id), amount: 40, key: 'direct', kind: 'test.grant' })
    const { holdId } = await ledger.hold({ ...ref(bob.id), amount: 15, key: 'hold', kind: 'test.hold' })
    t.match(await overview(bob), { available: 30, frozen: 15, monthUsed: 0 })
    await ledger.capture({ holdId, amount: 5, key: 'capture', kind: 'test.capture' })
    t.match(await overview(bob), { available: 40, frozen: 0, monthUsed: 5 })
  })

  await t.test('P-015 expiring points are shown, and expired points are no balance', async (t) => {
    const cora = await member('cora')
    const grant = (name: string, amount: number, expiresAt: number) => {
      const lots = { source: { id: product.db.newId(), type: 'test', key: name }, expiresAt }
      return ledger.credit({ ...ref(cora.id), amount, key: name, kind: 'test.grant', lots })
    }
    await grant('soon', 7, clock.now() + 30 * day)
    await grant('later', 9, clock.now() + 30 * day + 1)
    await grant('now', 4, clock.now() + 1)
    t.match(await overview(cora), { available: 20, expiringSoon: 11 })
    clock.shiftWallClock(1)
    t.match(await overview(cora), { available: 16, expiringSoon: 16, monthExpired: 4, monthUsed: 0 })
    t.same(await balance(cora.id), [16, 0], 'the ledger says the same')
  })

  await t.test('P-047 P-057 no member sees the ledger of another, whatever they request', async (t) => {
    const own = (await ada.call('GET', `${me}/ledgers?userId=${bob.id}`)).data
    t.equal(own.items.length, 5)
    t.same((await overview({ call: (method, path) => ada.call(method, `${path}?userId=${bob.id}`) })).available, 11)
    await ada.call('POST', `${me}/check-in`, { userId: bob.id })
    t.equal((await rows('select id from points_check_in where user_id = ?', [bob.id])).length, 1)
    const english = own.items.at(-1)
    t.match(english, {
      kind: 'points.check-in',
      points: 5,
      frozenPoints: 0,
      availableAfter: 5,
      referenceId: '2026-05-30',
      displayName: 'Daily check-in',
      displayTitle: 'Check-in on 2026-05-30',
      displayDescription: '',
    })
    const chinese = (await ada.call('GET', `${me}/ledgers`, undefined, { 'accept-language': 'zh-CN' })).data.items.at(
      -1,
    )
    t.match(chinese, { displayName: '每日签到', displayTitle: '2026-05-30 签到' })
    const page = (await ada.call('GET', `${me}/ledgers?size=2`)).data
    const next = (await ada.call('GET', `${me}/ledgers?size=2&cursor=${page.next}`)).data
    t.same(
      [...page.items, ...next.items].map(({ id }) => id),
      own.items.slice(0, 4).map(({ id }: { id: number }) => id),
    )
  })

  await t.test('P-016 P-017 P-E03 tasks with their rules and texts', async (t) => {
    const { data } = await ada.call('GET', 'member-points/tasks', undefined, { 'accept-language': 'zh-CN' })
    t.same(
      data.map(({ code, type, completed, repeatable }: Record<string, unknown>) => [code, type, completed, repeatable]),
      [
        ['check-in', 'check-in', true, true],
        ['order-reward', 'order', false, true],
        ['profile-completion', 'task', false, false],
        ['first-order', 'task', false, false],
        ['review-reward', 'task', false, true],
      ],
    )
    assertMembers(t, data[0], {
      displayName: '每日签到',
      displayTitle: '每天签到',
      displayDescription: /5 积分/,
      rule: { version: 1, asset, points: 5, cycleDays: 7, bonuses: [{ day: 7, points: 30 }] },
      checkIn: { checkedIn: true, consecutiveDays: 3, nextPoints: 5 },
    })
    t.match(data[1].rule, { points: 1, perAmount: 100 })
    await points.rewardTask({ task: 'profile-completion', userId: ada.id })
    const after = (await ada.call('GET', 'member-points/tasks')).data
    t.match(after[2], {
      completed: true,
      displayTitle: 'Complete your profile',
      displayDescription: '50 points, one time.',
    })
  })

  await t.test('P-021 a missed day restarts the streak', async (t) => {
    clock.shiftWallClock(2 * day)
    t.match((await bob.call('GET', 'member-points/tasks')).data[0].checkIn, { checkedIn: false, consecutiveDays: 0 })
    t.match((await bob.call('POST', `${me}/check-in`)).data, { consecutiveDays: 1, points: 5 })
  })
  t.same(await brokenRules(product), [])
})

/** Plugin with another points asset that uses the lots of member points, and an asset without lots. */
const vip = definePlugin({
  id: 'vip',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { memberPoints },
  contributes: [ledgerAssets],
  setup({ services, contribute }) {
    const displayName = { en: 'Stars', 'zh-CN': '星星' }
    contribute(ledgerAssets, 'points:vip', { displayName, scale: 0, lots: services.memberPoints.lotRepository })
    contribute(ledgerAssets, 'points:foreign', { displayName, scale: 0 })
  },
})

onDatabase(t, 'P-E05 P-E10 P-050 P-056 what operators see and do', async (t, at) => {
  const clock = manualClock(Date.UTC(2026, 5, 1))
  const plugins = [vip, idempotency, memoryStore, rateLimit, sharedStore, systemConfig]
  const config = { 'platform.system-config.master-key-file': `${at.directory}/master.key` }
  const product = await startPoints(t, at, { clock, plugins, config })
  const { member, balance, rows, running, ledger, ref } = product
  const admin = await product.administrator()
  const ada = await member('ada')
  const adjust = (points: number, more: object = {}, headers = {}) =>
    admin.call('POST', `${admins}/manual-adjustments`, { userId: ada.id, points, reason: 'because', ...more }, headers)
  t.afterEach(async () => t.same(await brokenRules(product), []))

  await t.test('P-056 every endpoint requires its permission', async (t) => {
    const body = { userId: ada.id, points: 1, reason: 'x' }
    const rule = { code: 'survey', type: 'task', config: { points: 1 } }
    for (const [method, path, payload, permission] of [
      ['GET', 'accounts', undefined, 'member-points:account:view'],
      ['GET', 'ledgers', undefined, 'member-points:ledger:view'],
      ['GET', 'rules', undefined, 'member-points:rule:view'],
      ['POST', 'rules', rule, 'member-points:rule:save'],
      ['GET', 'sources', undefined, 'member-points:account:view'],
      ['GET', 'expire-batches', undefined, 'member-points:ledger:view'],
      ['GET', 'days', undefined, 'member-points:ledger:view'],
      ['POST', 'manual-adjustments', body, 'member-points:adjust'],
      ['POST', 'manual-adjustments/preview', { userId: ada.id, points: 1 }, 'member-points:adjust'],
      ['POST', 'expire-batches/run', {}, 'member-points:expire:run'],
    ] as const) {
      t.equal((await ada.call(method, `${admins}/${path}`, payload)).code, '403', path)
      const found = product.server.routes.find(
        (route) => route.path === `/api/v1/${admins}/${path}` && route.method === method,
      )
      t.match(found?.access, { permission }, 'P-056 B12')
    }
    t.equal((await rows('select id from points_source')).length, 0)
  })

  await t.test('P-035 P-036 P-037 P-054 M2 manual adjustments, with a reason and an audit', async (t) => {
    const granted = await adjust(50, {}, { 'x-reason': 'ticket 12' })
    t.hasStrict(granted, { code: '200', data: { points: 50, available: 50, frozen: 0, replayed: false } })
    assertMembers(t, await rows('select source_type, granted, rule_code from points_source'), [
      { source_type: 'manual-adjustment', granted: 50, rule_code: 'manual-adjustment' },
    ])
    t.equal(outcome(await adjust(-51)), '409 money.balance-insufficient')
    t.same(await balance(ada.id), [50, 0])
    t.equal(
      (await rows(`select id from money_journal where kind = 'points.adjust-deduct'`)).length,
      0,
      'nothing is left of it',
    )
    const deducted = await adjust(-50)
    t.hasStrict(deducted, { code: '200', data: { points: -50, available: 0 } })
    assertMembers(
      t,
      await rows('select kind, amount from points_source_use where journal_id = ?', [deducted.data.journalId]),
      [{ kind: 'spend', amount: 50 }],
    )
    const { items } = (await admin.call('GET', `${admins}/ledgers?userId=${ada.id}`)).data
    assertMembers(t, items, [
      { kind: 'points.adjust-deduct', points: -50, userId: ada.id, actor: /^user:\d+$/, reason: /^because$/ },
      {
        kind: 'points.adjust-grant',
        points: 50,
        displayName: 'Granted by an operator',
        displayDescription: 'because',
      },
    ])
    const audits = (await admin.call('GET', 'admin/iam/audits?targetType=points-account')).data.items
    assertMembers(t, audits, [
      {
        action: 'points-account.adjust',
        targetId: ada.id,
        summary: { points: -50, asset: 'points:mall' },
        reason: 'because',
      },
      {
        action: 'points-account.adjust',
        targetId: ada.id,
        summary: { points: 50, asset: 'points:mall' },
        reason: 'because',
      },
    ])
  })

  await t.test('the same key adjusts once, in the body and in the header', async (t) => {
    const [first, second] = [await adjust(5, { idempotencyKey: 'k1' }), await adjust(5, { idempotencyKey: 'k1' })]
    t.same([first.data.replayed, second.data.replayed], [false, true])
    t.equal(outcome(await adjust(6, { idempotencyKey: 'k1' })), '409 money.idempotency-mismatch')
    t.equal(outcome(await adjust(-5, { idempotencyKey: 'k1' })), '409 money.idempotency-mismatch')
    for (let times = 0; times < 2; times++) await adjust(7, {}, { 'idempotency-key': 'h1' })
    const many = await Promise.all(Array.from({ length: 10 }, () => adjust(1, { idempotencyKey: 'k2' })))
    t.equal(many.filter(({ data }) => data.replayed === false).length, 1)
    t.same(await balance(ada.id), [13, 0])
  })

  await t.test('invalid adjustments change nothing', async (t) => {
    for (const [body, expected] of [
      [{ userId: ada.id, points: 0, reason: 'x' }, '400 member-points.amount-invalid'],
      [{ userId: ada.id, points: 1.5, reason: 'x' }, '400'],
      [{ userId: ada.id, points: 1 }, '400'],
      [{ userId: ada.id, points: 1, reason: '' }, '400'],
      [{ userId: ada.id, points: 1, reason: '   ' }, '400'],
      [{ userId: ada.id, points: 1, reason: '\u3000' }, '400'],
      [{ userId: ada.id, points: 1_000_000_001, reason: 'x' }, '400'],
      [{ userId: 999_999, points: 1, reason: 'x' }, '404 member-points.user-unknown'],
    ] as const) {
      const response = await admin.call('POST', `${admins}/manual-adjustments`, body)
      t.equal(outcome(response).split(' http')[0], expected, JSON.stringify(body))
    }
    const blank = await admin.call('POST', `${admins}/manual-adjustments`, { userId: ada.id, points: 1, reason: ' ' })
    assertMembers(t, blank.data.errors, [{ field: 'reason', rule: 'worded', message: /one line of text/ }])
    t.same(await balance(ada.id), [13, 0])
  })

  await t.test('P-035 the effect of an adjustment is previewed without a change', async (t) => {
    const preview = (points: number, userId = ada.id) =>
      admin.call('POST', `${admins}/manual-adjustments/preview`, { userId, points })
    const now = { userId: ada.id, availableBefore: 13, frozen: 0, settlesDebt: 0 }
    t.hasStrict(await preview(5), { code: '200', data: { ...now, points: 5, availableAfter: 18, possible: true } })
    t.match((await preview(-20)).data, { ...now, availableAfter: -7, possible: false, expiresAt: null })
    t.equal((await preview(0)).code, '400')
    t.equal(outcome(await preview(1, 999_999)), '404 member-points.user-unknown')
    t.same(await balance(ada.id), [13, 0])
    const { items } = (await admin.call('GET', `${admins}/sources?userId=${ada.id}`)).data
    const left = items.reduce((sum: number, { remaining }: { remaining: number }) => sum + remaining, 0)
    t.equal(left, 13, 'P-042 the sources that are active are what the balance is made of')
    t.ok(
      items.every(({ status, userId }: { status: string; userId: number }) => status === 'active' && userId === ada.id),
    )
  })

  await t.test('P-050 P-051 accounts and entries of all members in the data scope of the operator', async (t) => {
    const bob = await member('bob', { orgId: 7 })
    await product.points.rewardLottery(bob.id, 'a', 20)
    const list = (await admin.call('GET', `${admins}/accounts`)).data
    assertMembers(t, list, {
      items: [
        { userId: bob.id, asset, displayName: 'Points', available: 20, frozen: 0, status: 'open' },
        { userId: ada.id, available: 13 },
      ],
      total: 2,
    })
    const all = (await admin.call('GET', `${admins}/ledgers?size=200`)).data.items
    t.same(new Set(all.map(({ userId }: { userId: number }) => userId)), new Set([ada.id, bob.id]))
    t.ok(
      all.every(({ availableAfter }: { availableAfter: number | null }) => availableAfter !== null),
      'no system account',
    )
    t.match(all[0], { key: `member-points:marketing-lottery:${bob.id}:a`, kind: 'points.lottery' })
    t.same((await admin.call('GET', `${admins}/accounts?userId=${bob.id}`)).data.items.length, 1)
    t.same((await admin.call('GET', `${admins}/ledgers?userId=424242`)).data.items, [])

    const role = await admin.call('POST', 'admin/iam/roles', {
      code: 'desk',
      name: 'Desk',
      dataScope: 'org',
      permissions: ['member-points:account:view', 'member-points:ledger:view', 'member-points:adjust'],
    })
    t.equal(role.code, '200', role.message)
    const desk = await member('desk', { orgId: 7, roleIds: [role.data.id] })
    t.equal(outcome(await desk.call('GET', `${admins}/accounts`)), '403 member-points.user-needed')
    assertMembers(t, (await desk.call('GET', `${admins}/accounts?userId=${bob.id}`)).data.items, [{ userId: bob.id }])
    for (const path of ['accounts', 'ledgers']) {
      const response = await desk.call('GET', `${admins}/${path}?userId=${ada.id}`)
      t.equal(outcome(response), '404 member-points.user-unknown', 'whom one does not reach is not there')
    }
    const reach = { userId: ada.id, points: 1, reason: 'x' }
    t.equal(outcome(await desk.call('POST', `${admins}/manual-adjustments`, reach)), '404 member-points.user-unknown')
  })

  await t.test('P-052 P-053 P-062 rules: pages, versions, and the next grant uses the new version', async (t) => {
    const page = (await admin.call('GET', `${admins}/rules?size=3`)).data
    t.match(page, { page: 1, size: 3, total: 8 })
    const codes = [...page.items]
    for (let { next } = page; next !== null; ) {
      const more = (await admin.call('GET', `${admins}/rules?size=3&cursor=${next}`)).data
      codes.push(...more.items)
      next = more.next
    }
    t.same(
      codes.map(({ code }) => code),
      [
        'check-in',
        'expiry',
        'first-order',
        'manual-adjustment',
        'marketing-lottery',
        'order-reward',
        'profile-completion',
        'review-reward',
      ],
    )
    const rule = { code: 'check-in', type: 'check-in', config: { points: 9, expiresInDays: 10 } }
    const title = { en: 'Come in', 'zh-CN': '欢迎' }
    const saved = await admin.call('POST', `${admins}/rules`, { ...rule, version: 1, displayTitle: title })
    t.hasStrict(saved, { code: '200', data: { version: 2, current: true, enabled: true, displayName: 'Come in' } })
    t.equal(
      outcome(await admin.call('POST', `${admins}/rules`, { ...rule, version: 1 })),
      '409 member-points.rule-conflict',
    )
    clock.shiftWallClock(5)
    t.match((await ada.call('POST', `${me}/check-in`)).data, { points: 9 })
    const [lot] = await rows(`select expires_at, rule_version from points_source where source_type = 'check-in'`)
    t.same(lot, { expires_at: clock.now() + 10 * day, rule_version: 2 })
    t.match((await ada.call('GET', 'member-points/tasks')).data[0], { displayTitle: 'Come in', rule: { points: 9 } })
    const history = (await admin.call('GET', `${admins}/rules?code=check-in`)).data.items
    assertMembers(t, history, [
      { version: 2, current: true, activeTo: null },
      { version: 1, current: false, activeTo: saved.data.activeFrom, config: { points: 5 } },
    ])
    const [installed] = await rows(`select created_at from points_rule where code = 'check-in' and version = 1`)
    t.equal(
      history[1].activeFrom,
      new Date(installed?.['created_at'] as number | string).toISOString(),
      'not from the beginning of time',
    )
    const versions = (await admin.call('GET', `${admins}/rules?code=${rule.code}`)).data.items
    assertMembers(t, versions, [
      { version: 2, previousConfig: versions[1].config },
      { version: 1, previousConfig: null },
    ])
    for (const version of versions) {
      t.match((await admin.call('GET', `${admins}/rules/${version.id}`)).data, version, 'each version by its id')
    }
    t.equal(outcome(await admin.call('GET', `${admins}/rules/7`)), '404 member-points.rule-unknown')
    const off = await admin.call('POST', `${admins}/rules`, { ...rule, enabled: false })
    t.match(off.data, { version: 3, enabled: false })
    clock.shiftWallClock(day)
    t.equal(outcome(await ada.call('POST', `${me}/check-in`)), '409 member-points.rule-disabled')
    const races = await Promise.all(
      Array.from({ length: 5 }, () => admin.call('POST', `${admins}/rules`, { ...rule, version: 3 })),
    )
    t.same(races.map(outcome).sort(), ['200', ...Array(4).fill('409 member-points.rule-conflict')])
  })

  await t.test('P-010 P-053 invalid rules', async (t) => {
    for (const [body, expected, data] of [
      [{ code: 'expiry', type: 'task', config: { points: 1 } }, '400 member-points.rule-invalid', { field: 'type' }],
      [
        { code: 'survey', type: 'order', config: { points: 1, perAmount: 1 } },
        '400 member-points.rule-invalid',
        { field: 'type' },
      ],
      [
        { code: 'survey', type: 'task', config: {} },
        '400 member-points.rule-invalid',
        { field: 'config.points', rule: 'required' },
      ],
      [
        { code: 'survey', type: 'task', asset: 'points:nobody', config: { points: 1 } },
        '400 member-points.asset-unconfirmed',
        { field: 'asset' },
      ],
      [
        { code: 'survey', type: 'task', asset: 'points:foreign', config: { points: 1 } },
        '400 member-points.asset-unconfirmed',
        { field: 'asset' },
      ],
    ] as const) {
      const response = await admin.call('POST', `${admins}/rules`, body)
      t.equal(outcome(response), expected)
      t.match(response.data, data)
    }
    const stars = { code: 'stars', type: 'task', asset: 'points:vip', config: { points: 3, expiresInDays: 1 } }
    t.equal((await admin.call('POST', `${admins}/rules`, stars)).code, '200', 'an asset whose consumers are there')
    clock.shiftWallClock(5)
    await product.points.rewardTask({ task: 'stars', userId: ada.id })
    const account = { ...ref(ada.id), asset: 'points:vip' }
    t.match(await ledger.balance(account), { available: 3 })
    assertMembers(t, (await admin.call('GET', `${admins}/accounts?asset=points:vip`)).data.items, [
      { displayName: 'Stars', available: 3 },
    ])
    clock.shiftWallClock(day)
    await product.points.expire()
    t.match(await ledger.balance(account), { available: 0 }, 'its points lapse too')
  })

  await t.test('points by day, for operators', async (t) => {
    await product.points.countDays()
    clock.shiftWallClock(600_001)
    await product.points.countDays()
    const { items } = (await admin.call('GET', `${admins}/days?size=1`)).data
    assertMembers(t, items, [
      { day: /^2026-06-\d\d$/, asset, granted: Number, consumed: Number, reversed: Number, expired: Number },
    ])
    t.same((await admin.call('GET', `${admins}/days?asset=points:none`)).data.items, [])
  })

  await t.test('P-038 P-040 P-041 P-055 a scan on demand', async (t) => {
    const users = running.service(accounts)
    const { id } = await users.create({ username: 'cora', password: 'correct horse battery staple' }, origin)
    for (const index of [1, 2, 3]) {
      const lots = { source: { id: product.db.newId(), type: 'test', key: `${index}` }, expiresAt: clock.now() + 10 }
      await ledger.credit({ ...ref(id), amount: 10, key: `scan ${index}`, kind: 'test.grant', lots })
    }
    await product.points.spend({ userId: id, points: 15, key: 'scan spend' })
    clock.shiftWallClock(10)
    const first = await admin.call('POST', `${admins}/expire-batches/run`)
    t.hasStrict(
      first,
      { code: '200', data: { asset, status: 'completed', scanned: 2, expired: 2, points: 15, refused: 0 } },
      'P-039',
    )
    const second = await admin.call('POST', `${admins}/expire-batches/run`, {})
    t.hasStrict(second.data, { status: 'completed', scanned: 0, points: 0 })
    t.not(second.data.id, first.data.id, 'each scan has its record')
    const counts = { scanned: 9, expired: 7, points: 5, refused: 2 }
    await product.db.execute(
      'update points_expire_batch set scanned = ?, expired = ?, points = ?, refused = ? where id = ?',
      [...Object.values(counts), first.data.id],
    )
    const { items: scans } = (await admin.call('GET', `${admins}/expire-batches`)).data
    t.hasStrict(
      scans.find((scan: { id: number }) => scan.id === first.data.id),
      counts,
    )
    t.same(await balance(id), [0, 0])
    await product.db.execute(
      `update points_expire_batch set open_asset = asset, status = 'running', holder = 'another', lease_until = ? where id = ?`,
      [Date.now() + clock.now() + 600_000, second.data.id],
    )
    t.equal(outcome(await admin.call('POST', `${admins}/expire-batches/run`, {})), '409 member-points.expiry-running')
    await product.points.expire()
    await product.db.execute('update points_expire_batch set lease_until = 0')
    t.hasStrict((await admin.call('POST', `${admins}/expire-batches/run`, {})).data, {
      id: second.data.id,
      status: 'completed',
    })
    t.equal(
      outcome(await admin.call('POST', `${admins}/expire-batches/run`, { asset: 'points:none' })),
      '400 member-points.asset-unconfirmed',
    )
    t.match((await admin.call('GET', 'admin/iam/audits?targetType=points-expiry')).data.items[0], {
      action: 'points-expiry.run',
    })
  })
})
