/**
 * Tests that an upgrade can be undone without a backup: the previous version of this repository runs on the upgraded
 * database, reads what the new version wrote, and the new version then reads what the previous one wrote. Old and new
 * instances also run at the same time.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { linkCheckout } from '../../scripts/linked-checkout.ts'
import { administrator, authorize, runProgram, startProcess } from '../fixtures/product-process.ts'

const previousVersion = '17b02a68'
const here = join(import.meta.dirname, '../..')

/** The quickstart with a route that returns a secret of the config centre. */
const productOf = (root: string) => `
import { http, Type } from '@plinth/http'
import { definePlugin, defineProduct, key } from '@plinth/kernel'
import quickstart from '${join(root, 'examples/quickstart/plinth.config.ts')}'
const shop = definePlugin({
  id: 'shop', version: '1.0.0', kernel: '^1.0.0', requires: { http },
  config: {
    'platform.shop.token': key.string({ title: { en: 'Token', 'zh-CN': '令牌' }, default: '', sensitive: true, reload: 'live' }),
  },
  setup({ config, services }) {
    services.http.route({
      method: 'GET', path: '/api/v1/shop/token', summary: 'The token', access: 'public',
      response: Type.Object({ token: Type.String() }),
      handler: () => ({ token: config.get('platform.shop.token') }),
    })
  },
})
export default defineProduct({ ...quickstart, plugins: [...quickstart.plugins, shop] })
`

/** Checks the previous version out, with the packages of this checkout. Returns undefined if git does not have it. */
function checkOut(t: Test): string | undefined {
  if (spawnSync('git', ['cat-file', '-e', `${previousVersion}^{commit}`], { cwd: here }).status !== 0) return undefined
  const root = mkdtempSync(join(tmpdir(), 'plinth-previous-'))
  t.teardown(() => {
    spawnSync('git', ['worktree', 'remove', '--force', root], { cwd: here })
    rmSync(root, { recursive: true, force: true })
  })
  linkCheckout(previousVersion, root)
  return root
}

/** Signs in, and returns the calls of this test. */
async function signIn(t: Test, url: string) {
  const headers = { ...(await authorize(url)), 'content-type': 'application/json' }
  const call = async (path: string, body?: object) => {
    const sent = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) }
    // biome-ignore lint/suspicious/noExplicitAny: responses of several routes
    const { code, message, data } = (await (await fetch(`${url}/api/v1/${path}`, sent)).json()) as any
    t.equal(code, '200', `${path}: ${message}`)
    return data
  }
  return {
    call,
    token: async () => (await call('shop/token')).token,
    storeToken: (value: string) =>
      call('admin/system-config/changes', {
        changes: [{ key: 'platform.shop.token', action: 'set', value }],
        reason: 'test',
      }),
    grant: async (userId: string, points: number) =>
      (await call('admin/member-points/manual-adjustments', { userId, points, reason: 'test' })).available,
  }
}

t.test(`the previous version (${previousVersion}) runs on an upgraded database`, { timeout: 1_200_000 }, async (t) => {
  const previousRoot = checkOut(t)
  // A shallow clone, as some build servers make it, does not contain the commit.
  if (previousRoot === undefined) return t.pass(`not possible: ${previousVersion} is not in this clone`)
  const versions = { previous: previousRoot, next: here }

  for (const { dialect, skip } of everyDialect)
    await t.test(dialect, { skip }, async (t) => {
      const db = await createDatabase(dialect)
      t.teardown(() => db.drop())
      const config = {
        ...db.config,
        'platform.system-config.master-key-file': join(db.directory, 'master.key'),
        'platform.storage.root': join(db.directory, 'storage'),
        'platform.rate-limit.enabled': false,
      }
      const settings = Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]))
      const productFiles = Object.fromEntries(
        Object.entries(versions).map(([name, root]) => {
          const file = join(root === here ? t.testdir() : root, `${name}.config.ts`)
          writeFileSync(file, productOf(root))
          return [name, file]
        }),
      )
      const start = (name: keyof typeof versions) =>
        startProcess(t, productFiles[name] ?? '', settings, { root: versions[name] })

      const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])
      const inPrevious = { root: versions.previous }
      const words = ['--product', productFiles['previous'] ?? '', ...set]
      t.match(await runProgram(['migrate', ...words], '', inPrevious), { code: 0 })
      const create = ['admin', 'create', '--username', administrator.username, '--password-stdin', ...words]
      t.match(await runProgram(create, administrator.password, inPrevious), { code: 0 })

      const first = await start('previous')
      const before = await signIn(t, first.url)
      const member = await before.call('admin/iam/users', { username: 'ann', password: administrator.password })
      await before.grant(member.id, 100)
      await before.storeToken('token of the previous version')

      // The new version upgrades the database while an instance of the previous version runs.
      const upgraded = await start('next')
      const after = await signIn(t, upgraded.url)
      t.equal(await after.token(), 'token of the previous version')
      t.equal(await after.grant(member.id, 10), 110)
      t.equal(await before.grant(member.id, 1), 111)
      await after.storeToken('token of the new version')
      for (const { end } of [first, upgraded]) t.same(await end('SIGTERM'), [0, null])

      const back = await start('previous')
      const again = await signIn(t, back.url)
      t.equal(await again.token(), 'token of the new version')
      t.equal(await again.grant(member.id, 5), 116)
      await again.storeToken('token of the previous version, once more')
      t.same(await back.end('SIGTERM'), [0, null])

      const last = await start('next')
      const finished = await signIn(t, last.url)
      t.equal(await finished.token(), 'token of the previous version, once more')
      t.equal(await finished.grant(member.id, 4), 120)
      t.same(await last.end('SIGTERM'), [0, null])
    })
})
