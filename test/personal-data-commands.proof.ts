/** Tests `plinth users export` and `plinth users erase`. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { accounts, identity } from '@plinth/iam'
import t from 'tap'
import product from './fixtures/diary.config.ts'
import { runProgram } from './fixtures/product-process.ts'

const actor = { name: 'test', clientIp: '', traceId: '', userAgent: '' }
const password = 'Correct-horse-7'

onDatabase(t, 'an operator exports and erases a user by commands, also after a crash', async (t, place) => {
  const { config, directory } = place
  const set = Object.fromEntries([
    ...Object.entries(config).map(([name, value]) => [name, String(value)] as const),
    ['platform.http.port', '0'] as const,
    ['platform.iam.password.hash.memory', '1MiB'] as const,
  ])
  const words = Object.entries(set).flatMap(([name, value]) => ['--set', `${name}=${value}`])
  const file = join(import.meta.dirname, 'fixtures/diary.config.ts')
  const users = async (...more: string[]) => {
    const { code, signal, stdout, stderr } = await runProgram(['--product', file, ...words, '--json', 'users', ...more])
    return { code, signal, stderr, ...(stdout === '' ? {} : JSON.parse(stdout)) }
  }
  const running = await startForTest(product, { set, roles: ['web'] })
  t.teardown(() => running.stop('test ended'))
  const db = running.service(database)
  const people = running.service(accounts)
  const root = await people.createSuperAdministrator({ username: 'root', password }, actor)
  const a = await people.create({ username: 'anna', email: 'anna@example.org', password }, actor)
  const b = await people.create({ username: 'bert', email: 'bert@example.org', password }, actor)
  for (const [id, userId, body] of [
    [1, a.id, 'about anna'],
    [2, b.id, 'about bert'],
    [3, a.id, 'more of anna'],
  ] as const) {
    await db.execute('insert into acme_diary (id, user_id, body) values (?, ?, ?)', [id, userId, body])
  }
  const attempt = { ...actor, method: 'test', identifier: 'anna', secondFactor: 'test', setHeader() {} }
  const { accessToken } = await running.service(identity).openSession(a.id, attempt)
  const bodies = async () =>
    (await db.query<{ body: string }>('select body from acme_diary order by id')).map(({ body }) => body)

  const target = join(directory, 'anna.json')
  t.hasStrict(await users('export', String(a.id), '--file', target), { code: 0, userId: a.id, file: target })
  t.equal(statSync(target).mode & 0o777, 0o600, 'only its owner can read the file')
  const text = readFileSync(target, 'utf8')
  t.match(text, /about anna[\s\S]*more of anna/)
  t.match(text, /anna@example\.org/)
  t.notMatch(text, /bert/)
  t.equal((await users('export', String(a.id), '--file', target)).code, 1, 'a file is not overwritten')

  const usage = { error: { code: 'PLINTH_IAM_USERS_OPTIONS' } }
  t.hasStrict(await users('erase', String(a.id)), usage, 'neither --dry-run nor --yes')
  t.hasStrict(await users('erase', 'anna', '--yes'), usage)
  t.hasStrict(await users('export', String(a.id)), usage)
  const last = await users('erase', String(root.id), '--yes')
  t.hasStrict(last, { code: 1, error: { code: 'PLINTH_COMMAND_REFUSED' } })
  t.match(last.error.message, /last active administrator/)
  t.hasStrict(await people.find(root.id), { enabled: true })

  const announced = await users('erase', String(a.id), '--dry-run')
  t.hasStrict(announced, { code: 0, erased: false })
  const lines = (result: { tables: { table: string; rows: number; erasure: string }[] }) =>
    result.tables.filter(({ rows }) => rows > 0).map(({ table, rows, erasure }) => `${erasure} ${table}: ${rows}`)
  t.strictSame(lines(announced), [
    'removed acme_diary: 2',
    'anonymised iam_login_audit: 1',
    'anonymised iam_audit: 1',
    'removed iam_token: 1',
    'removed iam_user: 1',
  ])
  t.strictSame(await bodies(), ['about anna', 'about bert', 'more of anna'], 'the dry run erased nothing')

  const killed = await users('erase', String(a.id), '--yes', '--set', 'platform.acme.diary.kills=true')
  t.equal(killed.signal, 'SIGKILL')
  t.strictSame(await bodies(), ['about bert'], 'the erasure had begun')
  t.hasStrict(await people.find(a.id), { enabled: false }, 'the account is disabled')
  await t.rejects(running.service(identity).openSession(a.id, attempt))

  t.hasStrict(await users('erase', String(a.id), '--yes'), { code: 0, erased: true })
  t.equal(await people.find(a.id), undefined)
  t.strictSame(await bodies(), ['about bert'])
  const left = await db.query<{ n: unknown }>('select count(*) as n from iam_token where user_id = ?', [a.id])
  t.equal(Number(left[0]?.n), 0)
  const again = lines(await users('erase', String(a.id), '--yes'))
  t.strictSame(again, ['kept iam_authority_change: 4'], 'a second call has nothing to do')
  const authenticated = Promise.resolve().then(() => running.service(identity).authenticate(accessToken))
  await t.rejects(authenticated)
  t.hasStrict(await people.find(b.id), { username: 'bert', enabled: true })
})
