/** Tests that `plinth admin recover` lets an administrator in who has lost all second factors (decision G.28). */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { manualClock, waitForProcessEnd } from '@plinth/dev/testing'
import { onSqlite } from '@plinth/dev/testing/database'
import t from 'tap'
import { outcomeOf, startAuthenticators } from './fixtures/product.ts'

const packages = {
  database: '@plinth/database',
  http: '@plinth/http',
  site: '@plinth/site',
  i18n: '@plinth/i18n',
  events: '@plinth/events',
  mail: '@plinth/mail',
  iam: '@plinth/iam',
  idempotency: '@plinth/idempotency',
  sharedStore: '@plinth/shared-store',
  systemConfig: '@plinth/system-config',
  rateLimit: '@plinth/rate-limit',
  memory: '@plinth/rate-limit-stores/memory',
  authenticators: '@plinth/authenticators',
}

onSqlite(t, 'plinth admin recover removes the second factors, and the audit says so', async (t, db) => {
  // The command uses the time of the host.
  const product = await startAuthenticators(t, db, { clock: manualClock(Date.now()) })
  const { administrator, addPasskey, addTotp, login, post, settled, mailbox } = product
  const admin = await administrator()
  await addPasskey(admin.token)
  await addTotp(admin.token)
  t.equal(outcomeOf(await login('admin')), '401 iam.second-factor-required')

  const { resolve } = createRequire(import.meta.url)
  const imports = Object.entries(packages).map(([name, from]) => `import ${name} from ${JSON.stringify(resolve(from))}`)
  const config = {
    ...db.config,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.rate-limit.default-store': 'memory',
    'platform.system-config.master-key-file': `${db.directory}/master.key`,
  }
  const directory = t.testdir({})
  writeFileSync(
    join(directory, 'plinth.config.ts'),
    `${imports.join('\n')}
import { defineProduct } from ${JSON.stringify(resolve('@plinth/kernel'))}
export default defineProduct({ name: 'test', plugins: [${Object.keys(packages).join(', ')}], config: ${JSON.stringify(config)} })
`,
  )
  const program = resolve('@plinth/kernel').replace('index.ts', 'cli/main.ts')
  const child = spawn(
    process.execPath,
    [program, 'admin', 'recover', '--username', 'admin', '--password-stdin', '--json'],
    { cwd: directory },
  )
  child.stdin.end('another long password\n')
  const { code, stdout } = await waitForProcessEnd(child)
  t.equal(code, 0)
  t.strictSame(JSON.parse(stdout).secondFactors, ['passkey', 'recovery-code', 'totp'])
  await product.clock.advance(1_000)
  const body = { username: 'admin', password: 'another long password' }
  const opened = await post('/api/v1/auth/login', body)
  t.equal(outcomeOf(opened), '200', 'the new password is enough')
  const audit = await product.db.query<{ summary: string }>(
    "select summary from iam_audit where action = 'user.recover'",
  )
  t.match(JSON.stringify(audit), /secondFactors.*passkey.*recovery-code.*totp/)
  await settled()
  t.ok(mailbox.sent.some(({ subject }) => subject === 'Shop: your second factors were removed'))
})
