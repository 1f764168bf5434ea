/** Tests unsaved input of the back office: when it is kept, for whom, and what counts as a change. */
import t from 'tap'
import type { ConfigItem } from '../web/admin/own/config-centre/config-types.ts'
import type { Role } from '../web/admin/own/role-matrix/roles.ts'
import { pressed } from '../web/admin/shell/shortcuts.ts'
import { toasts } from '../web/admin/shell/toasts.ts'
import { loadBrowserModule } from './fixtures/browser-module.ts'

/** The events and the storage of a browser tab. */
const listeners = new Map<string, Set<(event: never) => void>>()
const stored = new Map<string, string>()
Object.assign(globalThis, {
  addEventListener(event: string, listener: () => void) {
    listeners.set(event, (listeners.get(event) ?? new Set()).add(listener))
  },
  removeEventListener: (event: string, listener: () => void) => void listeners.get(event)?.delete(listener),
})
Object.defineProperty(globalThis, 'sessionStorage', {
  value: {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => void stored.set(name, text),
    removeItem: (name: string) => void stored.delete(name),
  },
})
const fire = (event: string, facts: object = {}) => {
  for (const listener of listeners.get(event) ?? []) listener(facts as never)
}
/** Returns the input that the tab stores when the page reloads. */
const storedOnReload = () => {
  stored.clear()
  fire('pagehide')
  const text = stored.get('plinth.drafts')
  return text === undefined ? null : JSON.parse(text)
}
const asksBeforeUnload = () => (listeners.get('beforeunload')?.size ?? 0) > 0

const { forgetDrafts, keepDraft, setDraftOwner, setUnsaved, startDrafts, takeDraft } =
  await loadBrowserModule('shell/drafts.ts')
const { countOf, draft: roles, replacementOf } = await loadBrowserModule('own/role-matrix/role-draft.ts')
const { conflictsOf, draft: config, sentChange } = await loadBrowserModule('own/config-centre/config-draft.ts')

t.test('the browser asks before unsaved changes of any page are lost', async (t) => {
  setUnsaved('a', 2)
  setUnsaved('b', 1)
  setUnsaved('a', 0)
  t.equal(asksBeforeUnload(), true)
  let isPrevented = false
  const preventDefault = () => {
    isPrevented = true
  }
  fire('beforeunload', { preventDefault })
  t.equal(isPrevented, true)
  setUnsaved('b', 0)
  t.equal(asksBeforeUnload(), false)
})

t.test('input is in the storage of the tab only while the page reloads', async (t) => {
  stored.set('plinth.drafts', JSON.stringify({ owner: 3, drafts: { closed: 'c', other: 'o' } }))
  startDrafts()
  t.equal(stored.size, 0, 'read once')
  setDraftOwner(3)
  t.equal(takeDraft('other'), 'o')
  const close = keepDraft('open', () => ({ name: 'Ann' }))
  keepDraft('unchanged', () => undefined)
  t.strictSame(storedOnReload(), { owner: 3, drafts: { closed: 'c', open: { name: 'Ann' } } })
  fire('pageshow', { persisted: false })
  t.equal(stored.size, 1, 'a page that loads again reads it')
  fire('pageshow', { persisted: true })
  t.equal(stored.size, 0, 'a page of the cache has its input')
  close()
  t.strictSame(takeDraft('open'), { name: 'Ann' })
  t.equal(takeDraft('closed'), 'c')
  t.equal(storedOnReload(), null, 'nothing is typed')
})

const role = (change: Partial<Role> = {}) =>
  ({ id: 7, name: 'A', description: null, dataScope: 'all', permissions: ['d', 'b'], version: 1, ...change }) as Role

t.test('a role is replaced with its permissions and the planned ones, in a fixed order', async (t) => {
  roles.want(role(), 'c', true)
  roles.want(role(), 'b', false)
  roles.want(role(), 'd', false)
  roles.want(role(), 'd', true)
  const change = roles.current().get(7)
  t.strictSame(
    [...(change?.wanted ?? [])],
    [
      ['c', true],
      ['b', false],
    ],
    'what the role has is not a change',
  )
  t.equal(countOf(roles.current()), 2)
  t.equal(asksBeforeUnload(), true)
  t.strictSame(change && replacementOf(change), {
    name: 'A',
    description: null,
    dataScope: 'all',
    permissions: ['c', 'd'],
    version: 1,
  })
  roles.settle([role({ permissions: ['c', 'd'] })])
  t.equal(roles.current().size, 1, 'the role that was read before the change')
  roles.settle([role({ permissions: ['d'], version: 2 })])
  t.equal(roles.current().size, 1, 'only a part is stored')
  roles.rebase(role({ permissions: ['d'], version: 2 }))
  t.strictSame([...(roles.current().get(7)?.wanted ?? [])], [['c', true]])
  t.equal(roles.current().get(7)?.was.version, 2)
  roles.settle([role({ permissions: ['c', 'd'], version: 3 })])
  t.equal(roles.current().size, 0, 'all is stored')
  roles.want(role(), 'c', true)
  roles.want(role({ id: 8 }), 'c', true)
  roles.drop(7)
  t.strictSame([...roles.current().keys()], [8])
  roles.clear()
  t.equal(asksBeforeUnload(), false)
})

const key = (change: Partial<ConfigItem> = {}) =>
  ({
    key: 'a.limit',
    sensitive: false,
    schema: { type: 'integer' },
    value: 5,
    stored: { value: 10 },
    version: 1,
    ...change,
  }) as ConfigItem

t.test('typed configuration is a change until it equals the stored value, or the value in effect', async (t) => {
  const changes = (): readonly { readonly expectedVersion: number }[] =>
    [...config.current().changes.values()].map(sentChange)
  config.type(key(), '77')
  t.strictSame(changes(), [{ key: 'a.limit', action: 'set', expectedVersion: 1, value: 77 }])
  t.equal(asksBeforeUnload(), true)
  config.refuse([{ field: 'a.limit' }, { field: 'b' }] as never)
  config.type(key({ version: 2 }), '78')
  t.strictSame(changes()[0]?.expectedVersion, 1, 'the version that the user saw first')
  t.strictSame([...config.current().faults.keys()], ['b'], 'the error of the changed key is gone')
  config.type(key(), '10')
  t.strictSame(changes(), [])
  config.type(key({ stored: null } as never), '5')
  t.strictSame(changes(), [])
  const list = key({ schema: { type: 'array', items: { type: 'string' } }, stored: { value: ['x'] } as never })
  config.type(list, ['x', ''])
  t.equal(changes().length, 1, 'an added item is shown while it is empty')
  config.clear()
  config.putBack(key(), undefined)
  t.strictSame(changes(), [{ key: 'a.limit', action: 'reset', expectedVersion: 1 }])
  config.putBack(key(), 3)
  t.strictSame(changes(), [{ key: 'a.limit', action: 'set', expectedVersion: 1, value: 3 }])
  config.clear()
  t.equal(asksBeforeUnload(), false)
})

t.test('a change that another user has stored is dropped, and any other one is a conflict', async (t) => {
  config.type(key(), '77')
  config.type(key({ key: 'a.other' }), '77')
  const now = (item: ConfigItem) => new Map([[item.key, item]])
  const conflicts = (item: ConfigItem) => conflictsOf(config.current().changes.values(), now(item)).length
  t.equal(conflicts(key()), 0)
  const newer = key({ version: 2, stored: { value: 20 } as never })
  t.equal(conflicts(newer), 1)
  config.settle(now(newer))
  t.equal(config.current().changes.size, 2)
  config.rebase([newer, key({ key: 'a.absent' })])
  t.equal(conflicts(newer), 0)
  t.equal(config.current().changes.size, 2)
  config.settle(now(key({ version: 3, stored: { value: 77 } as never })))
  t.strictSame([...config.current().changes.keys()], ['a.other'])
  config.clear()
})

t.test('a secret is forgotten on leaving the page, and the page reports how many', async (t) => {
  const secret = key({
    key: 'a.secret',
    sensitive: true,
    schema: { type: 'string' },
    stored: { value: '***' } as never,
  })
  config.type(secret, '')
  t.equal(config.current().changes.size, 0, 'an empty secret is not a change')
  config.type(secret, 's3cret')
  config.type(key(), '77')
  config.settle(new Map([[secret.key, { ...secret, version: 2, stored: { value: 's3cret' } as never }]]))
  t.equal(config.current().changes.size, 2, 'whether a secret is stored is unknown')
  setDraftOwner(5)
  const [kept] = storedOnReload().drafts['system-config.centre']
  t.equal(kept.key, 'a.limit', 'a reload keeps only the other change')
  t.notMatch(stored.get('plinth.drafts'), 's3cret')
  config.forgetSecrets()
  t.strictSame([...config.current().changes.keys()], ['a.limit'])
  t.equal(config.current().forgotten, 1)
  config.remembered()
  t.equal(config.current().forgotten, 0)
  config.reset(secret)
  config.forgetSecrets()
  t.equal(config.current().changes.size, 2, 'the removal of a secret contains none')
  config.clear()
})

t.test('input of a closed form is kept once, for the user who typed it', async (t) => {
  setDraftOwner(1)
  const close = keepDraft('form', () => 'typed')
  t.equal(takeDraft('form'), undefined, 'the form is open')
  close()
  t.equal(takeDraft('form'), 'typed')
  t.equal(takeDraft('form'), undefined)
  keepDraft('empty', () => undefined)()
  t.equal(takeDraft('empty'), undefined)
  const first = keepDraft('form', () => 'first')
  const second = keepDraft('form', () => 'second')
  first()
  t.equal(takeDraft('form'), undefined, 'another form with this name is open')
  second()
  setDraftOwner(2)
  t.equal(takeDraft('form'), undefined, 'another user')
  keepDraft('form', () => 'typed')()
  keepDraft('open', () => 'typed')
  forgetDrafts()
  t.equal(takeDraft('form'), undefined, 'signed out')
  t.equal(storedOnReload(), null, 'the input of open forms is forgotten, too')
})

t.test('a page shows its last three messages', async (t) => {
  let reported = 0
  const stop = toasts.subscribe(() => void reported++)
  for (const text of ['a', 'b', 'c', 'd']) toasts.show(text, { isFailure: text === 'd' })
  t.strictSame(
    toasts.current().map(({ text, isFailure }) => [text, isFailure]),
    [
      ['b', false],
      ['c', false],
      ['d', true],
    ],
  )
  toasts.remove(toasts.current()[1]?.id ?? 0)
  t.strictSame(
    toasts.current().map(({ text }) => text),
    ['b', 'd'],
  )
  t.equal(reported, 5)
  stop()
  toasts.show('e')
  t.equal(reported, 5)
})

t.test('a shortcut matches its key with or without control or command, and never with alt', async (t) => {
  const press = (key: string, held: object = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...held })
  t.equal(pressed('lists', press('j')), 'next')
  t.equal(pressed('lists', press('J')), 'next')
  t.equal(pressed('lists', press('j', { ctrlKey: true })), undefined)
  t.equal(pressed('lists', press('j', { altKey: true })), undefined)
  t.equal(pressed('everywhere', press('k', { ctrlKey: true })), 'palette')
  t.equal(pressed('everywhere', press('K', { metaKey: true })), 'palette')
  t.equal(pressed('everywhere', press('k')), undefined)
})
