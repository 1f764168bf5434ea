/** Tests that the dry run of an upgrade lists what roles lose. */
import { onEachDatabase } from '@plinth/dev/testing/database'
import { http, nothing, routesWith } from '@plinth/http'
import { definePlugin, guardsPermission, key } from '@plinth/kernel'
import { upgradeSteps } from '@plinth/kernel/host'
import t from 'tap'
import { startIam } from './fixtures/product.ts'

const permission = (code: string) => ({ code, displayName: { en: code, 'zh-CN': code } })
const save = 'system-config:save'
const guarded = definePlugin({
  id: 'test.guarded',
  version: '1.0.0',
  kernel: '^1.0.0',
  permissions: [permission(save), permission('guarded:save')],
  config: { 'platform.guarded.limit': key.integer({ title: 'Limit', default: 1, permission: 'guarded:save' }) },
  setup() {},
})

const { route } = routesWith()
const shared = definePlugin({
  id: 'test.shared',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  permissions: [permission('shared:save')],
  setup({ services }) {
    const facts = { path: '/api/v1/admin/shared', summary: 'Shared', reasons: [], response: nothing } as const
    const access = { permission: 'shared:save', scope: 'all' } as const
    services.http.addRoutes([
      route({ ...facts, access, method: 'GET', handler: () => null }),
      route({ ...facts, access, method: 'PUT', handler: () => null }),
    ])
  },
})

onEachDatabase(t, 'an upgrade lists the roles that lose keys, once', async (t, db) => {
  const { running, call, administrator } = await startIam(t, db, { plugins: [guarded] })
  const root = await administrator()
  for (const [code, permissions] of Object.entries({
    one: [save, guardsPermission],
    both: [save, guardsPermission, 'guarded:save'],
    other: ['guarded:save'],
  })) {
    const body = { code, name: code, dataScope: 'all', permissions }
    t.equal((await call('POST', '/api/v1/admin/iam/roles', { token: root, body })).code, '200')
  }
  const find = new Map(running.contributions(upgradeSteps)).get('permissions')
  const entry = 'The role "one" can no longer change these keys, which need guarded:save: platform.guarded.limit'
  const step = { change: 'restricted', plugin: 'iam', entry }
  t.strictSame(await find?.(new Map([['iam', ['iam:user:view']]])), [step])
  t.strictSame(await find?.(new Map([['iam', [guardsPermission]]])), [], 'the lock file has the new permission')
  t.strictSame(await find?.(new Map()), [step], 'there is no lock file')
})

onEachDatabase(t, 'an upgrade lists the roles whose data scope is too small for shared things', async (t, db) => {
  const { running, call, administrator } = await startIam(t, db, { plugins: [guarded, shared] })
  const root = await administrator()
  for (const dataScope of ['all', 'org', 'self'] as const) {
    const body = { code: dataScope, name: dataScope, dataScope, permissions: ['shared:save'] }
    t.equal((await call('POST', '/api/v1/admin/iam/roles', { token: root, body })).code, '200')
  }
  const find = new Map(running.contributions(upgradeSteps)).get('permissions')
  const steps = ['org', 'self'].map((role) => ({
    change: 'restricted',
    plugin: 'iam',
    entry: `The role "${role}" has the data scope "${role}". These operations need "all": PUT /api/v1/admin/shared`,
  }))
  t.strictSame(await find?.(new Map([['iam', ['iam:user:view']]])), steps)
  t.strictSame(await find?.(new Map([['iam', [guardsPermission]]])), [], 'the lock file has the new permission')
})
