/** Tests views of lists that operators share with a role. */
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, onEachDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { startLiveOffice } from './fixtures/live-office.ts'

interface View {
  readonly id: number
  readonly page: string
  readonly name: string
  readonly search: string
  readonly role: string
  readonly isDefault: boolean
}

onDatabase(t, 'a view is shared with a role, replaced, the default of the role, and removed', async (t, at) => {
  const office = await startLiveOffice((work) => t.teardown(work), at)
  const { people, password, actor, signIn, call } = office
  const root = await office.root()
  const seeing = ['iam:user:view', 'iam:role:view']
  const newRole = async (code: string, permissions: readonly string[]): Promise<{ readonly id: number }> =>
    (await call('POST', 'admin/iam/roles', root, { code, name: code, dataScope: 'all', permissions })).data as never
  const support = await newRole('support', seeing)
  const lead = await newRole('lead', [...seeing, 'console:views:share'])
  const narrow = await newRole('narrow', ['iam:role:view'])
  await people.create({ username: 'mia', password, roleIds: [support.id, narrow.id] }, actor)
  await people.create({ username: 'lea', password, roleIds: [lead.id] }, actor)
  await people.create({ username: 'nora', password, roleIds: [narrow.id] }, actor)
  const [mia, lea, nora] = [await signIn('mia'), await signIn('lea'), await signIn('nora')]

  const sharedIn = async (token: string, page = 'iam.users') => {
    const { code, data } = await call('GET', `admin/console/pages/${page}`, token)
    if (code !== '200') return (data as { readonly reason: string }).reason
    return (data as { shared: { views: readonly View[]; roles: readonly { readonly name: string }[] } }).shared
  }
  /** Returns the views that the command palette finds. */
  const foundIn = async (token: string) => {
    const { views } = (await call('GET', 'admin/console/lookups', token)).data as { readonly views: readonly View[] }
    return views.map(({ page, name, role }) => `${page} ${name} ${role}`)
  }
  const namesIn = async (token: string, page?: string) => {
    const shared = await sharedIn(token, page)
    return typeof shared === 'string'
      ? shared
      : shared.views.map(({ name, isDefault }) => name + (isDefault ? '*' : ''))
  }
  const view = {
    page: 'iam.users',
    roleId: support.id,
    name: 'Monday',
    search: 'filter=enabled:in:false',
    isDefault: false,
  }
  const put = async (token: string, changed: object = {}) => {
    const { code, data } = await call('PUT', 'admin/console/views', token, { ...view, ...changed })
    return code === '200' ? (data as { readonly id: number }).id : (data as { readonly reason: string }).reason
  }

  const id = await put(lea)
  t.equal(typeof id, 'number')
  t.strictSame(await sharedIn(mia), {
    views: [{ ...view, id, role: 'support' }].map(({ roleId: _, ...rest }) => rest),
    roles: [],
  })
  t.strictSame(await namesIn(mia, 'iam.roles'), [], 'of this page only')
  t.strictSame(await namesIn(nora, 'iam.roles'), [])
  t.equal(await sharedIn(nora), 'console.permission-missing', 'a view opens no page')
  t.strictSame(await namesIn(lea), ['Monday'], 'who may share sees the views of all roles')
  t.strictSame(await foundIn(mia), ['iam.users Monday support'])
  t.strictSame(await foundIn(nora), [], 'the view is shared with another role')

  t.equal(await put(lea, { search: 'q=a', isDefault: true, name: '  Monday ' }), id, 'the same name replaces the view')
  t.strictSame(await namesIn(mia), ['Monday*'])
  t.strictSame(await namesIn(lea), ['Monday'], 'the default of a role that lea does not have')
  await put(lea, { name: 'Tuesday', isDefault: true })
  t.strictSame(await namesIn(mia), ['Monday', 'Tuesday*'], 'a role has one default')
  await put(lea, { name: 'All', roleId: narrow.id, isDefault: true })
  t.strictSame(await namesIn(mia), ['Monday', 'Tuesday*', 'All*'], 'the role with the smaller id is first')

  t.equal(typeof (await put(lea, { page: 'iam.own-sessions' })), 'number', 'a list that is not in the navigation')

  t.strictSame(
    (await foundIn(nora)).filter((found) => found.startsWith('iam.users')),
    [],
    'a view of a page that nora may not open is not found',
  )

  t.equal(await put(mia), 'iam.permission-denied')
  for (const [changed, reason] of [
    [{ page: 'iam.user' }, 'console.page-unknown'],
    [{ page: 'shop.orders' }, 'console.page-unknown'],
    [{ page: 'iam.audit' }, 'console.page-unknown'],
    [{ page: '__proto__' }, 'http.invalid-input'],
    [{ roleId: 4711 }, 'console.view-role-unknown'],
    [{ name: '   ' }, 'console.view-name-blank'],
    [{ name: 'a'.repeat(61) }, 'http.invalid-input'],
    [{ search: 'a'.repeat(2_001) }, 'http.invalid-input'],
  ] as const)
    t.equal(await put(lea, changed), reason)
  for (let number = 2; number < 20; number++) await put(lea, { name: `View ${number}` })
  t.equal(await put(lea, { name: 'One more' }), 'console.views-full')
  t.equal(await put(lea, { search: 'q=b' }), id, 'a view can be replaced')
  t.strictSame(
    (await Promise.all([put(lea, { page: 'iam.roles' }), put(lea, { page: 'iam.roles' })])).map((one) => typeof one),
    ['number', 'number'],
    'two operators at the same moment',
  )
  t.equal((await namesIn(mia, 'iam.roles')).length, 1)

  t.equal((await call('DELETE', `admin/console/views/${id}`, mia)).code, '403')
  t.equal((await call('DELETE', `admin/console/views/${id}`, lea)).code, '200')
  t.equal((await call('DELETE', `admin/console/views/${id}`, lea)).code, '404')
  const audits = (await call('GET', 'admin/iam/audits?targetType=shared-view&size=200', root)).data as {
    readonly items: readonly { readonly action: string; readonly targetId: string; readonly summary: object }[]
  }
  const ofView = audits.items.filter(({ targetId }) => String(targetId) === String(id))
  t.strictSame(
    ofView.map(({ action }) => action),
    ['shared-view.remove', 'shared-view.change', 'shared-view.change', 'shared-view.share'],
  )
  assertMembers(t, ofView.at(-1), {
    summary: { name: 'Monday', page: 'iam.users', roleId: support.id, search: view.search, isDefault: false },
  })
  t.notOk((await namesIn(mia)).includes('Monday'))

  const gone = await newRole('gone', seeing)
  await put(lea, { roleId: gone.id, name: 'Former' })
  t.equal((await call('DELETE', `admin/iam/roles/${gone.id}`, root)).code, '200')
  const again = await newRole('gone', seeing)
  await people.create({ username: 'otto', password, roleIds: [again.id] }, actor)
  t.strictSame(await namesIn(await signIn('otto')), [], 'another role with the code of the former')
})

onEachDatabase(
  t,
  'of two default views that are shared at the same moment, the last one is the default',
  async (t, at) => {
    const office = await startLiveOffice((work) => t.teardown(work), at)
    const root = await office.root()
    const { call } = office
    const { data } = await call('POST', 'admin/iam/roles', root, {
      code: 'support',
      name: 'support',
      dataScope: 'all',
      permissions: ['iam:user:view'],
    })
    const roleId = (data as { readonly id: number }).id
    const put = (name: string) =>
      call('PUT', 'admin/console/views', root, { page: 'iam.users', roleId, name, search: 'q=a', isDefault: true })
    await office.people.create({ username: 'mia', password: office.password, roleIds: [roleId] }, office.actor)
    const mia = await office.signIn('mia')
    for (let round = 0; round < 4; round++) {
      const names = ['a', 'b', 'c'].map((name) => `${name}${round}`)
      for (const { code } of await Promise.all(names.map(put))) t.equal(code, '200')
      const { views } = (
        (await call('GET', 'admin/console/pages/iam.users', mia)).data as {
          readonly shared: { readonly views: readonly View[] }
        }
      ).shared
      const defaults = views.filter(({ isDefault }) => isDefault).map(({ name }) => name)
      t.equal(defaults.length, 1, `${defaults}`)
      t.ok(names.includes(defaults[0] ?? ''), 'one of the last')
    }
  },
)
