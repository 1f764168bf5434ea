/** Tests that secrets are only in the response that creates them, and that old rows are removed. */
import { onDatabase } from '@plinth/dev/testing/database'
import { pino } from 'pino'
import t from 'tap'
import { auth, factor, outcomeOf, startAuthenticators } from './fixtures/product.ts'

onDatabase(t, 'no secret is in the log, the audit, the outbox or a table', async (t, db) => {
  const log: string[] = []
  const product = await startAuthenticators(t, db, {
    logger: pino({ level: 'trace' }, { write: (line: string) => void log.push(line) }),
  })
  const { post, createUser, addPasskey, pendingOf, codesOf, settled, clock } = product
  const user = await createUser()
  const setUp = await post(`${auth}/totp/options`, {}, { token: user.token })
  const { setUpId, secret } = setUp.data
  const first = codesOf(secret)()
  const added = await post(`${auth}/totp`, { setUpId, code: first }, { token: user.token })
  await clock.advance(30_000)
  const [code = '', unused = '']: string[] = added.data.recoveryCodes
  await addPasskey(user.token)
  const pendingToken = await pendingOf(user.username)
  const wrong = await post(`${factor}/totp`, { pendingToken, code: first })
  t.equal(outcomeOf(wrong), '401 authenticators.totp-invalid')
  const opened = await post(`${factor}/recovery-code`, { pendingToken, code })
  t.equal(outcomeOf(opened), '200')
  await settled()
  const tables = [
    'iam_audit',
    'iam_login_audit',
    'iam_pending_sign_in',
    'iam_token',
    'outbox_event',
    'authenticator_totp',
    'authenticator_recovery_code',
    'authenticator_network',
    'shared_store_entry',
  ]
  let stored = log.join('\n')
  for (const table of tables) {
    stored += JSON.stringify(await product.db.query(`select * from ${table}`))
  }
  const secrets = {
    secret,
    pendingToken,
    code,
    unused,
    plain: unused.replaceAll('-', ''),
    token: opened.data.accessToken,
  }
  t.strictSame(
    Object.entries(secrets).filter(([, text]) => stored.includes(text)),
    [],
  )
  t.ok(stored.includes('user.add-totp'), 'the tables were read')
  for (const { headers } of [setUp, added]) t.match(headers['cache-control'], /no-store/)
})

onDatabase(t, 'unfinished sign-ins and old networks are removed, and a user has at most 20 networks', async (t, db) => {
  const product = await startAuthenticators(t, db)
  const { post, createUser, addTotp, pendingOf, clock, runTask } = product
  const user = await createUser()
  const { code } = await addTotp(user.token)
  const networks = async () => (await product.db.query('select id from authenticator_network')).length
  for (let at = 0; at < 22; at++) {
    const body = { pendingToken: await pendingOf(user.username), code: code() }
    t.equal(outcomeOf(await post(`${factor}/totp`, body, { from: `192.0.2.${at}` })), '200')
    await clock.advance(30_000)
  }
  t.equal(await networks(), 20)
  await pendingOf(user.username)
  const pending = async () => (await product.db.query('select id from iam_pending_sign_in')).length
  t.equal(await pending(), 1)
  await clock.advance(300_001)
  await runTask('iam.purge')
  t.equal(await pending(), 0)
  await runTask('authenticators.purge')
  t.equal(await networks(), 20)
  const daysAgo = (days: number) => new Date(clock.now() - days * 86_400_000)
  await product.db.execute('update authenticator_network set last_success_at = ?', [daysAgo(179)])
  await product.db.execute('update authenticator_network set last_success_at = ? where network_hash < ?', [
    daysAgo(181),
    '8',
  ])
  const [{ rest } = { rest: -1 }] = await product.db.query<{ rest: number }>(
    "select count(*) as rest from authenticator_network where network_hash >= '8'",
  )
  await runTask('authenticators.purge')
  t.equal(await networks(), Number(rest))
})
