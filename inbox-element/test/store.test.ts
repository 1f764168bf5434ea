import fc from 'fast-check'
import t from 'tap'
import { InboxError } from '../src/api.ts'
import { delayAfter } from '../src/live.ts'
import { InboxStore } from '../src/store.ts'
import type { InboxItem, ListPage } from '../src/types.ts'

const itemOf = (id: number, unread: boolean): InboxItem => ({
  id,
  messageId: `m${id}`,
  unread,
  readAt: null,
  displaySubject: `Subject ${id}`,
  displayContent: '',
  module: 'forum',
  event: null,
  targetType: null,
  targetId: null,
  targetRoute: null,
  attachments: [],
  createdAt: new Date(id).toISOString(),
})

/** A server with the inbox of one user. A response has the data of the moment of the request or of the response. */
class FakeServer {
  readonly unread = new Map<number, boolean>()
  readonly #wait: (label: string) => Promise<unknown>
  #lastId = 0

  constructor(wait: (label: string) => Promise<unknown>) {
    this.#wait = wait
  }

  add(): InboxItem {
    this.#lastId++
    this.unread.set(this.#lastId, true)
    return itemOf(this.#lastId, true)
  }

  get ids(): number[] {
    return [...this.unread.keys()].sort((a, b) => b - a)
  }

  get unreadCount(): number {
    return [...this.unread.values()].filter(Boolean).length
  }

  call = async <T>(
    method: string,
    path: string,
    { query = {} }: { query?: Record<string, unknown> } = {},
  ): Promise<T> => {
    const reply = this.#reply(method, path, query)
    await this.#wait(`${method} ${path}`)
    return reply as T
  }

  #reply(method: string, path: string, { size, cursor }: Record<string, unknown>): unknown {
    if (path === '/inbox/unread-count') return { count: this.unreadCount, capped: false }
    const [, id, change] = /^\/inbox\/(\d+)\/?(\w*)$/.exec(path) ?? []
    if (id !== undefined) {
      if (method === 'DELETE') this.unread.delete(Number(id))
      else if (this.unread.has(Number(id))) this.unread.set(Number(id), change === 'unread')
      return {}
    }
    const rest = this.ids.filter((one) => cursor === undefined || one < Number(cursor))
    const items = rest.slice(0, Number(size)).map((one) => itemOf(one, this.unread.get(one) === true))
    const next = rest.length > items.length ? String(items.at(-1)?.id) : null
    return { items, next } satisfies ListPage
  }
}

const operation = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom('add', 'add unheard', 'push again', 'sync', 'more') },
  { weight: 3, arbitrary: fc.constantFrom('read', 'unread', 'remove', 'hide and restore', 'remove elsewhere') },
)

t.test('no item is lost or doubled, in any order of pushes, changes, pages and synchronisations', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(fc.tuple(operation, fc.nat()), { maxLength: 30 }),
      async (scheduler, steps) => {
        const server = new FakeServer((label) => scheduler.schedule(Promise.resolve(), label))
        const store = new InboxStore(
          server,
          () => 3,
          () => {},
        )
        for (let i = 0; i < 8; i++) server.add()
        const running: Promise<unknown>[] = []
        const pushed: InboxItem[] = []
        const isListed = () => {
          const ids = store.items.map(({ id }) => id)
          return ids.every((id, at) => at === 0 || id < (ids[at - 1] ?? 0))
        }
        const start = (work: Promise<unknown>) => void running.push(work.catch(() => {}))
        for (const [step, chosen] of steps) {
          const item = store.items[chosen % Math.max(1, store.items.length)]
          if (step === 'add') {
            pushed.push(server.add())
            store.receive(pushed.at(-1) as InboxItem)
          } else if (step === 'add unheard') server.add()
          else if (step === 'push again') {
            if (pushed.length > 0) store.receive(pushed[chosen % pushed.length] as InboxItem)
          } else if (step === 'sync') start(store.sync())
          else if (step === 'more') start(store.loadMore())
          else if (item === undefined) continue
          else if (step === 'read' || step === 'unread') start(store.mark(item.id, step === 'unread'))
          else if (step === 'remove elsewhere') server.unread.delete(item.id)
          else {
            store.hide(item.id)
            if (step === 'remove') start(store.remove(item.id))
            else store.restore(item.id)
          }
          if (scheduler.count() > 0 && chosen % 3 === 0) await scheduler.waitOne()
          if (!isListed()) return false
        }
        await scheduler.waitFor(Promise.all(running))
        await scheduler.waitFor(store.sync())
        while (store.hasMore) await scheduler.waitFor(store.loadMore())
        t.same(
          { items: store.items.map(({ id, unread }) => [id, unread]), unread: store.unread.count },
          { items: server.ids.map((id) => [id, server.unread.get(id)]), unread: server.unreadCount },
        )
        return true
      },
    ),
    { numRuns: 300 },
  )
})

t.test('a push is counted once, and a rejected change is undone', async (t) => {
  const seen: unknown[] = []
  const server = new FakeServer(async () => {})
  const first = server.add()
  const api = {
    call: async <T>(method: string, path: string, options = {}): Promise<T> => {
      if (method !== 'GET') throw new InboxError('network', '')
      return server.call(method, path, options)
    },
  }
  const store = new InboxStore(
    api,
    () => 3,
    () => {},
  )
  await store.sync()
  const item = server.add()
  const state = () => [
    store.unread.count,
    ...store.items.flatMap(({ id, unread }) => (store.isHidden(id) ? [] : [`${id} ${unread}`])),
  ]
  seen.push([store.receive(item), store.receive(item), store.receive(first)], state())
  await store.mark(item.id, false).catch(({ code }) => seen.push(code))
  seen.push(state())
  store.hide(item.id)
  seen.push(state())
  await store.remove(item.id).catch(({ code }) => seen.push(code))
  seen.push(state())
  store.receiveRead([first.id], false, '')
  store.clear()
  seen.push(state())
  const whole = [2, '2 true', '1 true']
  t.same(seen, [[true, false, false], whole, 'network', whole, [1, '1 true'], 'network', whole, [0]])
})

t.test('a pushed replacement of an item is shown, and is unread again', async (t) => {
  const server = new FakeServer(async () => {})
  const store = new InboxStore(
    server,
    () => 3,
    () => {},
  )
  const item = server.add()
  await store.sync()
  await store.mark(item.id, false)
  const replaced = { ...item, displaySubject: 'Replaced', createdAt: new Date(9).toISOString() }
  const seen = [store.receive(replaced), store.receive(replaced), store.receive(item)]
  t.same([seen, store.unread.count, store.items], [[true, false, false], 1, [replaced]])
})

t.test('the response to a count of the user before does not change the count', async (t) => {
  const late = Promise.withResolvers<void>()
  const server = new FakeServer(() => late.promise)
  const store = new InboxStore(
    server,
    () => 3,
    () => {},
  )
  server.add()
  const count = store.refreshCount()
  store.clear()
  late.resolve()
  await count
  t.equal(store.unread.count, 0)
})

t.test('the delay doubles up to five minutes, and differs by at most 20 %', async () => {
  fc.assert(
    fc.property(fc.nat({ max: 50 }), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      const delay = delayAfter(failures, 2_000, random)
      const middle = Math.min(2_000 * 2 ** failures, 300_000)
      return Math.abs(delay / middle - 1) < 0.2001
    }),
  )
})
