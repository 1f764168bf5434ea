import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { assertMembers, programEnvironment, waitForProcessEnd, watchProcess } from '@plinth/dev/testing'
import { kernelVersion } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import { runProgram } from '../src/cli/program.ts'

const fixtures = join(import.meta.dirname, 'fixtures')
const shop = join(fixtures, 'shop.config.ts')
const stored = join(fixtures, 'stored.config.ts')
const password = 'Pass "word" 1'
const environment = { PLATFORM_SHOP_PASSWORD: password }

interface Surroundings {
  readonly directory?: string
  readonly environment?: Readonly<Record<string, string>>
}

/** Runs a command line in this process. */
async function plinth(words: readonly string[], surroundings: Surroundings = {}) {
  let stdout = ''
  let stderr = ''
  const code = await runProgram(words, {
    stdout: { write: (text) => (stdout += text) },
    stderr: { write: (text) => (stderr += text) },
    environment,
    directory: fixtures,
    ...surroundings,
  })
  return { code, stdout, stderr }
}
const onShop = (...words: string[]) => plinth(['--product', shop, ...words])
const product = (source: string) => ({
  'plinth.config.ts': `import { definePlugin, defineProduct, healthCheck } from '@plinth/kernel'\n${source}`,
})

/** Returns the single JSON document on standard output. */
async function responseOf(t: Test, words: readonly string[], surroundings?: Surroundings) {
  const { code, stdout } = await plinth([...words, '--json'], surroundings)
  try {
    return { code, answer: JSON.parse(stdout) }
  } catch {
    t.fail(`no single JSON document: ${stdout}`)
    return { code, answer: undefined }
  }
}

t.test('K-008 config list, get and explain show values, origins and rules, in text and in JSON', async (t) => {
  const list = await onShop('config', 'list', '--set', 'platform.log.level=warn')
  t.equal(list.code, 0)
  t.match(list.stdout, /^KEY +VALUE +FROM +PLUGIN\n/)
  t.match(list.stdout, /^platform\.log\.level +warn +--set platform\.log\.level +kernel$/m)
  t.match(list.stdout, /^platform\.shop\.greeting +Good morning +shop\.config\.ts:\d+ +shop\.till$/m)
  t.match(list.stdout, /^platform\.shop\.password +\*{6} +environment variable PLATFORM_SHOP_PASSWORD +shop\.till$/m)
  t.equal(list.stderr, '')

  const filtered = async (...words: string[]) => {
    const { answer } = await responseOf(t, ['--product', shop, 'config', 'list', ...words])
    return answer.map((entry: { key: string }) => entry.key)
  }
  t.strictSame(await filtered('--modified'), ['platform.shop.greeting', 'platform.shop.password'])
  t.strictSame(await filtered('--group', 'front'), ['platform.shop.greeting'])
  t.strictSame(await filtered('--plugin', 'shop.counter'), ['platform.shop.fault'])
  t.strictSame(await filtered('--plugin', 'shop.counter', '--modified'), [])

  t.strictSame(await onShop('config', 'get', 'platform.shop.greeting'), {
    code: 0,
    stdout: 'Good morning\n',
    stderr: '',
  })
  t.equal((await onShop('config', 'get', 'platform.shop.salute')).stdout, '(none)\n')
  t.strictSame(await responseOf(t, ['--product', shop, 'config', 'get', 'platform.shop.healthy']), {
    code: 0,
    answer: { key: 'platform.shop.healthy', source: 'default', place: 'default of shop.till', value: true },
  })
  const { stdout } = await onShop('config', 'explain', 'platform.shop.greeting', '--set', 'platform.shop.salute=Servus')
  t.match(stdout, 'platform.shop.greeting  (plugin shop.till, group front)')
  t.match(stdout, 'What every customer hears.')
  t.match(stdout, 'Variable:    PLATFORM_SHOP_GREETING')
  t.match(stdout, 'Takes effect: immediately')
  t.match(stdout, 'Value:       Servus  from --set platform.shop.salute')
  t.match(stdout, /default: Hello .*\n +file: Good morning .*\n +command-line: Servus/)
  const [, title, description, rule, variable] = stdout.split('\n')
  t.same([title, description], ['  Greeting', '  What every customer hears.'])
  t.match(rule, /^ {2}Rule: {8}\{.*"type":"string".*\}$/)
  t.match(variable, /^ {2}Variable: /)
  t.match(stdout, /\n {2}Sources, weakest first:\n {4}default: Hello {2}\(default of shop\.till\)\n/)
  t.match(
    (await onShop('config', 'explain', 'platform.shop.salute')).stdout,
    '  Deprecated since 1.1.0; use platform.shop.greeting\n',
  )
  t.match((await onShop('config', 'explain', 'platform.shop.password')).stdout, 'Takes effect: after a restart; secret')

  const misspelt = await onShop('config', 'get', 'platform.shop.greting')
  t.match(misspelt, { code: 1, stdout: '', stderr: 'Did you mean "platform.shop.greeting"?\nFix: Correct the name' })
  t.match(await responseOf(t, ['--product', shop, 'config', 'explain', 'platform.shop.greting']), {
    code: 1,
    answer: { error: { code: /^PLINTH_CONFIG_UNKNOWN_KEY$/, fix: /^Correct the name/ } },
  })
  const broken = await onShop('config', 'list', '--set', 'platform.shop.healthy=yes')
  t.match(
    broken,
    { code: 0, stderr: /^--set platform\.shop\.healthy: The value of "platform\.shop\.healthy" must/ },
    'faults do not hide the list',
  )
})

t.test(
  'K-008 K-009 config shows what the plugin that supplies values has stored, and reports if it cannot be read',
  async (t) => {
    const onStored = (...words: string[]) =>
      plinth(['--product', join(fixtures, 'stored.config.ts'), ...words], { environment: {} })
    const list = await onStored('config', 'list', '--plugin', 'desk')
    t.match(list, { code: 0, stderr: '' })
    t.match(list.stdout, /^platform\.desk\.colour +green +row 1 +desk$/m)
    t.match(list.stdout, /^platform\.desk\.pin +\*{6} +row 2 +desk$/m)
    t.match(list.stdout, /^platform\.desk\.height +70 +default +desk$/m, 'a row that breaks the rule does not count')
    const get = await onStored('config', 'get', 'platform.desk.colour', '--json')
    t.strictSame(JSON.parse(get.stdout), {
      key: 'platform.desk.colour',
      source: 'database',
      place: 'row 1',
      value: 'green',
    })
    const { stdout } = await onStored('config', 'explain', 'platform.desk.colour', '--set', 'platform.desk.colour=red')
    t.match(stdout, 'Value:       red  from --set platform.desk.colour')
    t.match(stdout, /default: brown .*\n +database: green {2}\(row 1\)\n +command-line: red/)

    const environment = { PLATFORM_DESK_COLOUR: 'blue', PLATFORM_DESK_PIN: 'planted-pin', PLATFORM_DESK_HEIGHT: '80' }
    const overridden = ['doctor', '--json', '--product', stored]
    const { findings } = JSON.parse((await plinth(overridden, { environment })).stdout)
    t.strictSame(
      findings
        .filter(({ code }: { code: string }) => code === 'PLINTH_CONFIG_OVERRIDDEN')
        .map(({ check, outcome, detail }: Record<string, string>) => [check, outcome, detail]),
      [
        ['colour', 'COLOUR', 'row 1'],
        ['pin', 'PIN', 'row 2'],
      ].map(([name, variable, row]) => [
        `environment variable PLATFORM_DESK_${variable}`,
        'warning',
        `environment variable PLATFORM_DESK_${variable} has no effect: the ${row} overrides it. ` +
          `Remove the variable. To use it instead, remove the stored value: \`plinth config reset platform.desk.${name}\`.`,
      ]),
      'a row that breaks the rule overrides nothing',
    )
    const reported = await plinth(['config', 'get', 'platform.desk.colour', '--product', stored], { environment })
    t.match(reported, {
      code: 0,
      stdout: 'green\n',
      stderr: /PLATFORM_DESK_COLOUR has no effect: the row 1 overrides it/,
    })

    const withFault = (problem: string) =>
      onStored('config', 'get', 'platform.desk.colour', '--set', `platform.centre.fault=${problem}`)
    t.match(await withFault('setup'), {
      code: 0,
      stdout: 'brown\n',
      stderr: /^Stored values could not be read, so they are missing here\. .*"centre" .*no database with \*{6}/,
    })
    t.match(await withFault('stop'), {
      code: 0,
      stdout: 'green\n',
      stderr: /centre in stop: the database of \*{6} hangs/,
    })
    t.match(
      await withFault('tired'),
      { code: 0, stdout: 'brown\n', stderr: /^--set platform\.centre\.fault: The value of/ },
      'a product with problems is not set up',
    )
  },
)

t.test(
  'K-008 --set reads a value from a file or from standard input, and warns about a secret that is visible to everybody',
  async (t) => {
    const key = 'platform.shop.password'
    const open = await onShop('config', 'get', key, '--set', `${key}=hunter2 and more`)
    t.match(open, { code: 0, stderr: `--set ${key}: the list of processes shows this secret`, stdout: /^\S+\n$/ })
    t.notMatch(open.stdout + open.stderr, /hunter2/)
    t.notMatch((await onShop('config', 'list', '--set', 'platform.log.level=warn')).stderr, 'list of processes')

    const directory = t.testdir({
      secret: 'hunter2 of a file\n',
      windows: 'two\nlines\r\n',
      huge: 'x'.repeat(1024 * 1024 + 1),
      folder: {},
    })
    const value = async (given: string, name = 'platform.shop.greeting') => {
      const words = ['--product', shop, 'config', 'get', name, '--set', `${name}=${given}`]
      const { code, stdout, stderr } = await plinth(words, { directory })
      return code === 0 ? stdout.slice(0, -1) : stderr
    }
    const fromFile = await plinth(['--product', shop, 'config', 'get', key, '--set', `${key}=@secret`], { directory })
    t.match(fromFile, { code: 0, stderr: /^$/ }, 'nothing to warn of')
    t.notMatch(fromFile.stdout, /hunter2/)
    t.equal(await value('@secret'), 'hunter2 of a file')
    t.equal(await value('@windows'), 'two\nlines')
    t.equal(await value('@@secret'), '@secret', 'a value that begins so itself')
    t.equal(await value('a@b'), 'a@b')
    if (process.platform !== 'win32') execFileSync('mkfifo', [join(directory, 'pipe')])
    for (const [given, said] of [
      ['@none', /PLINTH_CLI_USAGE: .*The file for "platform\.shop\.greeting" cannot be read \(ENOENT\): \/.*none\./],
      ['@folder', /is none: /],
      ['@', /is none: /],
      ['@huge', /has more than 1048576 bytes/],
      ...(process.platform === 'win32' ? [] : [['@pipe', /is none: /] as const]),
    ] as const) {
      t.match(await value(given), said, given)
    }

    const main = join(import.meta.dirname, '..', 'src', 'cli', 'main.ts')
    const reading = (...words: string[]) => {
      const given = {
        env: programEnvironment(environment),
        encoding: 'utf8',
        input: 'of the input\n',
        timeout: 300_000,
      } as const
      return spawnSync(process.execPath, [main, '--product', shop, ...words], given)
    }
    t.match(reading('config', 'get', 'platform.shop.greeting', '--set', 'platform.shop.greeting=-'), {
      status: 0,
      stdout: 'of the input\n',
    })
    const both = reading('config', 'list', '--set', 'platform.shop.greeting=-', '--set', `${key}=-`)
    t.match(both, { status: 2, stderr: /"platform\.shop\.greeting" reads standard input already/ })
  },
)

t.test('K-008 --settings-file is looked up from the directory of the program, and must exist', async (t) => {
  const directory = t.testdir({ 'staging.env': 'PLATFORM_SHOP_GREETING=from staging' })
  const get = (file: string) =>
    plinth(['--product', shop, 'config', 'get', 'platform.shop.greeting', '--settings-file', file, '--json'], {
      directory,
    })
  t.match(JSON.parse((await get('staging.env')).stdout), { value: 'from staging', place: 'staging.env:1' })
  t.match((await get('nowhere.env')).stderr, 'nowhere.env: The configuration source cannot be read: ENOENT.')
})

t.test('C-002 plugins list, graph and why show which plugins are loaded and why', async (t) => {
  const list = await onShop('plugins', 'list')
  t.equal(list.code, 0)
  t.strictSame(
    list.stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/)),
    [
      ['PLUGIN', 'VERSION', 'STATE', 'KERNEL SERVICES', 'PROVIDES'],
      ['shop.till', '1.2.0', 'loads', 'till'],
      ['shop.counter', '1.0.0', 'loads'],
      ['shop.shelf', '1.0.0', 'loads'],
      ['shop.night', '1.0.0', 'loads'],
    ],
  )
  const { answer } = await responseOf(t, ['--product', shop, 'plugins', 'list', '--role', 'cli'])
  assertMembers(t, answer, [
    { id: 'shop.till', state: 'loads', provides: ['till'] },
    { id: 'shop.shelf', state: 'loads' },
    { id: 'shop.counter', state: 'only in role web, worker' },
    { id: 'shop.night', state: 'only in role worker' },
  ])
  const graph = await responseOf(t, ['--product', shop, 'plugins', 'graph', '--role', 'web'])
  t.strictSame(graph.answer, {
    order: ['shop.till', 'shop.counter', 'shop.shelf'],
    edges: [
      { plugin: 'shop.counter', on: 'shop.till', via: 'requires', ref: 'till' },
      { plugin: 'shop.shelf', on: 'shop.till', via: 'requires', ref: 'till' },
    ],
  })
  t.match((await onShop('plugins', 'graph')).stdout, 'shop.counter\n  <- shop.till  (requires till)\n')

  const why = async (name: string, ...words: string[]) => {
    const { answer, code } = await responseOf(t, ['--product', shop, 'plugins', 'why', name, ...words])
    t.equal(code, 0, name)
    t.equal(answer.name, name)
    return [answer.kind, ...answer.lines]
  }
  t.strictSame(await why('shop.till', '--role', 'cli'), [
    'plugin',
    'shop.till 1.2.0 loads.',
    'needed by shop.shelf (requires till)',
    'without it, shop.shelf is refused: Requires service "till", which no loaded plugin provides.',
  ])
  t.strictSame(await why('shop.night', '--role', 'web'), [
    'plugin',
    'shop.night loads in other roles only.',
    'The product would start without it.',
  ])
  t.strictSame(await why('till'), [
    'service',
    'provided by shop.till',
    'used by shop.counter (requires)',
    'used by shop.shelf (requires)',
  ])
  t.strictSame(await why('kernel.health-check'), ['extension point', 'owned by kernel', 'contributed to by shop.till'])
  t.strictSame(await why('platform.shop.fault'), ['key', 'owned by shop.counter', 'value from default of shop.counter'])
  const admin = await responseOf(t, ['--product', stored, 'plugins', 'why', 'kernel.config-admin'])
  t.strictSame(admin.answer.lines, ['provided by kernel', 'used by centre (requires)'])
  const asking = await responseOf(t, ['--product', stored, 'plugins', 'list'])
  assertMembers(t, asking.answer, [
    { id: 'centre', kernel: ['kernel.config-admin'] },
    { id: 'desk', kernel: [] },
  ])
  t.match(await onShop('plugins', 'why', 'shop.tll'), { code: 2, stderr: 'Did you mean "shop.till"?' })
})

t.test('plugins remove lists the data of a plugin, deletes it, and prints the next step', async (t) => {
  const directory = t.testdir(
    product(`import { pluginData } from '@plinth/kernel/host'
const plugin = (id: string, members: object = {}) => definePlugin({ id, version: '1.0.0', kernel: '^1.0.0', ...members })
let tables = [{ kind: 'table', name: 'lamp', rows: 3 }]
const store = plugin('store', {
  contributes: [pluginData],
  setup: ({ contribute }) => contribute(pluginData, 'store', {
    find: ({ id }) => (id === 'lamp' ? [...tables, { kind: 'events', name: 'lamp.lit', rows: 1, isKept: true }] : []),
    remove: () => void (tables = []),
  }),
})
export default defineProduct({ name: 'x', plugins: [store, plugin('lamp'), plugin('bulb')] })`),
  )
  const remove = (...words: string[]) => plinth(['plugins', 'remove', ...words], { directory, environment: {} })
  const undone = (id: string) =>
    'Nothing was deleted. To delete, stop all instances, make a backup, and run ' +
    `"plinth plugins remove ${id} --yes".\n`
  t.strictSame(await remove('bulb', '--dry-run'), {
    code: 0,
    stdout: `"bulb" has no stored data.\n${undone('bulb')}`,
    stderr: '',
  })
  for (const flags of [[], ['--dry-run', '--yes']]) {
    t.match(await remove('lamp', ...flags), {
      code: 2,
      stderr: 'Add --dry-run to list what would be deleted, or --yes to delete it. Stop all instances first.',
    })
  }
  const listed = (action: string) =>
    [
      ['KIND', 'NAME', 'ROWS', 'ACTION'],
      ['table', 'lamp', '3', action],
      ['events', 'lamp.lit', '1', 'kept'],
    ].map((cells) => cells.join('|'))
  const shown = (stdout: string) => stdout.split('\n\n').map((part) => part.trimEnd().replaceAll(/ {2,}/g, '|'))
  const dry = shown((await remove('lamp', '--dry-run')).stdout)
  t.strictSame(dry, [listed('would be deleted').join('\n'), undone('lamp').trimEnd()])
  t.strictSame(shown((await remove('lamp', '--yes')).stdout), [
    listed('deleted').join('\n'),
    'Now remove "lamp" from the product file, uninstall its package, and run "plinth plugins lock".',
  ])
  t.notMatch((await remove('lamp', '--dry-run')).stdout, /^table /m, 'the data is deleted')
})

t.test('doctor shows each warning of a health check and does not fail because of it', async (t) => {
  const warned = t.testdir(
    product(`const lamp = definePlugin({
  id: 'lamp', version: '1.0.0', kernel: '^1.0.0', contributes: [healthCheck],
  setup({ contribute }) { contribute(healthCheck, 'lamp', () => ({ warnings: ['Little oil. Fill it.', 'A hot wick. Trim it.'] })) },
})
export default defineProduct({ name: 'x', plugins: [lamp] })`),
  )
  const passed = await responseOf(t, ['--product', join(warned, 'plinth.config.ts'), 'doctor'])
  t.equal(passed.code, 0, 'warnings do not fail it')
  assertMembers(
    t,
    passed.answer.findings.filter(({ check }: { check: string }) => check === 'health of lamp'),
    [
      { outcome: 'warning', detail: 'Little oil. Fill it.' },
      { outcome: 'warning', detail: 'A hot wick. Trim it.' },
    ],
  )
})

t.test(
  'the compile cache is in the nearest node_modules at or above the product that other users cannot write',
  async (t) => {
    const root = t.testdir({ node_modules: {}, workspace: { node_modules: {}, shop: {} }, elsewhere: {} })
    chmodSync(join(root, 'workspace/node_modules'), 0o777)
    const module = pathToFileURL(join(import.meta.dirname, '../bin/compile-cache.js')).href
    const program = `const { enableCompileCache } = await import('${module}')
    enableCompileCache(process.argv.slice(1), process.cwd())
    console.log((await import('node:module')).getCompileCacheDir() ?? 'none')`
    const environment = { ...programEnvironment({ NODE_OPTIONS: '' }), NODE_COMPILE_CACHE: undefined }
    const cacheOf = (directory: string, ...words: string[]) => {
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program, '--', ...words], {
        cwd: join(root, directory),
        env: environment,
        encoding: 'utf8',
      })
      return relative(root, stdout.trim()).replace(/\/v24[^/]*$/, '')
    }
    const shared = 'node_modules/.cache/plinth'
    const open = cacheOf('workspace/shop', 'start')
    chmodSync(join(root, 'workspace/node_modules'), 0o755)
    t.strictSame(
      [
        open,
        cacheOf('workspace/shop', 'start'),
        cacheOf('elsewhere'),
        cacheOf('elsewhere', '--product', '../workspace/shop/x.ts'),
      ],
      [shared, `workspace/${shared}`, shared, `workspace/${shared}`],
    )
    t.equal(cacheOf('elsewhere', 'start', '--product=../workspace/shop/x.ts'), `workspace/${shared}`)
  },
)

t.test('K-009 K-018 doctor checks plan, values and health without serving, and shows no secret', async (t) => {
  assertMembers(t, await responseOf(t, ['--product', shop, 'doctor', '--set', 'platform.shop.salute=Servus']), {
    code: 0,
    answer: {
      healthy: true,
      findings: [
        { check: 'Node.js', outcome: /^ok$/, detail: `${process.versions.node}, needs >=24.7` },
        { check: 'compile cache', outcome: /^ok$/ },
        { check: 'plan', outcome: /^ok$/, detail: /^4 plugins, \d+ keys$/ },
        {
          check: '--set platform.shop.salute',
          outcome: /^warning$/,
          detail: /deprecated since 1.1.0. Use platform.shop.greeting./,
        },
        { check: 'health of till', outcome: /^ok$/ },
        { check: 'stop', outcome: /^ok$/ },
      ],
    },
  })
  const sick = await onShop('doctor', '--set', 'platform.shop.healthy=false')
  t.match(sick, { code: 1, stdout: /^failed +health of till +the till refuses \*{6}$/m })
  const counted = await onShop('doctor', '--data')
  t.match(counted, { code: 0, stdout: /^ok +data of till/m, stderr: /^till: counted with \*{6}$/m })
  const wrong = await onShop('doctor', '--data', '--set', 'platform.shop.healthy=false')
  t.match(wrong, { code: 1, stdout: /^failed +data of till +the sum is \*{6}$/m })
  t.match(sick.stdout, /^setup \d+ ms\n(├── \S+ \d+ ms\n)+└── \S+ \d+ ms$/m, 'how long each plugin took')
  const rejected = await plinth(['--product', shop, 'doctor'], { environment: {} })
  t.match(rejected, {
    code: 1,
    stdout: /^failed +platform\.shop\.password +PLINTH_CONFIG_REQUIRED in plugin "shop\.till"/m,
  })
  const directory = t.testdir(
    product(`const failing = definePlugin({ id: 'failing', version: '1.0.0', kernel: '^1.0.0', setup() { throw new Error('no paper') } })
export default defineProduct({ name: 'x', plugins: [failing] })`),
  )
  t.match(await plinth(['doctor'], { directory, environment: {} }), {
    code: 1,
    stdout: /^failed +set-up +Plugin "failing" failed in setup: no paper\. Correct the cause/m,
  })
  const misread = t.testdir({
    ...product("export default defineProduct({ name: 'bare', plugins: [] })"),
    '.env': 'A=1\nPLATFORM_LOG_LEVEL: debug\n',
  })
  t.match(await plinth(['doctor'], { directory: misread, environment: {} }), {
    code: 1,
    stdout: /^failed +\.env:2 .*PLINTH_CONFIG_SOURCE at \.env:2\n.*a colon follows the name/ms,
  })
  t.match(await plinth(['start', '--no-supervisor'], { directory: misread, environment: {} }), {
    code: 3,
    stderr: /PLINTH_CONFIG_SOURCE at \.env:2/,
  })
})

t.test('C-002 K-009 commands of plugins run with their own arguments, options, groups and exit codes', async (t) => {
  t.strictSame(await onShop('greet', 'Ada', '--loud'), {
    code: 0,
    stdout: 'HELLO ADA\n',
    stderr: `with ${password.length} characters\n`,
  })
  assertMembers(t, await responseOf(t, ['--product', shop, 'greet', 'Ada']), {
    code: 0,
    answer: { answer: 'Hello Ada', roles: ['cli'], plugin: 'shop.shelf' },
  })
  t.equal((await onShop('orders', 'count')).code, 7)
  t.match((await onShop('--help')).stdout, /greet \[options\] <who> +greet somebody/)
  t.match((await onShop('orders', '--help')).stdout, /count +count the orders/)
  t.match(await onShop('greet'), {
    code: 2,
    stderr: "missing required argument 'who'\nFix: Run `plinth greet --help`.",
  })
  t.match(await onShop('greet', 'Ada', '--lowd'), {
    code: 2,
    stderr: /unknown option '--lowd'\n\(Did you mean --loud\?\)/,
  })
  t.match(await onShop('patrol'), { code: 2, stderr: 'Plugin "shop.night" does not load in the role cli.' })

  const defect = await onShop('orders', 'fail')
  t.match(defect, {
    code: 1,
    stdout: '',
    stderr: /^PLINTH_UNEXPECTED: no database with \*{6}\nFix: .*\nError: no data[\s\S]* at /,
  })
  const rejection = await onShop('orders', 'fail', '--business')
  t.match(rejection, { code: 1, stdout: '', stderr: /^PLINTH_COMMAND_REFUSED: no order of \*{6}\nFix: .*\n$/ })
  t.notMatch(defect.stderr + rejection.stderr, 'Pass')
  t.match(await responseOf(t, ['--product', shop, 'orders', 'fail']), {
    code: 1,
    answer: { error: { code: /^PLINTH_UNEXPECTED$/, message: 'no database with ******', fix: /.+/ } },
  })
  t.match(await responseOf(t, ['--product', shop, 'orders', 'fail', '--business']), {
    code: 1,
    answer: { error: { code: /^PLINTH_COMMAND_REFUSED$/, message: 'no order of ******', reason: /^shop\.no-order$/ } },
  })
  t.match(await plinth(['--product', shop, 'greet', 'Ada'], { environment: {} }), {
    code: 3,
    stderr: /PLINTH_START_REFUSED: .*1 problem[\s\S]*platform\.shop\.password/,
  })
})

t.test('C-002 a command name that is taken is a problem of the plan, not a crash', async (t) => {
  t.match(await responseOf(t, ['--product', shop, 'orders', 'fail', '--denied']), {
    code: 3,
    answer: { error: { code: /^PLINTH_FILE_ACCESS$/, message: '/var/lib/shop/.env', stack: undefined } },
  })
  const command = (id: string, name: string) =>
    `definePlugin({ id: '${id}', version: '1.0.0', kernel: '^1.0.0', commands: [{ name: '${name}', summary: 'x', run() {} }] })`
  const listOf = (...plugins: string[]) => product(`export default defineProduct({ name: 'x', plugins: [${plugins}] })`)
  const taken = [
    ...['start', 'doctor', 'help', 'config', 'config list', 'plugins', 'plugins why'].map((name) => [name, 'kernel']),
    ['greet', 'a'],
  ] as [name: string, owner: string][]
  const directory = t.testdir({
    ...Object.fromEntries(
      taken.map(([name, owner]) => [name, listOf(command('a', owner === 'a' ? name : 'other'), command('b', name))]),
    ),
    sound: listOf(command('a', 'config mend')),
    twice: listOf(command('a', 'greet'), command('a', 'greet'), 'undefined as never'),
    malformed: listOf(command('a', 'x').replace('summary', "options: [{ flags: '--', description: 'x' }], summary")),
  })
  const inside = (name: string) => ({ directory: join(directory, name), environment: {} })
  for (const [name, owner] of taken) {
    const { code, answer } = await responseOf(t, ['start'], inside(name))
    t.equal(code, 3, name)
    assertMembers(t, answer.error.problems, [
      {
        code: /^PLINTH_PLAN_DUPLICATE_DECLARATION$/,
        plugin: 'b',
        message: `The command "${name}" is also declared by "${owner}".`,
      },
    ])
    t.equal((await plinth(['plugins', 'list'], inside(name))).code, 0, 'what only looks still works')
  }
  t.equal((await plinth(['config', 'mend'], inside('sound'))).code, 0, 'a group of the kernel takes in more')
  t.match(await plinth(['greet'], inside('twice')), { code: 3, stderr: 'PLINTH_PLAN_DUPLICATE_PLUGIN' })
  t.match(await plinth(['x'], inside('malformed')), { code: 1, stderr: 'PLINTH_UNEXPECTED' })
})

t.test('C-002 every error in the command line comes with a fix', async (t) => {
  const empty = t.testdir({})
  const cases: [words: string[], code: number, error: string, message: RegExp, surroundings?: Surroundings][] = [
    [['--product', shop, 'strat'], 2, 'PLINTH_CLI_USAGE', /unknown command 'strat'\n\(Did you mean start\?\)/],
    [['--product', shop, 'config', 'lst'], 2, 'PLINTH_CLI_USAGE', /unknown command 'lst'/],
    [['--product', shop, 'config', 'get'], 2, 'PLINTH_CLI_USAGE', /missing required argument 'key'/],
    [['--product', shop, 'config', 'list', '--modifed'], 2, 'PLINTH_CLI_USAGE', /Did you mean --modified\?/],
    [['--product', shop, 'start', '--set', 'platform.log.level'], 2, 'PLINTH_CLI_USAGE', /Write it as key=value/],
    [['--product', shop, 'start', '--role', 'cli'], 2, 'PLINTH_CLI_USAGE', /"cli" is not one of web, worker/],
    [['--product', shop, 'plugins', 'list', '--role', 'boss'], 2, 'PLINTH_CLI_USAGE', /not one of web, worker, cli/],
    [['start'], 3, 'PLINTH_PRODUCT_NOT_FOUND', /No product file at .*plinth\.config\.ts/, { directory: empty }],
    [['greet'], 2, 'PLINTH_PRODUCT_NOT_FOUND', /No product file/, { directory: empty }],
    [['--product=nowhere.ts', 'doctor'], 3, 'PLINTH_PRODUCT_NOT_FOUND', /nowhere\.ts/],
    [['--product', join(fixtures, '..', 'sample-plugin.ts'), 'start'], 3, 'PLINTH_PRODUCT_INVALID', /is not a product/],
    [['--product', fixtures, 'start'], 3, 'PLINTH_PRODUCT_INVALID', /it is a directory/],
  ]
  for (const [words, code, error, message, surroundings] of cases) {
    const name = words.filter((word) => word !== shop).join(' ')
    const said = await plinth(words, surroundings)
    t.equal(said.code, code, name)
    t.equal(said.stdout, '')
    t.match(said.stderr, message)
    t.match(said.stderr, new RegExp(`^${error}: [\\s\\S]*\\nFix: .+`))
    const { code: codeOfJson, answer } = await responseOf(t, words, surroundings)
    t.equal(codeOfJson, code)
    t.match(answer, { error: { code: error, message, fix: /.{10}/ } })
    t.equal((await plinth([...words, '--json'], surroundings)).stderr, '', 'nothing beside the document')
  }
  const broken = t.testdir({ 'plinth.config.js': "import 'no-such-package'" })
  t.match(await plinth(['start'], { directory: broken }), {
    code: 3,
    stderr:
      /^PLINTH_PRODUCT_IMPORT: The product file .*no-such-package.*\nFix: Correct .*plinth\.config\.js, or install the packages that it imports/,
  })

  t.match(await plinth([]), { code: 2, stderr: /^Usage: plinth/ })
  t.match(await responseOf(t, []), { code: 2, answer: { error: { message: 'No command was named.' } } })
  t.match(await plinth(['--help']), { code: 0, stdout: /^Usage: plinth/ })
  t.match(await plinth(['config', '--help']), { code: 0, stdout: /explain <key>/ })
  t.strictSame(await plinth(['--version']), { code: 0, stdout: `${kernelVersion}\n`, stderr: '' })
})

/** Runs `plinth` in a child process. */
function spawned(words: readonly string[], settings: Readonly<Record<string, string>> = {}, file = shop) {
  const set = Object.entries({ 'platform.log.format': 'json', ...settings }).flatMap(([key, value]) => [
    '--set',
    `${key}=${value}`,
  ])
  const main = join(import.meta.dirname, '..', 'src', 'cli', 'main.ts')
  const child: ChildProcess = spawn(process.execPath, [main, '--product', file, ...words, ...set], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: programEnvironment(environment),
  })
  let stdout = ''
  child.stdout?.on('data', (text: string) => {
    stdout += text
  })
  const watched = watchProcess(t, child)
  const { output } = watched
  const ended = async () => {
    const [code, signal] = await watched.ended()
    return { code, signal, output: output(), stdout }
  }
  const said = (text: string) => watched.until(() => output().includes(text), text)
  return { child, ended, said }
}

t.test('K-018 start runs until SIGTERM, drains, stops in reverse and leaves no handle', async (t) => {
  const { child, ended, said } = spawned(['start'], { 'platform.shop.loud': 'true' })
  await said('"started"')
  child.kill('SIGTERM')
  const { code, signal, output } = await ended()
  t.strictSame([code, signal], [0, null])
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).msg)
  t.strictSame(lines, [
    'there is no settings file',
    'counter is being set up',
    'counter open',
    'started',
    'stopping',
    'shelf closed',
    'counter closed',
  ])
  t.match(output, /"reason":"SIGTERM received","msg":"stopping"/)
})

t.test('the log is JSON or readable lines, as configured', async (t) => {
  for (const [format, line] of [
    ['json', /^\{.*"msg":"started".*\}$/m],
    ['pretty', /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO.*: started \{"product":.*\}$/m],
  ] as const) {
    const { child, ended, said } = spawned(['start'], { 'platform.log.format': format })
    await said('started')
    child.kill('SIGTERM')
    // Without terminal colours.
    t.match(stripVTControlCharacters((await ended()).output), line, format)
  }
})

t.test('a logged text cannot control the terminal, in either format', async (t) => {
  const source = `const talker = definePlugin({ id: 'talker', version: '1.0.0', kernel: '^1.0.0',
    setup({ log }) { log.warn('a\\u009b31m \\u202e') } })
    export default defineProduct({ name: 'talk', plugins: [talker] })`
  const file = join(t.testdir(product(source)), 'plinth.config.ts')
  for (const format of ['json', 'pretty']) {
    const { child, ended, said } = spawned(['start', '--role', 'worker'], { 'platform.log.format': format }, file)
    await said('started')
    child.kill('SIGTERM')
    const { output } = await ended()
    t.match(output, /a\\u009b31m \\u202e/, format)
    t.notMatch(output, /[\u0080-\u009f\u202e]/, format)
  }
})

t.test('K-018 K-019 a product without open resources runs until it is stopped', async (t) => {
  const directory = t.testdir(product("export default defineProduct({ name: 'idle', plugins: [] })"))
  const { child, ended, said } = spawned(['start', '--role', 'worker'], {}, join(directory, 'plinth.config.ts'))
  await said('"started"')
  child.kill('SIGINT')
  t.match(await ended(), { code: 0, output: /"SIGINT received"/ })
})

t.test('K-018 a second signal ends a stop that hangs', async (t) => {
  const { child, ended, said } = spawned(['start'], { 'platform.shop.fault': 'deaf' })
  await said('"started"')
  child.kill('SIGTERM')
  await said('"stopping"')
  child.kill('SIGTERM')
  t.match(await ended(), { code: 130, signal: null })
})

t.test('K-018 a signal during the start undoes it', async (t) => {
  const { child, ended, said } = spawned(['start'], { 'platform.shop.fault': 'slow' })
  await said('counter is being set up')
  child.kill('SIGTERM')
  const { code, output } = await ended()
  t.equal(code, 0)
  t.match(output, 'The start was cancelled: SIGTERM received.')
  t.match(output, 'counter closed')
  t.notMatch(output, '"started"')
})

t.test('K-018 the command line of a product runs another of its commands', async (t) => {
  const directory = t.testdir(
    product(`import { kernel } from '@plinth/kernel'
const lamp = definePlugin({
  id: 'lamp', version: '1.0.0', kernel: '^1.0.0', requires: { kernel },
  commands: [{ name: 'shine', summary: 'shine', run: ({ services }, { output }) => output.result({ line: services.kernel.commandLine ?? null }, '') }],
})
export default defineProduct({ name: 'x', plugins: [lamp] })`),
  )
  const file = join(directory, 'plinth.config.ts')
  const lineOf = async (...words: string[]) => (await responseOf(t, ['shine', ...words], { directory })).answer.line
  const found: readonly string[] = await lineOf('--set', 'platform.log.level=warn')
  t.strictSame(found.slice(-4), ['--set', 'platform.log.level=warn', '--product', file])
  const [program = '', ...words] = found
  const { code, stdout } = await waitForProcessEnd(
    spawn(program, [...words, 'config', 'get', 'platform.log.level', '--json'], { env: programEnvironment() }),
  )
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { value: /^warn$/ })
  t.strictSame((await lineOf('--product', file)).slice(-2), ['--product', file], 'the option is not repeated')
})

t.test('K-018 a signal during the start for a command undoes it and exits with 130', async (t) => {
  const directory = t.testdir({
    ...product(`const lamp = definePlugin({
  id: 'lamp', version: '1.0.0', kernel: '^1.0.0', commands: [{ name: 'shine', summary: 'shine', run: ({ log }) => log.warn('it shines') }],
  async setup({ clock, log, signal }) {
    log.warn('the lamp warms up')
    await clock.sleep(60_000, signal)
  },
})
export default defineProduct({ name: 'x', plugins: [lamp] })`),
    'plinth.lock.json': '{ "lockVersion": 1, "plugins": {} }',
  })
  const commands = ['shine', 'plugins lock', 'plugins diff', 'plugins remove lamp --yes', 'upgrade --dry-run']
  for (const command of commands) {
    const { child, ended, said } = spawned(command.split(' '), {}, join(directory, 'plinth.config.ts'))
    await said('the lamp warms up')
    child.kill('SIGTERM')
    const { code, output, stdout } = await ended()
    t.equal(code, 130, command)
    t.match(output, 'PLINTH_START_CANCELLED: The start was cancelled: SIGTERM received.')
    t.equal(stdout, '', 'the command does nothing')
    t.notMatch(output, 'it shines')
  }
  const { child, ended, said } = spawned(['doctor', '--json'], {}, join(directory, 'plinth.config.ts'))
  await said('the lamp warms up')
  child.kill('SIGTERM')
  const { code, stdout } = await ended()
  t.equal(code, 130)
  const { healthy, findings } = JSON.parse(stdout)
  t.notOk(healthy)
  assertMembers(t, findings.slice(-1), [{ check: 'set-up', outcome: 'failed', code: 'PLINTH_START_CANCELLED' }])
})

t.test(
  'K-009 K-018 a failed start or stop exits with 1 and names the plugin, and the process ends by itself',
  async (t) => {
    const failing = spawned(['start'], { 'platform.shop.fault': 'setup' })
    const hanging = spawned(['start'], { 'platform.shop.fault': 'hang', 'platform.kernel.setup-deadline': '1s' })
    const stuck = spawned(['start'], { 'platform.shop.fault': 'stop' })
    const leaking = spawned(['start'], { 'platform.shop.fault': 'leak' })
    await Promise.all([stuck, leaking].map(({ said }) => said('"started"')))
    stuck.child.kill('SIGTERM')
    leaking.child.kill('SIGTERM')
    const failed = 'PLINTH_START_FAILED: Plugin "shop.counter" failed in setup: no counter for ******.\nFix: '
    t.match(await failing.ended(), { code: 1, signal: null, output: failed })
    t.match((await failing.ended()).output, 'counter closed')
    const late = 'PLINTH_DEADLINE_PASSED: Plugin "shop.counter" did not finish setup within 1000 ms.\nFix: '
    t.match(await hanging.ended(), { code: 1, signal: null, output: late })
    t.match(await stuck.ended(), { code: 1, output: 'shop.counter in stop: the door is stuck, says ******' })
    t.match((await stuck.ended()).output, 'counter closed')
    t.match(await leaking.ended(), { code: 0, output: 'Ended although something is still open: Timeout (3 times).' })
    t.match(
      (await leaking.ended()).output,
      /Plugin "shop\.counter" opened a Timeout at .*shop\.config\.ts:\d+:\d+ and did not close it \(3 times\)\./,
    )
    for (const { ended } of [failing, hanging, stuck, leaking]) t.notMatch((await ended()).output, 'Pass')
  },
)

t.test('K-009 no log line of a running product shows a secret, however it is written', async (t) => {
  const { child, ended, said } = spawned(['start'], { 'platform.shop.fault': 'chatty' })
  await said('"started"')
  child.kill('SIGTERM')
  const { output } = await ended()
  const [line = '{}', error = '{}'] = output.split('\n').filter((text) => text.includes('open'))
  t.match(JSON.parse(line), { msg: 'opened with ******', password: '******', body: '{"password":"******"}' })
  t.match(JSON.parse(error), { level: 'error', msg: 'cannot open with ******' })
  t.notMatch(output, 'Pass')
  t.notMatch(output, 'caller-token', 'nor what libraries hang on their errors')
  const lines = output
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
  assertMembers(
    t,
    lines.filter(({ source }) => source !== undefined),
    [
      {
        level: 'error',
        source: 'console',
        msg: "cannot reach { password: '******' } ******",
        err: { message: '******' },
      },
      { level: 'info', source: 'console', msg: 'reached with ******' },
      { level: 'warn', source: 'process', warning: 'DeprecationWarning', code: /^SHOP1$/, msg: 'old way of ******' },
    ],
    'what goes past the logger is a line of it',
  )
  t.equal(lines.filter(({ msg }) => msg === 'odd' || msg === 'trap').length, 5, 'what cannot be written loses no line')
  const { basic } = JSON.parse(line)
  t.notMatch(Buffer.from(String(basic).replace('Basic ', ''), 'base64').toString(), 'Pass')
})

t.test('K-018 a signal ends a waiting command, which releases its resources and exits with 130', async (t) => {
  for (const words of [['wait'], ['wait', '--throw']]) {
    const { child, ended, said } = spawned(words, { 'platform.shop.loud': 'true' })
    await said('"waiting"')
    child.kill('SIGINT')
    const { code, output, stdout } = await ended()
    t.equal(code, 130, words.join(' '))
    t.match(output, 'shelf closed')
    t.equal(stdout, '', 'the log of a command is no answer')
  }
})

t.test('a reader that stops early causes no error', async (t) => {
  const program = join(import.meta.dirname, '..', 'src', 'cli', 'main.ts')
  const child = spawn(process.execPath, [program, 'config', 'list', '--json', '--product', shop], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: programEnvironment(environment),
  })
  child.stdout.destroy()
  const { code, stderr } = await waitForProcessEnd(child)
  t.equal(code, 0)
  t.notMatch(stderr, 'EPIPE')
})

/** Returns a product whose plugin throws this text in its setup. The text contains a secret. */
const mistaken = (thrown: string) =>
  product(`import { key } from '@plinth/kernel'
const plugin = definePlugin({
  id: 'acme.till', version: '1.0.0', kernel: '^1.0.0',
  config: { 'platform.acme.secret': key.string({ title: 'Secret', default: 'open sesame', sensitive: true }) },
  setup({ config }) { openTill(config.get('platform.acme.secret')) },
})
function openTill(secret: string) {
  ${thrown}
}
export default defineProduct({ name: 'till', plugins: [plugin] })`)

t.test('C-002 K-009 an author sees the masked stack with its causes; an operator sees only the fix', async (t) => {
  const directory = t.testdir({
    mistake: mistaken("throw new TypeError('no drawer for ' + secret, { cause: new Error(secret + ' is jammed') })"),
    advice: mistaken(
      "throw Object.assign(new Error('The till is locked.'), { name: 'PlinthError', code: 'ACME_LOCKED', fix: 'Unlock it.' })",
    ),
  })
  const inside = { directory: join(directory, 'mistake'), environment: {} }
  const stack =
    /TypeError: no drawer for \*{6}\n\s+at openTill \(.*plinth\.config\.ts:\d+:\d+\)[\s\S]*\nCaused by: Error: \*{6} is jammed\n\s+at openTill/
  const start = await plinth(['start'], inside)
  t.match(start, { code: 1, stderr: stack })
  t.match(start.stderr, /^PLINTH_START_FAILED: Plugin "acme\.till" failed in setup: no drawer for \*{6}\.\nFix: /)
  t.notMatch(start.stderr, 'node:internal')
  const json = await responseOf(t, ['start'], inside)
  t.match(json, { code: 1, answer: { error: { code: /^PLINTH_START_FAILED$/, stack } } })
  const doctor = await plinth(['doctor'], inside)
  t.match(doctor, { code: 1, stdout: stack })
  const findings = await responseOf(t, ['doctor'], inside)
  const failed = findings.answer.findings.filter(({ outcome }: { outcome: string }) => outcome === 'failed')
  assertMembers(t, failed, [{ check: 'set-up', stack }])
  for (const text of [start.stderr, doctor.stdout, JSON.stringify([json, findings])]) t.notMatch(text, 'open sesame')

  const advised = await plinth(['start'], { directory: join(directory, 'advice'), environment: {} })
  t.match(advised, { code: 1, stderr: /ACME_LOCKED: The till is locked\.\nFix: Unlock it\.\n$/ })
})

t.test('C-002 a mistake in the syntax of a product or plugin file is shown with file, line and code', async (t) => {
  const broken = "export default definePlugin({ id: 'acme.till',, version: '1.0.0' })\n"
  const listing = (file: string) =>
    product(`import till from './${file}'\nexport default defineProduct({ plugins: [till] })`)
  const directory = t.testdir({
    typescript: { ...listing('till.ts'), 'till.ts': broken },
    javascript: { ...listing('till.mjs'), 'till.mjs': `\n${broken}` },
    itself: { 'plinth.config.js': `const a = 1\n\nexport default { a: ]\n`, 'package.json': '{"type":"module"}' },
    export: product("import { nothing } from 'node:path'\nexport default nothing"),
  })
  const cases = [
    ['typescript', 'till.ts:1', "definePlugin({ id: 'acme.till',, version"],
    ['javascript', 'till.mjs:2', "definePlugin({ id: 'acme.till',, version"],
    ['itself', 'plinth.config.js:3', 'export default { a: ]'],
    ['export', 'plinth.config.ts:2', "import { nothing } from 'node:path'"],
  ] as const
  for (const [name, place, code] of cases) {
    const inside = { directory: join(directory, name), environment: {} }
    const { code: exit, stderr } = await plinth(['start'], inside)
    t.equal(exit, 3, name)
    const [first = '', ...rest] = stderr.split('\n')
    const isOwn = place.startsWith('plinth.config')
    t.match(first, isOwn ? /^PLINTH_PRODUCT_INVALID: / : /^PLINTH_PRODUCT_IMPORT: The file .* imports, cannot/)
    t.match(
      stderr,
      isOwn ? 'Fix: Correct the file.' : `Fix: Correct ${join(directory, name, place.split(':')[0] ?? '')},`,
    )
    t.ok(first.includes(`${join(directory, name, place)})`), `${name}: ${first}`)
    t.match(
      rest.join('\n'),
      new RegExp(`${place.replace('.', '\\.')}\\n.*${code.replace(/[{}()[\]]/g, '\\$&')}.*\\n\\s*\\^`),
    )
    const { answer } = await responseOf(t, ['doctor'], inside)
    t.ok(answer.error.stack.includes(code), `${name} in JSON`)
  }
})

t.test('a product file is not blamed for an error of a file that it imports', async (t) => {
  const root = t.testdir({
    getter: {
      ...product("import { till } from './till.ts'\nexport default defineProduct({ name: 'x', plugins: [till] })"),
      'till.ts': `import { definePlugin } from '@plinth/kernel'
export const till = definePlugin({ id: 'till', version: '1.0.0', kernel: '^1.0.0', get config() { throw new Error('no keys') } })`,
    },
    circular: {
      ...product("import { one } from './one.ts'\nexport default defineProduct({ name: one, plugins: [] })"),
      'one.ts': "import { two } from './two.ts'\nexport const one = 'one and ' + two",
      'two.ts': "import { one } from './one.ts'\nexport const two = 'two and ' + one",
    },
  })
  const directory = join(root, 'getter')
  const { code, answer } = await responseOf(t, ['start'], { directory, environment: {} })
  t.equal(code, 3)
  t.equal(answer.error.code, 'PLINTH_PRODUCT_IMPORT')
  t.match(answer.error.message, `The file ${join(directory, 'till.ts')}, which the product file`)

  const circular = join(root, 'circular')
  const looped = await responseOf(t, ['start'], { directory: circular, environment: {} })
  t.ok(
    looped.answer.error.message.includes(
      `(${join(circular, 'two.ts')}:2); two files import each other, so move what both need into a third file`,
    ),
    looped.answer.error.message,
  )
})

t.test('a wrong command line names the help of its command', async (t) => {
  const lines: [words: string[], command: string][] = [
    [['start', '--rol'], 'plinth start'],
    [['config', 'list', '--modifed'], 'plinth config list'],
    [['config', 'lst'], 'plinth config'],
    [['orders', 'count', '--all'], 'plinth orders count'],
    [['strat'], 'plinth'],
    [['plugins', 'why', 'shop.tll'], 'plinth plugins why'],
  ]
  for (const [words, command] of lines) {
    const { answer } = await responseOf(t, ['--product', shop, ...words])
    t.equal(answer.error.fix, `Run \`${command} --help\`.`, words.join(' '))
  }
})

t.test('C-002 start, doctor and plugins list warn about a declaration without effect', async (t) => {
  const directory = t.testdir(
    product(`const half = definePlugin({
  id: 'acme.half', version: '1.0.0', kernel: '^1.0.0',
  permissions: [{ code: 'acme:read', displayName: 'Read' }],
  messages: { en: { acme: { one: '1', two: '2' } }, 'zh-CN': { acme: { one: '1', three: '3' } } },
})
export default defineProduct({ name: 'half', plugins: [half] })`),
  )
  const inside = { directory, environment: {} }
  const { code, answer } = await responseOf(t, ['doctor'], inside)
  t.equal(code, 0, 'nothing of it stops the product')
  const warnings = answer.findings.filter(({ outcome }: { outcome: string }) => outcome === 'warning')
  assertMembers(t, warnings, [
    {
      check: 'messages',
      detail: /^No loaded plugin implements messages, which is declared by acme\.half\. Add a plugin/,
    },
    {
      check: 'permissions',
      detail: /^No loaded plugin implements permissions, which is declared by acme\.half\. Add a plugin/,
    },
    {
      check: 'permissions[0].displayName',
      detail: /^1 text\(s\) are in English only, among them permissions\[0\]\.displayName\. /,
    },
    { check: 'messages["zh-CN"]', detail: /^1 text\(s\) are missing in zh-CN, among them acme\.two\. / },
    { check: 'messages["en"]', detail: /^1 text\(s\) are missing in en, among them acme\.three\. / },
  ])
  t.equal(warnings.length, 5)
  t.match((await plinth(['plugins', 'list'], inside)).stderr, 'No loaded plugin implements permissions')
})
