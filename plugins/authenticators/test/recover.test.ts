/** Tests that `plinth admin recover` lets an administrator in who has lost all second factors (decision G.28). */
import { spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { manualClock, waitForProcessEnd } from '@plinth/dev/testing'
import { onSqlite, type TestDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
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

/** Runs `plinth admin recover` for the administrator, in a product with these packages. */
async function recover(t: Test, db: TestDatabase, loaded: Readonly<Record<string, string>>, ...more: string[]) {
  const { resolve } = createRequire(import.meta.url)
  const imports = Object.entries(loaded).map(([name, from]) => `import ${name} from ${JSON.stringify(resolve(from))}`)
  const config = {
    ...db.config,
    'platform.iam.password.hash.memory': '1MiB',
    'platform.rate-limit.default-store': 'memory',
    'platform.system-config.master-key-file': `${db.directory}/master.key`,
  }
  const directory = mkdtempSync(join(t.testdir({}), 'product-'))
  writeFileSync(
    join(directory, 'plinth.config.ts'),
    `${imports.join('\n')}
import { defineProduct } from ${JSON.stringify(resolve('@plinth/kernel'))}
export default defineProduct({ name: 'test', plugins: [${Object.keys(loaded).join(', ')}], config: ${JSON.stringify(config)} })
`,
  )
  const program = resolve('@plinth/kernel').replace('index.ts', 'cli/main.ts')
  const child = spawn(
    process.execPath,
    [program, 'admin', 'recover', '--username', 'admin', '--password-stdin', '--json', ...more],
    { cwd: directory },
  )
  child.stdin.end('another long password\n')
  const { code, stdout } = await waitForProcessEnd(child)
  t.equal(code, 0)
  return JSON.parse(stdout)
}

onSqlite(t, 'plinth admin recover removes the second factors, and the audit says so', async (t, db) => {
  // The command uses the time of the host.
  const product = await startAuthenticators(t, db, { clock: manualClock(Date.now()) })
  const { administrator, addPasskey, addTotp, login, post, settled, mailbox } = product
  const admin = await administrator()
  await addPasskey(admin.token)
  await addTotp(admin.token)
  t.equal(outcomeOf(await login('admin')), '401 iam.second-factor-required')

  t.strictSame((await recover(t, db, packages)).secondFactors, ['passkey', 'recovery-code', 'totp'])
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

onSqlite(
  t,
  'without a plugin for second factors, plinth admin recover says what keeps the sign-in closed',
  async (t, db) => {
    const { authenticators: _, ...loaded } = packages
    const product = await startAuthenticators(t, db, { clock: manualClock(Date.now()), withAuthenticators: false })
    await product.administrator()
    await product.db.execute("update iam_role set second_factor_from = ? where code = 'super-admin'", [new Date(0)])
    const login = async () => {
      await product.clock.advance(1_000)
      return outcomeOf(
        await product.post('/api/v1/auth/login', { username: 'admin', password: 'another long password' }),
      )
    }
    const rulesAfter = async (...more: string[]) => {
      const { unmetRules, droppedRules } = await recover(t, db, loaded, ...more)
      return { unmetRules, droppedRules }
    }
    t.strictSame(await rulesAfter(), { unmetRules: ['super-admin'], droppedRules: [] })
    t.equal(await login(), '403 iam.second-factor-impossible')
    t.strictSame(await rulesAfter('--drop-factor-rule'), { unmetRules: [], droppedRules: ['super-admin'] })
    t.equal(await login(), '200')
    const audit = await product.db.query("select summary from iam_audit where action = 'user.recover' order by id")
    t.match(JSON.stringify(audit.at(-1)), /droppedRules.*super-admin/)
  },
)
