/** Tests preferences as a matrix of channels and categories: the model, the operations and the page of a link. */

import { applyLiveValues, assertKeyEffect, manualClock, rejectsWith } from '@plinth/dev/testing'
import { createDatabase, onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import { notificationCategories, notificationCategory, preferenceChannel, preferenceLinks } from '@plinth/inbox'
import { definePlugin } from '@plinth/kernel'
import sharedStorePlugin from '@plinth/shared-store'
import sitePlugin from '@plinth/site'
import systemConfigPlugin from '@plinth/system-config'
import fc from 'fast-check'
import t from 'tap'
import {
  findAccessibilityProblems,
  findHorizontalOverflow,
  openPage,
  skip,
} from '../../console/test/fixtures/browser.ts'
import { ownCategories, PreferenceTerms } from '../src/preferences/categories.ts'
import { PreferenceCellRow, PreferenceDefaultRow } from '../src/preferences/entities.ts'
import { PreferenceMatrix } from '../src/preferences/preference-matrix.ts'
import { startInbox } from './fixtures/inbox-product.ts'

const shipping = { title: { en: 'Shipping', 'zh-CN': '物流' }, channels: { sms: false } }
const push = { title: { en: 'Push', 'zh-CN': '推送' } }
const courier = definePlugin({
  id: 'test.courier',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [notificationCategory.of({ shipping }), preferenceChannel.of({ push })],
})

const switchOfChannel: Readonly<Record<string, string>> = {
  database: 'databaseEnabled',
  websocket: 'websocketEnabled',
  mail: 'emailEnabled',
  sms: 'smsEnabled',
}
const channels = ['database', 'websocket', 'mail', 'sms', 'push']
const switched = ['system', 'account', 'todo', 'chat', 'blog', 'forum', 'mall', 'marketing']
const categories = [...switched, 'legal', 'security', 'shipping']
const users = [11, 12, 13]

/** The stored state, by user and by `channel category`. */
interface Model {
  readonly off: Map<string, boolean>
  readonly cells: Map<string, boolean>
  readonly defaults: Map<string, { readonly enabled: boolean; readonly locked: boolean }>
}

/** Returns whether a user gets a message: the rule of the documents, without SQL. */
function isWanted({ off, cells, defaults }: Model, user: number, channel: string, category: string): boolean {
  if (['legal', 'security'].includes(category)) return true
  const set = defaults.get(`${channel} ${category}`)
  if (set?.locked) return set.enabled
  const names = [switchOfChannel[channel], switched.includes(category) ? `${category}Enabled` : undefined]
  if (names.some((name) => name !== undefined && off.get(`${user} ${name}`) === true)) return false
  const declared = !(category === 'shipping' && channel === 'sms')
  return cells.get(`${user} ${channel} ${category}`) ?? set?.enabled ?? declared
}

const command = fc.oneof(
  fc.record({
    kind: fc.constant('switch' as const),
    user: fc.constantFrom(...users),
    name: fc.constantFrom(...Object.values(switchOfChannel), ...switched.map((category) => `${category}Enabled`)),
    on: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('cell' as const),
    user: fc.constantFrom(...users),
    channel: fc.constantFrom(...channels),
    category: fc.constantFrom(...categories),
    on: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('default' as const),
    channel: fc.constantFrom(...channels),
    category: fc.constantFrom(...categories),
    on: fc.boolean(),
    locked: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('unsubscribe' as const),
    user: fc.constantFrom(...users),
    channel: fc.option(fc.constantFrom(...channels), { nil: undefined }),
    category: fc.constantFrom(...categories),
  }),
)

onEachDatabase(t, 'the matrix agrees with a model: defaults, locks, cells and switches', async (t, at) => {
  const { db, clock } = await startInbox(t, at)
  const terms = new PreferenceTerms({
    // The last two names have another meaning, so they add no category.
    categories: new Map(Object.entries({ ...ownCategories, shipping, mall: shipping, all: shipping })),
    channels: new Map([['push', push]]),
  })
  t.strictSame(
    terms.all().map(({ code }) => code),
    categories,
  )
  t.strictSame(terms.of('All'), { code: 'system', isRequired: false })
  const matrix = new PreferenceMatrix(db, clock, terms)
  const tables = ['notification_preference', 'notification_preference_cell', 'notification_preference_default']
  /** Reads the stored rows, so that the model decides about the same state. */
  const stored = async (): Promise<Model> => {
    const model: Model = { off: new Map(), cells: new Map(), defaults: new Map() }
    for (const user of users)
      for (const [name, value] of Object.entries(await matrix.get(user)))
        if (value === false) model.off.set(`${user} ${name}`, true)
    for (const { userId, channel, category, enabled } of await db.fork().find(PreferenceCellRow, {}))
      model.cells.set(`${userId} ${channel} ${category}`, enabled)
    for (const { channel, category, ...set } of await db.fork().find(PreferenceDefaultRow, {}))
      model.defaults.set(`${channel} ${category}`, set)
    return model
  }
  const matrixOf = (model: Model) =>
    new Map(
      users.flatMap((user) =>
        channels.flatMap((channel) =>
          categories.map(
            (category) => [`${user} ${channel} ${category}`, isWanted(model, user, channel, category)] as const,
          ),
        ),
      ),
    )
  const runs = { numRuns: db.dialect === 'sqlite' ? 40 : 10 }
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 12 }), async (commands) => {
      for (const table of tables) await db.execute(`delete from ${table}`)
      // An instance reads the defaults again after 5 seconds.
      await clock.advance(5_001)
      for (const one of commands) {
        const before = await stored()
        const expected = matrixOf(before)
        const isFixed = (channel: string, category: string) =>
          ['legal', 'security'].includes(category) || before.defaults.get(`${channel} ${category}`)?.locked === true
        if (one.kind === 'switch') await matrix.save(one.user, { [one.name]: one.on })
        if (one.kind === 'default') {
          const { channel, category, on: enabled, locked } = one
          await matrix.saveDefault({ channel, category, enabled, locked }).catch((error: { reason?: string }) => {
            t.match(error.reason, /category-required|marketing-locked/)
          })
        }
        if (one.kind === 'cell') {
          const { user, channel, category, on: enabled } = one
          const saved = matrix.saveCells(user, [{ channel, category, enabled }])
          if (isFixed(channel, category)) await rejectsWith(t, saved, { reason: 'notification-inbox.cell-locked' })
          else {
            await saved
            expected.set(`${user} ${channel} ${category}`, enabled)
          }
        }
        if (one.kind === 'unsubscribe') {
          await matrix.switchOff(one.user, one.category, one.channel)
          for (const channel of one.channel === undefined ? channels : [one.channel])
            if (!isFixed(channel, one.category)) expected.set(`${one.user} ${channel} ${one.category}`, false)
        }
        const after = await stored()
        const shown = matrixOf(after)
        if (one.kind === 'cell' || one.kind === 'unsubscribe')
          t.same(
            [...shown].filter(([cell, isOn]) => expected.get(cell) !== isOn),
            [],
            'no other cell has changed',
          )
        if (one.kind === 'cell' && !isFixed(one.channel, one.category)) {
          const bare = { ...after, cells: new Map<string, boolean>() }
          const superfluous = [...after.cells].filter(([cell, enabled]) => {
            const [user = '', channel = '', category = ''] = cell.split(' ')
            const withOn = { ...bare, off: new Map<string, boolean>() }
            const isDecided = isWanted({ ...after, cells: new Map([[cell, true]]) }, Number(user), channel, category)
            return (
              Number(user) === one.user &&
              isDecided &&
              isWanted(withOn, Number(user), channel, category) === enabled &&
              !after.defaults.get(`${channel} ${category}`)?.locked
            )
          })
          t.same(superfluous, [], 'a cell with the default is not stored')
        }
        const wrong: string[] = []
        for (const user of users)
          for (const { channel, category, enabled } of await matrix.cells(user)) {
            const cell = `${user} ${channel} ${category}` as const
            if (enabled !== shown.get(cell)) wrong.push(cell)
          }
        t.same(wrong, [])
      }
      const model = await stored()
      for (const channel of [...channels, 'webhook'])
        for (const category of categories) {
          const wanted = await matrix.wanted([...users, 99], { channel, category })
          t.same(
            [...wanted].sort(),
            [...users, 99].filter((user) => isWanted(model, user, channel, category)),
          )
        }
    }),
    runs,
  )
})

onDatabase(t, 'users and operators change cells, and messages follow', async (t, at) => {
  const { user, admin, facade, preferences, running } = await startInbox(t, at, { plugins: [courier] })
  const [ada, bob] = [await user('ada'), await user('bob')]
  const cells = 'notifications/preferences/cells'
  const defaults = 'admin/notifications/preference-defaults'
  const wanted = async (channel: string, category: string) => [
    ...(await preferences.wanted([ada.id, bob.id], { channel, category })),
  ]
  const listed = (await ada.call('GET', cells)).data
  t.equal(listed.length, channels.length * categories.length)
  t.hasStrict(
    listed.find(({ cell }: { cell: string }) => cell === 'sms/shipping'),
    { channelName: 'SMS', categoryName: 'Shipping', enabled: false, locked: false },
  )
  t.hasStrict(
    (await ada.call('GET', cells, undefined, { 'accept-language': 'zh-CN' })).data.find(
      ({ cell }: { cell: string }) => cell === 'push/security',
    ),
    { channelName: '推送', categoryName: '安全', enabled: true, locked: true },
  )
  t.equal((await ada.call('PUT', `${cells}/mail/forum`, { enabled: false })).code, '200')
  t.same([await wanted('mail', 'forum'), await wanted('sms', 'forum')], [[bob.id], [ada.id, bob.id]])
  t.hasStrict((await ada.call('GET', 'notifications/preferences')).data, { forumEnabled: true, emailEnabled: true })
  for (const [path, code] of [
    ['mail/weather', '404'],
    ['pigeon/forum', '404'],
    ['mail/security', '409'],
  ] as const)
    t.equal((await ada.call('PUT', `${cells}/${path}`, { enabled: true })).code, code, path)

  t.equal((await ada.call('GET', defaults)).code, '403', 'users do not set defaults')
  t.equal((await admin.call('PUT', `${defaults}/mail/mall`, { enabled: true, locked: true })).code, '200')
  t.equal((await bob.call('PUT', `${cells}/mail/mall`, { enabled: false })).code, '409')
  await bob.call('PUT', 'notifications/preferences', { emailEnabled: false })
  t.same(await wanted('mail', 'mall'), [ada.id, bob.id], 'a lock is stronger than a switch')
  t.equal(await running.service(notificationCategories).isFixed('mail', 'mall'), true)
  for (const [path, body, reason] of [
    ['mail/security', { enabled: false, locked: false }, 'notification-inbox.category-required'],
    ['mail/marketing', { enabled: true, locked: true }, 'notification-inbox.marketing-locked'],
    ['mail/weather', { enabled: true, locked: true }, 'notification-inbox.cell-unknown'],
  ] as const)
    t.equal((await admin.call('PUT', `${defaults}/${path}`, body)).data.reason, reason)
  await admin.call('PUT', `${defaults}/mail/mall`, { enabled: true, locked: false })
  t.same(await wanted('mail', 'mall'), [ada.id])

  await preferences.switchOff(bob.id, 'chat', 'mail')
  await bob.call('PUT', 'notifications/preferences', { emailEnabled: true })
  const chosen = [await wanted('mail', 'chat'), await wanted('mail', 'blog')]
  t.same(
    chosen,
    [[ada.id], [ada.id, bob.id]],
    'a category that was switched off stays off when its channel is switched on',
  )

  await bob.call('PUT', `${cells}/database/shipping`, { enabled: false })
  const recipients = [ada, bob].map(({ id }) => ({ kind: 'user' as const, userId: id }))
  await facade.sendTo('database', { subject: 'Parcel', attributes: { module: 'Shipping' }, recipients })
  t.same([(await ada.inbox()).total, (await bob.inbox()).total], [1, 0], 'the category of a plugin')
})

const linkConfig = (directory: string) => ({
  'platform.site.url': 'https://shop.example',
  'platform.system-config.master-key-file': `${directory}/master.key`,
})
const linkPlugins = [courier, sharedStorePlugin, sitePlugin, systemConfigPlugin]

onDatabase(t, 'a link changes the preferences of its user without sign-in, until it expires', async (t, at) => {
  const clock = manualClock(Date.now())
  const settings = { plugins: linkPlugins, config: linkConfig(at.directory), clock }
  const { user, admin, server, preferences, running, rows, settled } = await startInbox(t, at, settings)
  const [ada, bob] = [await user('ada'), await user('bob')]
  const { url } = (await ada.call('POST', 'notifications/preferences/link')).data
  t.match(url, /^https:\/\/shop\.example\/api\/v1\/notifications\/preferences\/page\?token=/)
  const path = url.replace('https://shop.example', '')
  const post = (to: string, body: string) =>
    server.inject({
      method: 'POST',
      url: to,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: body,
    })
  const response = await server.inject(path)
  t.match(response, { statusCode: 200, headers: { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' } })
  t.match(response.body, '<html lang="en">')
  t.match((await server.inject(`${path}&lang=zh-CN`)).body, /lang="zh-CN".*物流/s)
  const wanted = async (channel: string, category: string) => [
    ...(await preferences.wanted([ada.id, bob.id], { channel, category })),
  ]
  const form = 'cell=mail%2Fforum&cell=mail%2Fmall&cell=mail%2Fsecurity&cell=pigeon%2Fmall&on=mail%2Fmall'
  t.match(await post(path, form), { statusCode: 200, body: /role="status"/ })
  t.same(
    [
      await wanted('mail', 'forum'),
      await wanted('mail', 'mall'),
      await wanted('mail', 'chat'),
      await wanted('mail', 'security'),
    ],
    [[bob.id], [ada.id, bob.id], [ada.id, bob.id], [ada.id, bob.id]],
  )

  await ada.call('PUT', 'notifications/preferences', { emailEnabled: false })
  t.match(await post(path, 'cell=mail%2Fblog&cell=mail%2Fchat'), { statusCode: 200 })
  await ada.call('PUT', 'notifications/preferences', { emailEnabled: true })
  t.same(await wanted('mail', 'blog'), [ada.id, bob.id], 'a box that stays as it is decides nothing')

  const [subject, end, mac] = (new URL(url).searchParams.get('token') ?? '').split('.')
  for (const forged of [
    `${bob.id}.${end}.${mac}`,
    `${subject}.${Number(end) + 60}.${mac}`,
    `${subject}.${mac}`,
    `${subject}.${end}.${'A'.repeat(43)}`,
    '',
  ]) {
    const at = `/api/v1/notifications/preferences/page?token=${forged}`
    t.strictSame(
      [(await server.inject(at)).statusCode, (await post(at, 'cell=mail%2Fchat')).statusCode],
      [404, 404],
      forged,
    )
  }
  t.same(await wanted('mail', 'chat'), [ada.id, bob.id])
  const other = await server.inject({
    url: '/api/v1/notifications/inbox',
    headers: { authorization: `Bearer ${url.split('token=')[1]}` },
  })
  t.not(other.json().code, '200', 'the token opens nothing else')
  await clock.advance(15 * 60_000 + 2_000)
  t.strictSame([(await server.inject(path)).statusCode, (await post(path, 'cell=mail%2Fchat')).statusCode], [404, 404])
  t.same(await wanted('mail', 'chat'), [ada.id, bob.id], 'an expired link changes nothing')
  const longer = (await running.service(preferenceLinks).urlFor(ada.id))?.replace('https://shop.example', '') ?? ''
  t.equal((await server.inject(longer)).statusCode, 200)
  const { data } = await admin.call('GET', `admin/iam/users/${ada.id}`)
  t.equal((await admin.call('DELETE', `admin/iam/users/${ada.id}?version=${data.version}`)).code, '200')
  await settled()
  const statuses = [(await server.inject(longer)).statusCode, (await post(longer, 'cell=mail%2Fchat')).statusCode]
  t.strictSame([...statuses, await rows('notification_preference')], [404, 404, 0], 'the user is deleted')
})

t.test('the keys of the links have an effect', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const [own = '', other = ''] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'))
  const config = { ...linkConfig(at.directory), 'platform.notification.inbox.preference-link-key': own }
  const { server, running, clock, user } = await startInbox(t, at, { plugins: linkPlugins, config })
  const links = running.service(preferenceLinks)
  const { id } = await user('ada')
  const path = (await links.urlFor(id))?.replace('https://shop.example', '') ?? ''
  const [statuses] = await assertKeyEffect(t, 'platform.notification.inbox.preference-link-key', {
    changed: other,
    async observe(values) {
      await applyLiveValues(running, values)
      return (await server.inject(path)).statusCode
    },
  })
  t.strictSame([statuses?.before, statuses?.after], [200, 404])
  const [days] = await assertKeyEffect(t, 'platform.notification.inbox.preference-link-lifetime', {
    changed: '0s',
    async observe(values) {
      await applyLiveValues(running, values)
      const end = (await links.urlFor(id))?.split('.').at(-2)
      return end === undefined ? 0 : Math.round((Number(end) * 1000 - clock.now()) / 86_400_000)
    },
  })
  t.strictSame([days?.before, days?.after], [30, 0])
})

t.test('the page of the link is accessible and fits a phone', { skip, timeout: 300_000 }, async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const settings = { plugins: linkPlugins, config: linkConfig(at.directory) }
  const { user, server, preferences } = await startInbox(t, at, settings)
  const ada = await user('ada')
  const { url } = (await ada.call('POST', 'notifications/preferences/link')).data
  const address = url.replace('https://shop.example', server.url)
  for (const [locale, save] of [
    ['en', 'Save'],
    ['zh-CN', '保存'],
  ] as const) {
    const { page, complaints } = await openPage(t.teardown, `${address}&lang=${locale}`, {
      viewport: { width: 320, height: 640 },
    })
    t.same(await findAccessibilityProblems(page), [], locale)
    t.equal(await findHorizontalOverflow(page), 0, `${locale}: nothing is cut off`)
    await page.locator('input[value="mail/forum"][type=checkbox]').click()
    await page.getByRole('button', { name: save }).click()
    await page.getByRole('status').waitFor()
    t.same(await findAccessibilityProblems(page), [], `${locale}, saved`)
    t.same(complaints, [])
    const wanted = await preferences.wanted([ada.id], { channel: 'mail', category: 'forum' })
    t.equal(wanted.size, locale === 'en' ? 0 : 1)
  }
})
