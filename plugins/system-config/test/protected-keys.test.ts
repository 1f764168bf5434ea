/** Tests which changes of keys with a permission an actor may store, by the effect on the stored values. */
import { onSqlite } from '@plinth/dev/testing/database'
import { BusinessError, definePlugin, guardsPermission, key } from '@plinth/kernel'
import type { Actor, ConfigChange } from '@plinth/system-config'
import t from 'tap'
import { samplePlugin, startOn } from './fixtures/products.ts'

const guard = 'platform.guarded.limit'
const old = 'platform.guarded.old-limit'
const token = 'platform.guarded.token'
const host = 'platform.guarded.host'

const guarded = definePlugin({
  id: 'test.guarded',
  version: '1.0.0',
  kernel: '^1.0.0',
  permissions: [{ code: 'guarded:save', displayName: { en: 'Save', 'zh-CN': '保存' } }],
  config: {
    [guard]: key.integer({ title: 'Limit', default: 5, reload: 'live', permission: guardsPermission }),
    [old]: key.integer({ title: 'Limit', reload: 'live', deprecated: { since: '1.0.0', replacement: guard } }),
    [host]: key.string({ title: 'Host', default: 'a', reload: 'live' }),
    [token]: key.string({
      title: 'Token',
      default: '',
      sensitive: true,
      reload: 'live',
      destination: [host],
      permission: 'guarded:save',
    }),
  },
  setup() {},
})

const actorWith = (...permissions: readonly string[]): Actor => ({
  name: 'ann',
  userId: 7,
  can: (permission) => permissions.includes(permission),
})
const set = (name: string, value: string | number): ConfigChange => ({ key: name, action: 'set', value })
const reset = (name: string): ConfigChange => ({ key: name, action: 'reset' })
const cli: Actor = { name: 'cli:ann' }

onSqlite(t, 'a secret or a key with a permission changes only after a recent proof of identity', async (t, db) => {
  const { centre } = await startOn(t, db, { plugins: [guarded, samplePlugin] })
  await centre.save([set(guard, 6), set(token, 'secret'), set(host, 'a')], { actor: cli })
  const unproven = new BusinessError('401', 'Prove it', { reason: 'test.proof-required' })
  let asked = 0
  const assertFresh = async () => {
    asked++
    throw unproven
  }
  const ann: Actor = { ...actorWith(guardsPermission, 'guarded:save'), assertFresh }
  const outcome = async (...changes: readonly ConfigChange[]) =>
    centre.save(changes, { actor: ann }).then(
      () => 'saved',
      (error: unknown) => (error === unproven ? 'unproven' : error),
    )
  const cases: readonly (readonly [string, unknown, ...ConfigChange[]])[] = [
    ['a guard', 'unproven', set(guard, 7)],
    ['a guard by its former name', 'unproven', set(old, 7)],
    ['a reset guard', 'unproven', reset(guard)],
    ['an unchanged guard', 'saved', set(guard, 6)],
    ['a secret', 'unproven', set(token, 'other')],
    ['an equal secret, which would confirm a guess', 'unproven', set(token, 'secret')],
    ['a plain key whose change removes a secret', 'unproven', set(host, 'b')],
    ['a plain key', 'saved', set('platform.sample.window', '2m')],
  ]
  for (const [name, expected, ...changes] of cases) t.equal(await outcome(...changes), expected, name)
  const version = centre.version
  t.equal(await outcome(set('platform.sample.window', '3m'), set(guard, 7)), 'unproven')
  t.equal(centre.version, version, 'nothing is stored, not even the plain key')
  asked = 0
  await centre.preview([set(guard, 7)], { actor: ann })
  t.equal(asked, 0, 'a preview asks for no proof')
  const undo = centre.rollback(0, { actor: ann }).catch((error: unknown) => error)
  t.equal(await undo, unproven)
  const document = { format: 'plinth-config/1', values: { [guard]: 9 } }
  const imported = centre.import(document as never, { actor: ann, mode: 'merge' }).catch((error: unknown) => error)
  t.equal(await imported, unproven)
  await centre.save([set(guard, 8)], { actor: { ...ann, assertFresh: () => {} } })
  await centre.save([set(guard, 9)], { actor: cli })
})

onSqlite(t, 'a key with a permission changes only if the actor has the permission', async (t, db) => {
  const { centre } = await startOn(t, db, { plugins: [guarded, samplePlugin] })
  await centre.save([set(guard, 6), set(token, 'secret'), set(host, 'a')], { actor: cli })
  const outcome = async (actor: Actor, ...changes: readonly ConfigChange[]) => {
    const { faults } = await centre.preview(changes, { actor })
    const error = await centre.save(changes, { actor }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    if (error === undefined) return [faults.length, 'saved']
    if (!(error instanceof BusinessError)) throw error
    return [faults.length, error.code, error.reason, error.data?.['permissions']]
  }
  const denied = (...permissions: readonly string[]) => [
    permissions.length,
    '403',
    'system-config.key-protected',
    permissions,
  ]
  const cases: readonly (readonly [string, unknown, ...Parameters<typeof outcome>])[] = [
    ['a looser value', denied(guardsPermission), actorWith('guarded:save'), set(guard, 7)],
    ['a stricter value', denied(guardsPermission), actorWith(), set(guard, 1)],
    ['a reset', denied(guardsPermission), actorWith(), reset(guard)],
    ['the same value', [0, 'saved'], actorWith(), set(guard, 6)],
    ['a deprecated name of the key', denied(guardsPermission), actorWith(), set(old, 9)],
    ['the same secret', denied('guarded:save'), actorWith(guardsPermission), set(token, 'secret')],
    ['a destination whose change removes the secret', denied('guarded:save'), actorWith(), set(host, 'b')],
    ['two keys', denied('guarded:save', guardsPermission), actorWith(), set(guard, 7), set(token, 'x')],
    ['a user whose permissions are unknown', denied(guardsPermission), { name: 'ann', userId: 7 }, set(guard, 7)],
    ['the permission of the key', [0, 'saved'], actorWith(guardsPermission), set(guard, 7)],
    ['the command line', [0, 'saved'], cli, set(guard, 8)],
  ]
  const found: unknown[] = []
  for (const [name, , actor, ...changes] of cases) found.push([name, await outcome(actor, ...changes)])
  t.strictSame(
    found,
    cases.map(([name, expected]) => [name, expected]),
  )
})

onSqlite(t, 'a value of a removed plugin is removed only with the permission for guards', async (t, db) => {
  const first = await startOn(t, db, { plugins: [guarded, samplePlugin] })
  await first.centre.save([set(guard, 6), set('platform.sample.limit', 7)], { actor: cli })
  await first.running.stop('plugins removed')
  const { centre } = await startOn(t, db, { plugins: [] })
  let proofs = 0
  const remove = (actor: Actor, name: string) =>
    centre.save([reset(name)], { actor: { ...actor, assertFresh: () => void proofs++ } }).then(
      () => 'removed',
      ({ code, reason, data }) => [code, reason, data?.permissions],
    )
  const denied = ['403', 'system-config.key-protected', [guardsPermission]]
  t.strictSame(await remove(actorWith('system-config:save'), guard), denied)
  t.equal((await centre.get(guard)).stored?.value, 6)
  t.equal(proofs, 0)
  t.equal(await remove(actorWith(guardsPermission), guard), 'removed')
  t.ok(proofs > 0, 'with a recent proof of identity')
  t.equal(await remove(cli, 'platform.sample.limit'), 'removed', 'the command line')
})
