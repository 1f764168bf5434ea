/** Compares inboxes with a simple model over random sends, reads, deletions, preferences, new users and retention. */

import { firstIdAt } from '@plinth/database'
import { onDatabase } from '@plinth/dev/testing/database'
import fc from 'fast-check'
import t from 'tap'
import { startInbox } from './fixtures/inbox-product.ts'

const path = 'notifications/inbox'
const dayMs = 86_400_000
const modules = ['forum', 'mall'] as const
type Module = (typeof modules)[number]
type Switch = 'databaseEnabled' | 'forumEnabled' | 'mallEnabled'

interface Item {
  readonly messageId: string
  readonly module: Module
  readonly sentDay: number
  readDay: number | undefined
}

interface Reader {
  readonly username: string
  readonly id: number
  readonly off: Set<Switch>
  /** The newest first. */
  items: Item[]
}

const nth = fc.nat(9)
const module = fc.constantFrom(...modules)
const step = fc.oneof(
  fc.record({ what: fc.constant('sendAll' as const), module, isRepeated: fc.boolean() }),
  fc.record({ what: fc.constant('sendSome' as const), module, readers: fc.uniqueArray(nth, { maxLength: 4 }) }),
  fc.record({ what: fc.constantFrom('read', 'unread', 'remove', 'readAll', 'readBefore'), reader: nth, item: nth }),
  fc.record({
    what: fc.constant('switch' as const),
    reader: nth,
    name: fc.constantFrom<Switch>('databaseEnabled', 'forumEnabled', 'mallEnabled'),
    isOn: fc.boolean(),
  }),
  fc.record({ what: fc.constant('newReader' as const) }),
  fc.record({ what: fc.constant('wait' as const), days: fc.integer({ min: 1, max: 12 }) }),
)

onDatabase(t, 'messages to all users behave like messages to each of them', async (t, at) => {
  const { add, inbox, user, loginAs, clock, db, purge, rows } = await startInbox(t, at, {
    config: { 'platform.notification.inbox.retention': '10d', 'platform.notification.inbox.unread-retention': '30d' },
  })
  let day = 0
  let names = 0
  let messages = 0

  /** Waits until the reservation of ids covers the new time. */
  const waitDays = async (days: number) => {
    day += days
    clock.shiftWallClock(days * dayMs)
    while (db.newId() < firstIdAt(clock.now())) await new Promise(setImmediate)
    await purge()
  }

  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
      const readers: Reader[] = []
      const newReader = async () => {
        const username = `reader-${++names}`
        readers.push({ username, id: (await user(username)).id, off: new Set(), items: [] })
      }
      await newReader()
      await newReader()
      const callOf = async ({ username }: Reader) => (await loginAs(username)).call
      const deliver = (recipients: readonly Reader[], messageId: string, module: Module) => {
        for (const { off, items } of recipients) {
          if (off.has('databaseEnabled') || off.has(`${module}Enabled`)) continue
          items.unshift({ messageId, module, sentDay: day, readDay: undefined })
        }
      }
      const pick = (index: number) => readers[index % readers.length] as Reader
      type Call = Awaited<ReturnType<typeof callOf>>
      const listOf = async (call: Call, query: string) => (await call('GET', `${path}?${query}`)).data
      /** Reads all pages by cursor. */
      const walk = async (call: Call, query: string) => {
        const found: { id: number; messageId: string; unread: boolean; readAt: string | null }[] = []
        let cursor = ''
        do {
          const page = await listOf(call, `${query}&size=3${cursor}`)
          found.push(...page.items)
          cursor = page.next === null ? '' : `&cursor=${page.next}`
        } while (cursor !== '')
        return found
      }

      for (const one of steps) {
        if (one.what === 'sendAll') {
          const messageId = `all-${one.isRepeated ? messages : ++messages}`
          const isNew = await inbox.addForAll({
            messageId,
            subject: 'S',
            content: 'C',
            attributes: { module: one.module },
          })
          if (isNew) deliver(readers, messageId, one.module)
          else t.ok(one.isRepeated)
        } else if (one.what === 'sendSome') {
          const recipients = [...new Set(one.readers.map(pick))]
          const messageId = `some-${++messages}`
          await add({ messageId, userIds: recipients.map(({ id }) => id), attributes: { module: one.module } })
          deliver(recipients, messageId, one.module)
        } else if (one.what === 'switch') {
          const reader = pick(one.reader)
          await (await callOf(reader))('PUT', 'notifications/preferences', { [one.name]: one.isOn })
          if (one.isOn) reader.off.delete(one.name)
          else reader.off.add(one.name)
        } else if (one.what === 'newReader') await newReader()
        else if (one.what === 'wait') {
          await waitDays(one.days)
          for (const reader of readers) {
            reader.items = reader.items.filter(
              ({ sentDay, readDay }) => day - sentDay <= 30 && (readDay === undefined || day - readDay <= 10),
            )
          }
        } else {
          const reader = pick(one.reader)
          const call = await callOf(reader)
          const shown = await walk(call, '')
          const index = one.item % Math.max(1, shown.length)
          const item = reader.items[index]
          const id = shown[index]?.id ?? 1
          const isUnread = ({ readDay }: Item) => readDay === undefined
          const readFrom = (from: number) => {
            const unread = reader.items.slice(from).filter(isUnread)
            for (const each of unread) each.readDay = day
            return unread.length
          }
          const affected = async (method: 'PUT' | 'DELETE', end: string, body?: object) =>
            (await call(method, `${path}/${end}`, body)).data.affected
          if (one.what === 'readAll') t.equal(await affected('PUT', 'read-all'), readFrom(0))
          else if (one.what === 'readBefore')
            t.equal(await affected('PUT', 'read-all', { before: id }), readFrom(index))
          else if (item === undefined) t.equal((await call('PUT', `${path}/${id}/read`)).code, '404')
          else if (one.what === 'read') {
            t.equal(await affected('PUT', `${id}/read`), isUnread(item) ? 1 : 0)
            item.readDay ??= day
          } else if (one.what === 'unread') {
            t.equal(await affected('PUT', 'unread-batch', { ids: [id] }), isUnread(item) ? 0 : 1)
            item.readDay = undefined
          } else {
            t.equal(await affected('DELETE', String(id)), 1)
            reader.items.splice(index, 1)
          }
        }
      }

      for (const reader of readers) {
        const call = await callOf(reader)
        const view = ({ messageId, unread, readAt }: Awaited<ReturnType<typeof walk>>[number]) => [
          messageId,
          unread,
          readAt === null,
        ]
        const expected = reader.items.map((item) => [
          item.messageId,
          item.readDay === undefined,
          item.readDay === undefined,
        ])
        const unread = reader.items.filter(({ readDay }) => readDay === undefined)
        const ofMall = reader.items.filter((item) => item.module === 'mall')
        const second = await listOf(call, 'page=2&size=3')
        t.same(
          {
            all: (await walk(call, '')).map(view),
            unread: (await walk(call, 'unreadOnly=true')).map(({ messageId }) => messageId),
            mall: (await walk(call, 'module=mall')).map(({ messageId }) => messageId),
            search: (await walk(call, 'keyword=c')).length,
            second: [second.total, second.items.map(({ messageId }: { messageId: string }) => messageId)],
            count: (await call('GET', `${path}/unread-count`)).data,
          },
          {
            all: expected,
            unread: unread.map(({ messageId }) => messageId),
            mall: ofMall.map(({ messageId }) => messageId),
            search: expected.length,
            second: [expected.length, reader.items.slice(3, 6).map(({ messageId }) => messageId)],
            count: { count: unread.length, capped: false },
          },
        )
      }
    }),
    { numRuns: 8, endOnFailure: true },
  )
  await waitDays(31)
  const left = ['item', 'content', 'mark'].map((table) => rows(`notification_inbox_${table}`))
  t.same(await Promise.all(left), [0, 0, 0], 'at last nothing remains')
})
