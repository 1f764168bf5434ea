/** Tests the fields of the form, their meaning, and the planned changes. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { maskedValue } from '@plinth/kernel'
import sharedStorePlugin from '@plinth/shared-store'
import t, { type Test } from 'tap'
import { connectionUrl } from '../src/form/form-schema.ts'
import { type Form, type StartSettings, secrets, startInstall } from './fixtures/product.ts'

async function start(t: Test, settings: StartSettings = {}) {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  return startInstall(t, db, { plugins: [sharedStorePlugin], ...settings })
}

type Change = { readonly [G in keyof Form]?: Readonly<Record<string, unknown>> }

/** Returns the form with other values in some fields. */
const changed = (form: Form, change: Change) =>
  Object.fromEntries(
    Object.entries(form).map(([group, fields]) => [group, { ...fields, ...change[group as keyof Form] }]),
  )

const server = {
  type: 'postgresql',
  host: 'db.example.com',
  port: 6000,
  database: 'shop',
  username: 'shop',
  password: secrets.database,
}

t.test('I-099 I-100 I-034 I-154 the schema describes the fields and contains no values', async (t) => {
  const { look } = await start(t, { environment: { PLATFORM_DATABASE_PASSWORD: secrets.database } })
  const { data } = await look('config/schema')
  const names = data.groups.map(({ code, fields }: { code: string; fields: { name: string }[] }) => [
    code,
    fields.map(({ name }) => name).join(' '),
  ])
  t.same(names, [
    ['site', 'name title url defaultLocale timeZone'],
    ['administrator', 'username email mobile passwordPolicy password confirmPassword'],
    ['database', 'type host port database username password'],
    ['cache', 'enabled host port database password'],
    ['storage', 'publicDisk localDisk'],
  ])
  for (const { code, fields, label, description } of data.groups) {
    t.ok(label !== '' && description !== '', code)
    for (const field of fields) {
      t.match(field, { label: /./, description: /./, type: /^(string|integer|boolean)$/, required: Boolean })
      t.notOk('value' in field || 'default' in field, field.name)
    }
  }
  t.notMatch(JSON.stringify(data), secrets.database)
  t.notMatch(JSON.stringify(data), /admin123|123456|test@/i)
  const field = (path: string) => {
    const [group, name] = path.split('.')
    const { fields } = data.groups.find(({ code }: { code: string }) => code === group)
    return fields.find((one: { name: string }) => one.name === name)
  }
  const ofKeys = {
    'site.name': { label: 'Site name', hints: { input: 'text', maxLength: 64 } },
    'site.timeZone': { label: 'Site time zone', description: /^Business rules/, hints: { input: 'combobox' } },
    'database.port': { label: 'Database port', hints: { input: 'number', minimum: 1, maximum: 65_535 } },
    'database.password': { label: 'Database password', hints: { input: 'password', autocomplete: 'off' } },
    'cache.enabled': { label: 'Redis', hints: { input: 'switch' } },
    'cache.port': { label: 'Redis port', hints: { placeholder: '6379' } },
    'storage.publicDisk': { label: 'platform.storage.public-disk', description: /this product does not use it/ },
  }
  for (const [path, facts] of Object.entries(ofKeys)) t.match(field(path), facts, path)
  const [type] = data.groups[2].fields
  t.same(
    type.candidates.map(({ value }: { value: string }) => value),
    ['h2', 'postgresql', 'mysql'],
  )
  const chinese = (await look('config/schema', { headers: { 'accept-language': 'zh-CN' } })).data
  t.equal(chinese.groups[0].label, '站点')
  t.same(
    chinese.groups.map(({ fields }: { fields: unknown[] }) => fields.length),
    data.groups.map(({ fields }: { fields: unknown[] }) => fields.length),
  )
})

t.test('I-039 I-040 I-109 I-110 I-113 I-115 I-117 a valid form is accepted, and nothing is written', async (t) => {
  const { install, form, root, centre } = await start(t)
  const { code, data } = await install('config/validate', { body: form })
  t.equal(code, '200')
  t.match(data, { authorized: true, passed: true })
  t.same(
    data.checks.map(({ field, status }: Record<string, string>) => `${field} ${status}`),
    [
      ...['name', 'title', 'url', 'defaultLocale', 'timeZone'].map((name) => `site.${name} passed`),
      ...['username', 'email', 'mobile', 'passwordPolicy', 'password', 'confirmPassword'].map(
        (name) => `administrator.${name} passed`,
      ),
      ...['type', 'database'].map((name) => `database.${name} passed`),
      ...['publicDisk', 'localDisk'].map((name) => `storage.${name} passed`),
    ],
  )
  for (const check of data.checks) t.match(check, { message: /./, code: check.field, finding: 'passed' })
  t.notOk(existsSync(join(root, '.env')))
  t.equal(centre.version, 0)
  // If the server cannot be reached, this is not an error of the form.
  const unreachable = changed(form, { database: { ...server, host: '192.0.2.1' } })
  t.match((await install('config/validate', { body: unreachable })).data, { passed: true })
})

/** Changes of the form, with the problem that the check must report for the field. */
const findings: readonly (readonly [Change, field: string, finding: string, status?: 'warning' | 'passed'])[] = [
  [{ site: { name: '' } }, 'site.name', 'required'],
  [{ site: { name: '   ' } }, 'site.name', 'required'],
  [{ site: { name: 'x'.repeat(65) } }, 'site.name', 'too-long'],
  [{ site: { name: 'a\nb' } }, 'site.name', 'control-characters'],
  [{ site: { title: '' } }, 'site.title', 'site-title-missing', 'warning'],
  [{ site: { url: '' } }, 'site.url', 'site-url-missing', 'warning'],
  [{ site: { url: 'shop.example.com' } }, 'site.url', 'url'],
  [{ site: { url: 'javascript:alert(1)' } }, 'site.url', 'url'],
  [{ site: { url: 'https://user:word@example.com' } }, 'site.url', 'url'],
  [{ site: { url: 'http://shop.example.com' } }, 'site.url', 'url-without-tls', 'warning'],
  [{ site: { url: 'http://localhost:3000' } }, 'site.url', 'passed', 'passed'],
  [{ site: { defaultLocale: 'fr' } }, 'site.defaultLocale', 'locale'],
  [{ site: { defaultLocale: 'zh-TW' } }, 'site.defaultLocale', 'passed', 'passed'],
  [{ site: { defaultLocale: '' } }, 'site.defaultLocale', 'locale-default', 'warning'],
  [{ site: { timeZone: 'Mars/Olympus' } }, 'site.timeZone', 'time-zone'],
  [{ site: { timeZone: '' } }, 'site.timeZone', 'time-zone-default', 'warning'],
  [{ administrator: { username: '' } }, 'administrator.username', 'required'],
  [{ administrator: { username: 'a@b' } }, 'administrator.username', 'username'],
  [{ administrator: { username: 'аdmin' } }, 'administrator.username', 'username-mixed-script'],
  [{ administrator: { email: '' } }, 'administrator.email', 'email-missing', 'warning'],
  [{ administrator: { email: 'nobody' } }, 'administrator.email', 'email'],
  [{ administrator: { mobile: '12' } }, 'administrator.mobile', 'mobile'],
  [{ administrator: { mobile: '+999999999999999' } }, 'administrator.mobile', 'mobile'],
  [{ administrator: { mobile: '' } }, 'administrator.mobile', 'passed', 'passed'],
  [{ administrator: { password: '', confirmPassword: '' } }, 'administrator.password', 'required'],
  [{ administrator: { password: '12345', confirmPassword: '12345' } }, 'administrator.password', 'password-policy'],
  [{ administrator: { password: '123456', confirmPassword: '123456' } }, 'administrator.password', 'passed', 'passed'],
  [{ administrator: { confirmPassword: 'other' } }, 'administrator.confirmPassword', 'password-mismatch'],
  [
    { administrator: { passwordPolicy: 'medium', password: '123456', confirmPassword: '123456' } },
    'administrator.password',
    'password-policy',
  ],
  [
    { administrator: { passwordPolicy: 'low', password: '123456', confirmPassword: '123456' } },
    'administrator.password',
    'passed',
    'passed',
  ],
  [{ administrator: { passwordPolicy: 'strict' } }, 'administrator.passwordPolicy', 'password-policy-unknown'],
  [{ administrator: { passwordPolicy: 'custom' } }, 'administrator.passwordPolicy', 'password-policy-unknown'],
  [
    { administrator: { password: maskedValue, confirmPassword: maskedValue } },
    'administrator.password',
    'password-again',
  ],
  [{ database: { type: '' } }, 'database.type', 'required'],
  [{ database: { type: 'oracle' } }, 'database.type', 'database-type'],
  [{ database: { type: 'sqlite' } }, 'database.type', 'passed', 'passed'],
  [{ database: { database: '../../etc/passwd' } }, 'database.database', 'database-file'],
  [{ database: { database: 'a;INIT=RUNSCRIPT' } }, 'database.database', 'database-file'],
  [{ database: { ...server, type: 'mysql' } }, 'database.type', 'passed', 'passed'],
  [{ database: { ...server, host: '' } }, 'database.host', 'required'],
  [{ database: { ...server, port: 0 } }, 'database.port', 'out-of-range'],
  [{ database: { ...server, port: 70_000 } }, 'database.port', 'out-of-range'],
  [{ database: { ...server, port: null } }, 'database.port', 'passed', 'passed'],
  [{ database: { ...server, database: '' } }, 'database.database', 'required'],
  [{ database: { ...server, username: '' } }, 'database.username', 'required'],
  [{ database: { ...server, password: '' } }, 'database.password', 'password-empty', 'warning'],
  [{ database: { ...server, password: 'a\nB=c' } }, 'database.password', 'control-characters'],
  [{ database: { ...server, password: maskedValue } }, 'database.password', 'password-again'],
  ...[
    'a?x=y',
    'a;b',
    'a&b',
    'a/b',
    'a b',
    'a@b',
    'a#b',
    'user:word@host',
    'host:5432',
    '//evil',
    'a\u0000b',
    '127.1',
  ].map((host) => [{ database: { ...server, host } }, 'database.host', 'host'] as const),
  ...['a?x=y', 'a;b', 'a&b', 'a/b', 'a b', "a'b", 'a"b', 'a\\b', 'a\u0000b', '..', 'a%2fb'].map(
    (database) => [{ database: { ...server, database } }, 'database.database', 'database-name'] as const,
  ),
  ...['::1', '192.0.2.7', 'db', 'db.internal'].map(
    (host) => [{ database: { ...server, host } }, 'database.host', 'passed', 'passed'] as const,
  ),
  [{ cache: { enabled: true, host: '', port: 6379 } }, 'cache.host', 'required'],
  [{ cache: { enabled: true, host: 'a b', port: 6379 } }, 'cache.host', 'host'],
  [{ cache: { enabled: true, host: 'redis', port: 99_999 } }, 'cache.port', 'out-of-range'],
  [{ cache: { enabled: true, host: 'redis', database: -1 } }, 'cache.database', 'out-of-range'],
  [{ cache: { enabled: true, host: 'redis', password: '' } }, 'cache.password', 'password-empty', 'warning'],
  [{ storage: { publicDisk: '' } }, 'storage.publicDisk', 'disk-default', 'warning'],
  [{ storage: { publicDisk: 'A/B' } }, 'storage.publicDisk', 'disk-name'],
  [{ storage: { publicDisk: 'same', localDisk: 'same' } }, 'storage.localDisk', 'disk-shared'],
]

t.test('I-035 I-037 I-041 I-109 I-110 I-111 I-113 I-114 I-115 I-116 every field has its rule', async (t) => {
  const { install, form } = await start(t)
  for (const [change, field, finding, status = 'failed'] of findings) {
    const { data } = await install('config/validate', { body: changed(form, change) })
    const about = `${field} ${finding} ${JSON.stringify(change)}`
    const found = data.checks.filter((check: { field: string }) => check.field === field)
    assertMembers(t, found, [{ status, finding, message: /./ }], about)
    t.equal(data.passed, status !== 'failed', `I-041 ${about}`)
  }
  const off = changed(form, { cache: { enabled: false, host: 'a b', port: -1 } })
  const { data } = await install('config/validate', { body: off })
  t.notOk(
    data.checks.some(({ group }: { group: string }) => group === 'cache'),
    'I-114 Redis is not used',
  )
  t.match((await install('config/validate', { body: {} })).data, { passed: false })
  t.equal((await install('config/validate', { body: { database: { port: '5432' } } })).code, '400', 'types are types')
})

t.test('I-112 I-152 the password policy of the product applies', async (t) => {
  const cases = [
    ['medium', 'abcdefgh', false],
    ['medium', 'abcdefg1', true],
    ['high', 'abcdefghi1', false],
    ['high', 'Tr0ub4dor-xyz', true],
  ] as const
  for (const [policy, password, passes] of cases) {
    const { install, form } = await start(t, { config: { 'platform.iam.password.policy': policy } })
    const body = changed(form, { administrator: { password, confirmPassword: password } })
    t.equal((await install('config/validate', { body })).data.passed, passes, `${policy} ${password}`)
    const direct = await install('administrator', { body: { username: 'boss', password, confirmPassword: password } })
    t.match(direct.data, { ready: passes, created: passes }, `I-152 ${policy} ${password}`)
  }
  const custom = { 'platform.iam.password.policy': 'custom', 'platform.iam.password.pattern': '^x' }
  const { install, form } = await start(t, { config: custom })
  const body = changed(form, { administrator: { password: 'yyyyyyyyy', confirmPassword: 'yyyyyyyyy' } })
  t.match((await install('config/validate', { body })).data, { passed: false })
})

t.test('I-111 I-112 the form proposes the policy medium, unless the product has chosen one', async (t) => {
  const cases = [
    [{}, 'medium', ['low', 'medium', 'high']],
    [{ 'platform.iam.password.policy': 'low' }, 'low', ['low', 'medium', 'high']],
    [{ 'platform.iam.password.policy': 'high' }, 'high', ['low', 'medium', 'high']],
    [{ 'platform.iam.password.policy': 'custom' }, 'custom', ['low', 'medium', 'high', 'custom']],
  ] as const
  for (const [config, proposed, candidates] of cases) {
    const { look } = await start(t, { config })
    t.same((await look('config/defaults')).data.administrator, { passwordPolicy: proposed }, proposed)
    const { groups } = (await look('config/schema')).data
    const field = groups[1].fields.find(({ name }: { name: string }) => name === 'passwordPolicy')
    t.same(
      field.candidates.map(({ value }: { value: string }) => value),
      candidates,
    )
  }
  const { look } = await start(t, { config: { 'platform.iam.password.operator-min-length': 9 } })
  const labels = async (locale: string) => {
    const { groups } = (await look('config/schema', { headers: { 'accept-language': locale } })).data
    const field = groups[1].fields.find(({ name }: { name: string }) => name === 'passwordPolicy')
    return field.candidates.map(({ label }: { label: string }) => label)
  }
  t.same(await labels('en'), [
    'Low: at least 9 characters',
    'Medium: at least 9 characters; a letter and a digit',
    'High: at least 10 characters; three of these: small letters, capital letters, digits, other characters; not a common password or the user name',
  ])
  t.same((await labels('zh-CN')).slice(0, 2), ['低：至少 9 个字符', '中：至少 9 个字符；字母和数字'])
})

t.test('the schema names the source of each value that the installer cannot change', async (t) => {
  const fixedFields = async (environment: Readonly<Record<string, string>>) => {
    const { look } = await start(t, { environment })
    const { groups } = (await look('config/schema')).data
    return groups.flatMap(({ code, fields }: { code: string; fields: { name: string; fixed?: object }[] }) =>
      fields.flatMap(({ name, fixed }) => (fixed === undefined ? [] : [[`${code}.${name}`, fixed]])),
    )
  }
  const place = (name: string) => `environment variable ${name}`
  t.strictSame(await fixedFields({}), [])
  const names = { PLATFORM_CACHE_ENABLED: 'false', PLATFORM_SITE_NAME: 'Shop', PLATFORM_DATABASE_POOL_SIZE: '4' }
  const cache = ['cache.enabled', { place: place('PLATFORM_CACHE_ENABLED') }]
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const file = db.config['platform.database.sqlite.file']
  t.strictSame(await fixedFields({ ...names, PLATFORM_DATABASE_SQLITE_FILE: String(file) }), [
    [
      'database.database',
      { place: place('PLATFORM_DATABASE_SQLITE_FILE'), condition: { field: 'database.type', values: ['h2'] } },
    ],
    cache,
  ])
  t.strictSame(await fixedFields({ ...names, PLATFORM_DATABASE_TYPE: 'sqlite' }), [
    ['database.type', { place: place('PLATFORM_DATABASE_TYPE') }],
    cache,
  ])
})

t.test('I-028 the embedded database can be forbidden', async (t) => {
  const { install, form } = await start(t, { config: { 'platform.install.allow-lite': false } })
  const { data } = await install('config/validate', { body: form })
  t.hasStrict(
    data.checks.find(({ field }: { field: string }) => field === 'database.type'),
    { status: 'failed', finding: 'lite-not-allowed' },
  )
  t.hasStrict(
    (await install('preflight')).data.checks.find(({ code }: { code: string }) => code === 'lite-mode'),
    {
      status: 'warning',
      finding: 'refused',
    },
  )
})

t.test('I-036 I-038 the displayed connection is built from its parts', async (t) => {
  const parts = { type: 'postgresql', host: 'db', port: 5432, database: 'shop', username: 'shop' }
  t.equal(connectionUrl(parts), 'postgresql://shop@db:5432/shop')
  t.equal(connectionUrl({ ...parts, host: '2001:db8::7' }), 'postgresql://shop@[2001:db8::7]:5432/shop')
  t.equal(connectionUrl({ ...parts, username: 'a/b@c?', database: 'x&y' }), 'postgresql://a%2Fb%40c%3F@db:5432/x%26y')
  t.equal(connectionUrl({ ...parts, port: null, username: '' }), 'postgresql://db/shop')
})

t.test('I-043 I-045 I-046 I-047 I-048 the plan', async (t) => {
  const { install, form, root } = await start(t)
  const body = changed(form, {
    database: server,
    cache: { enabled: true, host: 'redis', port: null, database: 2, password: secrets.cache },
  })
  const { data } = await install('config/plan', { body })
  t.match(data, { authorized: true, passed: true, restartRequired: true })
  const rows = data.entries.map((entry: Record<string, unknown>) => {
    t.same(Object.keys(entry).sort(), ['environmentKey', 'maskedValue', 'note', 'propertyKey', 'sensitive', 'target'])
    return [entry['propertyKey'], entry['environmentKey'], entry['maskedValue'], entry['target']].join(' | ')
  })
  t.same(rows, [
    'platform.site.name |  | Acme | config',
    'platform.site.title |  | Acme shop | config',
    'platform.site.url |  | https://shop.example.com | config',
    'platform.i18n.default-locale | PLATFORM_I18N_DEFAULT_LOCALE | en | .env',
    'platform.site.time-zone |  | Asia/Shanghai | config',
    'platform.database.type | PLATFORM_DATABASE_TYPE | postgresql | .env',
    'platform.database.host | PLATFORM_DATABASE_HOST | db.example.com | .env',
    'platform.database.port | PLATFORM_DATABASE_PORT | 6000 | .env',
    'platform.database.name | PLATFORM_DATABASE_NAME | shop | .env',
    'platform.database.username | PLATFORM_DATABASE_USERNAME | shop | .env',
    'platform.database.password | PLATFORM_DATABASE_PASSWORD | ****** | .env',
    'platform.cache.enabled | PLATFORM_CACHE_ENABLED | true | .env',
    'platform.cache.host | PLATFORM_CACHE_HOST | redis | .env',
    'platform.cache.port | PLATFORM_CACHE_PORT | 6379 | .env',
    'platform.cache.database | PLATFORM_CACHE_DATABASE | 2 | .env',
    'platform.cache.password | PLATFORM_CACHE_PASSWORD | ****** | .env',
    'platform.storage.public-disk |  | public | runtime',
    'platform.storage.disks.public.enabled |  | true | runtime',
    'platform.storage.local-disk |  | local | runtime',
    'platform.storage.disks.local.enabled |  | true | runtime',
    'platform.iam.fresh-proof.enabled |  | true | config',
    'administrator.username |  | founder | runtime',
    'administrator.email |  | founder@example.com | runtime',
    'administrator.mobile |  | +8613800000000 | runtime',
    'administrator.password |  | ****** | runtime',
  ])
  const longer = changed(body as Form, { database: { password: `${secrets.database}-and-much-longer` } })
  const masks = async (response: unknown) =>
    (await install('config/plan', { body: response })).data.entries
      .filter(({ sensitive }: { sensitive: boolean }) => sensitive)
      .map(({ maskedValue: mask }: { maskedValue: string }) => mask)
  t.same(await masks(body), await masks(longer), 'I-047 one mask whatever the length')
  t.same(await masks(changed(body as Form, { database: { password: '' } })), await masks(body), 'and for none')
  t.notOk(existsSync(join(root, '.env')), 'I-048')
})

t.test('I-044 an invalid form has no plan entries', async (t) => {
  const { install, form } = await start(t)
  const { data } = await install('config/plan', { body: changed(form, { site: { name: '' } }) })
  t.match(data, { passed: false, restartRequired: false })
  t.same(data.entries, [])
})

t.test(
  'D21 E38 a value that a stronger source sets, or that the example file does not list, cannot be changed',
  async (t) => {
    const { install, form, root } = await start(t, { environment: { PLATFORM_CACHE_HOST: 'redis.internal' } })
    const cache = { enabled: true, host: 'redis.example.com', password: secrets.cache }
    const overridden = await install('config/plan', { body: changed(form, { cache }) })
    assertMembers(
      t,
      overridden.data.checks.filter(({ status }: { status: string }) => status === 'failed'),
      [{ field: 'cache.host', finding: 'overridden', message: /PLATFORM_CACHE_HOST/ }],
    )
    t.match(
      (await install('config/plan', { body: changed(form, { cache: { ...cache, host: 'redis.internal' } }) })).data,
      {
        passed: true,
        restartRequired: true,
      },
    )

    const example = join(root, '.env.example')
    writeFileSync(example, readFileSync(example, 'utf8').replace('# PLATFORM_DATABASE_PASSWORD=\n', ''))
    const unlisted = await install('config/plan', { body: changed(form, { database: server }) })
    assertMembers(
      t,
      unlisted.data.checks.filter(({ status }: { status: string }) => status === 'failed'),
      [{ field: 'database.password', finding: 'not-listed', message: /PLATFORM_DATABASE_PASSWORD/ }],
    )
    writeFileSync(example, readFileSync(example, 'utf8').replace('# PLATFORM_I18N_DEFAULT_LOCALE=\n', ''))
    const { data } = await install('config/plan', { body: changed(form, { site: { defaultLocale: 'zh-CN' } }) })
    t.match(data, { passed: true })
    t.match(
      data.entries.find(({ propertyKey }: { propertyKey: string }) => propertyKey === 'platform.i18n.default-locale'),
      { target: 'runtime', environmentKey: '', note: /Not written/ },
    )
  },
)

t.test('E40 the mask and an empty password mean the stored secret, but only for its own server', async (t) => {
  const config = {
    'platform.cache.host': 'redis.internal',
    'platform.cache.enabled': false,
    'platform.cache.password': secrets.cache,
  }
  const { install, form } = await start(t, { config })
  const failures = async (cache: object) =>
    (await install('config/plan', { body: changed(form, { cache: cache as never }) })).data.checks.filter(
      ({ status }: { status: string }) => status === 'failed',
    )
  const stolen = await failures({ enabled: true, host: 'evil.example', password: maskedValue })
  assertMembers(t, stolen, [{ field: 'cache.password', finding: 'password-again' }])
})
