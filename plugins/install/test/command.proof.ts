/** Tests the results, progress and exit codes of `plinth install`, and an installation on another database. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serversUnderTest } from '@plinth/dev/testing/database'
import t from 'tap'
import { command, productRoot, serve } from './fixtures/processes.ts'
import { databaseWithPassword, formFor, secrets } from './fixtures/product.ts'

const form = formFor({ dialect: 'sqlite', config: {}, directory: '', drop: async () => {} })
const yaml = `
site:
  name: Acme
  url: https://shop.example.com
  timeZone: Asia/Shanghai
administrator:
  username: founder
  email: founder@example.com
  password: ${secrets.administrator}
`

t.test('answers from a file, and progress for people', { timeout: 600_000 }, async (t) => {
  const root = productRoot(t)
  writeFileSync(join(root, 'answers.yaml'), yaml)
  const done = await command(root, ['install', '--answers', 'answers.yaml'])
  t.equal(done.code, 0, done.stderr)
  t.match(done.stdout, 'The product is installed.\n')
  t.match(done.stderr, /\[1\/9\] security-entry: passed\..*\[9\/9\] install-lock: passed\. The installer is locked\./s)
  t.notMatch(done.stdout + done.stderr, secrets.administrator)

  const again = await command(root, ['install', '--answers', 'answers.yaml', '--json'])
  t.equal(again.code, 0, 'E9')
  t.match(JSON.parse(again.stdout), { installed: true, changed: false, message: /already.*Nothing was changed/ })
  const plain = await command(root, ['install', '--answers', 'nowhere.yaml'])
  t.match(plain, { code: 0, stdout: /is installed already/ }, 'no answers are needed for that')
  const database = join(root, 'data/plinth.sqlite')
  const bytes = readFileSync(database)
  writeFileSync(database, 'this is no database, and it is longer than a header of one would have to be. '.repeat(20))
  const unreadable = await command(root, ['install', '--answers', 'answers.yaml', '--json'])
  t.equal(unreadable.code, 1, 'E9')
  t.hasStrict(JSON.parse(unreadable.stdout), { error: { reason: 'install.state-unreadable' } })
  writeFileSync(database, bytes)

  const product = await serve(t, root)
  t.match((await product.call('GET', '/api/v1/install/status')).data, { installed: true, locked: true })
  const login = { username: 'founder', password: secrets.administrator }
  t.equal((await product.call('POST', '/api/v1/auth/login', login)).code, '200')
})

t.test('`--answers -` reads the answers from standard input', { timeout: 600_000 }, async (t) => {
  const root = productRoot(t)
  const broken = await command(root, ['install', '--answers', '-'], { input: 'a: [' })
  t.match(broken, { code: 1, stderr: /PLINTH_INSTALL_ANSWERS.*standard input cannot be read/ })
  const done = await command(root, ['install', '--answers', '-', '--json'], { input: yaml })
  t.equal(done.code, 0, done.stderr)
  t.match(JSON.parse(done.stdout), { passed: true, locked: true })
  const config = await command(root, ['config', 'get', 'platform.site.name', '--json'])
  t.equal(JSON.parse(config.stdout).value, 'Acme')
})

t.test(
  'options override the environment, and both override the file; one JSON document',
  { timeout: 600_000 },
  async (t) => {
    const root = productRoot(t)
    writeFileSync(join(root, 'answers.json'), JSON.stringify({ site: { name: 'file', title: 'file' } }))
    const environment = {
      PLINTH_INSTALL_SITE_NAME: 'environment',
      PLINTH_INSTALL_ADMINISTRATOR_USERNAME: 'environment',
      PLINTH_INSTALL_ADMINISTRATOR_PASSWORD: secrets.administrator,
    }
    const words = [
      'install',
      '--json',
      '--answers',
      'answers.json',
      '--site-name',
      'option',
      '--cache-enabled',
      'false',
    ]
    const { code, stdout, stderr } = await command(root, words, { environment })
    t.equal(code, 0, stderr)
    const result = JSON.parse(stdout)
    t.match(result, { authorized: true, passed: true, locked: true, records: { length: 9 } })
    t.match(
      result.records.find(({ stepCode }: { stepCode: string }) => stepCode === 'administrator').message,
      /environment/,
    )
    const config = await command(root, ['config', 'get', 'platform.site.name', '--json'])
    t.match(JSON.parse(config.stdout), { value: 'option' })
  },
)

t.test('the command ends with 1 at the first failing step, and names it', { timeout: 600_000 }, async (t) => {
  const root = productRoot(t)
  writeFileSync(join(root, 'answers.yaml'), yaml.replace(secrets.administrator, '"12345"'))
  const weak = await command(root, ['install', '--answers', 'answers.yaml', '--json'])
  t.equal(weak.code, 1)
  const result = JSON.parse(weak.stdout)
  t.match(result, { passed: false, locked: false, message: /config-validation/ })
  t.equal(result.records.at(-1).stepCode, 'config-validation')
  t.notOk(existsSync(join(root, '.env')))

  const problems: [string, string][] = [
    ['site:\n  nmae: x', 'site.nmae'],
    ['site: x', '"site"'],
    ['administrator:\n  password: 123456', 'administrator.password'],
    ['database:\n  port: "5432"', 'database.port'],
    ['- list', 'groups'],
    ['a: [', 'answers.yaml'],
  ]
  for (const [text, named] of problems) {
    writeFileSync(join(root, 'answers.yaml'), text)
    const { code, stderr } = await command(root, ['install', '--answers', 'answers.yaml'])
    t.equal(code, 1, text)
    t.match(stderr, new RegExp(`PLINTH_INSTALL_ANSWERS.*${named.replaceAll('.', '\\.')}`), text)
    t.notMatch(stderr, '123456')
  }
  t.match((await command(root, ['install', '--answers', 'nowhere.yaml'])).stderr, /PLINTH_INSTALL_ANSWERS.*ENOENT/)
  t.match((await command(root, ['install', '--database-port', 'x'])).stderr, /database\.port/)
})

for (const { dialect, skip } of serversUnderTest) {
  t.test(`D23 another database in one run: ${dialect}`, { skip, timeout: 600_000 }, async (t) => {
    const target = await databaseWithPassword(t, dialect, secrets.database)
    const root = productRoot(t)
    const { type, host, database, username } = target
    const input = JSON.stringify({ ...form, database: { type, host, database, username } })
    const environment = { PLINTH_INSTALL_DATABASE_PASSWORD: secrets.database }
    const { code, stdout, stderr } = await command(root, ['install', '--answers', '-', '--json'], {
      environment,
      input,
    })
    t.equal(code, 0, stderr)
    t.match(JSON.parse(stdout), { passed: true, locked: true, restartRequired: false })
    t.match(stderr, /Continuing in a new process/)
    const product = await serve(t, root)
    t.match((await product.call('GET', '/api/v1/install/status')).data, { installed: true })

    const rejected = productRoot(t)
    const wrong = { PLINTH_INSTALL_DATABASE_PASSWORD: 'Wr0ng-word' }
    writeFileSync(
      join(rejected, 'answers.json'),
      JSON.stringify({ ...form, database: { ...target, host: '127.0.0.1', port: 1 } }),
    )
    const failed = await command(rejected, ['install', '--answers', 'answers.json', '--json'], { environment: wrong })
    t.equal(failed.code, 1)
    t.hasStrict(JSON.parse(failed.stdout).records.at(-1), { stepCode: 'config-write', status: 'failed' })
    t.notMatch(failed.stdout + failed.stderr, 'Wr0ng-word')
  })
}

t.test('the embedded database: duration after the form is sent', { timeout: 600_000 }, async (t) => {
  const product = await serve(t, productRoot(t))
  const body = { ...form, database: { type: 'h2', database: '' } }
  const before = performance.now()
  const { data } = await product.call('POST', '/api/v1/install/execute', body)
  t.match(data, { passed: true, locked: true })
  t.comment(`installed in ${Math.round(performance.now() - before)} ms`)
})
