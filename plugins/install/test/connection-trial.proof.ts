/** Tests the real program: if a new connection cannot be used, the previous connection is restored. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serversUnderTest, startHalfOpenProxy } from '@plinth/dev/testing/database'
import t from 'tap'
import { productRoot, serve } from './fixtures/processes.ts'
import { databaseWithPassword, formFor, secrets } from './fixtures/product.ts'

const form = formFor({ dialect: 'sqlite', config: {}, directory: '', drop: async () => {} })

// Each test waits in real time for the end of a trial period, so the tests run concurrently.
t.jobs = 4
for (const { dialect, skip } of serversUnderTest) {
  for (const cut of ['closed', 'silent'] as const) {
    t.test(
      `${dialect} is unavailable (${cut}) at the restart: the product returns to the old connection`,
      { skip, timeout: 600_000 },
      async (t) => {
        const target = await databaseWithPassword(t, dialect, secrets.database)
        const proxy = await startHalfOpenProxy({ port: dialect === 'mariadb' ? 3306 : 5432 })
        t.teardown(() => proxy.close().catch(() => undefined))
        const root = productRoot(t)
        const product = await serve(t, root, ['--set', 'platform.install.connection-trial=30s'])
        const body = { ...form, database: { ...target, host: '127.0.0.1', port: proxy.port } }
        const execute = async () => (await product.call('POST', '/api/v1/install/execute', body)).data
        const first = await execute()
        t.match(first, { passed: true, restartRequired: true }, first.message)
        t.match(readFileSync(join(root, '.env'), 'utf8'), `PLATFORM_DATABASE_PORT=${proxy.port}`)
        if (cut === 'closed') await proxy.close()
        else proxy.fallSilent()
        await product.started(2)
        t.match(product.output(), /does not start on its new settings[\s\S]*returns to its previous settings/)
        t.notOk(existsSync(join(root, '.env')), 'there was none before')
        t.match((await product.call('GET', '/api/v1/install/status')).data, { installed: false, installAllowed: true })
        const reported = await execute()
        t.match(reported, { passed: false, restartRequired: false, failedField: /^database\./ }, reported.message)
        t.match(reported.message, /uses the previous one again/)
        if (cut === 'closed') return
        proxy.recover()
        t.match(await execute(), { passed: true, restartRequired: true }, 'it is told once')
        t.ok(existsSync(join(root, '.env.trial')))
        await product.started(3)
        t.match(await execute(), { passed: true, restartRequired: false, locked: true })
        t.notOk(existsSync(join(root, '.env.trial')), 'nothing of the old settings stays')
        product.child.kill('SIGTERM')
        t.same(await product.ended(), [0, null])
        t.notMatch(product.output(), secrets.database)
      },
    )
  }
}
