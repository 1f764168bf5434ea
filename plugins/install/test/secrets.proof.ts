/** Runs a whole installation with known secrets, then searches for them in all data that it leaves. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import databasePlugin, { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { serversUnderTest } from '@plinth/dev/testing/database'
import { skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import { defineProduct } from '@plinth/kernel'
import { Redis } from 'ioredis'
import t from 'tap'
import { productRoot, serve } from './fixtures/processes.ts'
import { databaseWithPassword, formFor, secrets } from './fixtures/product.ts'

const token = 'Tok3n-kJ9mQx7LwZr8TnVbYcHdFgPsA-4711'
const wrong = 'Wr0ng-password-of-nobody'
const known = { ...secrets, token, wrong }
const form = formFor({ dialect: 'sqlite', config: {}, directory: '', drop: async () => {} })

/** Returns the secret in all forms in which it could be written: base64, hexadecimal and URL encoding. */
function formsOf(secret: string): readonly string[] {
  const shifted = [0, 1, 2].map((shift) => {
    const digits = Buffer.concat([Buffer.alloc(shift), Buffer.from(secret)]).toString('base64')
    return digits.slice(shift === 0 ? 0 : 4, -4)
  })
  return [secret, ...shifted, Buffer.from(secret).toString('hex'), encodeURIComponent(secret)]
}

const findIn = (text: string, names = Object.keys(known)) =>
  names.filter((name) => formsOf(known[name as keyof typeof known]).some((form) => text.includes(form)))

for (const { dialect, skip } of serversUnderTest) {
  const reason = skip || skipWithoutRedisProgram
  t.test(
    `I-060 I-098 I-126 I-143 I-153 I-166 no output contains a secret (${dialect})`,
    { skip: reason, timeout: 600_000 },
    async (t) => {
      const target = await databaseWithPassword(t, dialect, secrets.database)
      const redis = await startRedis()
      t.teardown(() => redis.drop())
      const client = new Redis({ port: redis.port })
      await client.config('SET', 'requirepass', secrets.cache)
      client.disconnect()

      const root = productRoot(t)
      const product = await serve(t, root, [], { environment: { PLATFORM_INSTALL_TOKEN: token } })
      const headers = { 'x-install-token': token, 'user-agent': `wizard ${token}` }
      const cache = { enabled: true, host: '127.0.0.1', port: redis.port, database: 1, password: secrets.cache }
      const body = { ...form, database: target, cache }
      const post = (path: string, sent: unknown = body) =>
        product.call('POST', `/api/v1/install/${path}`, sent, headers)
      const get = (path: string) => product.call('GET', `/api/v1/install/${path}`, undefined, headers)

      await product.call('POST', '/api/v1/install/token/verify', { token: wrong })
      await post('token/verify', { token })
      for (const path of ['config/schema', 'steps', 'status']) await get(path)
      await post('preflight')
      await post('config/validate')
      await post('config/plan')
      // Causes one error of each kind: a rejected database login, a rejected Redis login, a rejected password.
      await post('execute', { ...body, database: { ...target, username: 'nobody_here', password: wrong } })
      await post('config/write', { ...body, cache: { ...cache, password: wrong } })
      await post('administrator', { username: 'x y', password: wrong, confirmPassword: wrong })
      await post('execute', { ...body, administrator: { ...form.administrator, confirmPassword: wrong } })
      const first = await post('execute')
      t.match(first.data, { passed: true, restartRequired: true }, first.data.message)
      await product.started(2)
      const { data } = await post('execute')
      t.match(data, { passed: true, locked: true }, data.message)
      await get('execution-logs')

      const login = await product.call('POST', '/api/v1/auth/login', {
        username: 'founder',
        password: secrets.administrator,
      })
      const admin = { authorization: `Bearer ${login.data.accessToken}` }
      const paths = [
        'diagnostics',
        'diagnostics/export',
        'sessions',
        `sessions/${data.sessionId}`,
        `sessions/${data.sessionId}/export`,
      ]
      for (const path of [...paths, 'execution-logs', 'audit-logs?size=100']) {
        await product.call('GET', `/api/v1/admin/install/${path}`, undefined, admin)
      }
      await product.call('GET', '/api/v1/admin/system-config/keys', undefined, admin)
      t.ok(product.answers.length > 40)
      t.same(findIn(product.answers.join('\n')), [], 'in no answer')
      t.same(findIn(product.output()), [], 'in no line of the log')

      product.child.kill('SIGTERM')
      await product.ended()
      const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
      const found = files.flatMap(({ parentPath, name }) => {
        const path = join(parentPath, name)
        // `.env` is the only file that may contain the passwords of the connections. Only its owner can read it.
        const names = name === '.env' ? ['administrator', 'token', 'wrong'] : Object.keys(known)
        return findIn(readFileSync(path, 'latin1'), names).map((secret) => `${secret} in ${path}`)
      })
      t.ok(files.some(({ name }) => name === 'execution.log'))
      t.same(found, [], 'in no file')

      const look = defineProduct({
        name: 'look',
        plugins: [databasePlugin],
        config: {
          'platform.database.type': dialect,
          'platform.database.name': target.database,
          'platform.database.username': target.username,
          'platform.database.password': target.password,
          'platform.database.migrate-at-start': false,
        },
      })
      const running = await startForTest(look, { roles: ['cli'] })
      t.teardown(() => running.stop('done'))
      const db = running.service(database)
      const schema = dialect === 'mariadb' ? 'database()' : `'public'`
      const tables = await db.query<{ name: string }>(
        `select table_name as name from information_schema.tables where table_schema = ${schema}`,
      )
      t.ok(tables.length > 20)
      const leaks: string[] = []
      for (const { name } of tables) {
        const rows = JSON.stringify(await db.query(`select * from ${name}`), (_, value) =>
          value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
        )
        leaks.push(...findIn(rows).map((secret) => `${secret} in ${name}`))
      }
      t.same(leaks, [], 'in no table')
    },
  )
}
