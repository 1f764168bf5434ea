import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, programEnvironment } from '@plinth/dev/testing'
import t, { type Test } from 'tap'
import { runProgram } from '../src/cli/program.ts'

/** A product file with two plugins. The second plugin is a text, so that a test can upgrade it. */
const productFile = (shelf: string) => `
import { definePlugin, defineProduct, key, service } from '@plinth/kernel'
import { manifestEntries } from '@plinth/kernel/host'

const till = service('till')
const base = definePlugin({
  id: 'shop.till', version: '1.2.0', kernel: '^1.0.0', provides: [till], contributes: [manifestEntries],
  setup({ provide, contribute }) {
    provide(till, {})
    contribute(manifestEntries, 'drawers', () => new Map([['shop.till', ['upper', 'lower']], ['shop.shelf', ['new']]]))
  },
})
const shelf = definePlugin({ id: 'shop.shelf', kernel: '^1.0.0', ${shelf} })
export default defineProduct({ name: 'locked', plugins: [base, shelf] })
`
const first = "version: '1.0.0', config: { 'platform.shelf.size': key.integer({ title: 'Size', default: 1 }) }"

/**
 * Creates a product folder and returns functions for its commands and its lock file. Each version of the product is a
 * new file, because Node.js caches modules.
 */
function folder(t: Test) {
  const directory = t.testdir({})
  let count = 0
  const plinth = async (shelf: string, ...words: string[]) => {
    const file = join(directory, `v${count++}.config.ts`)
    writeFileSync(file, productFile(shelf))
    let stdout = ''
    let stderr = ''
    const code = await runProgram(['--product', file, ...words], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: (text) => (stderr += text) },
      environment: programEnvironment(),
      directory,
    })
    return { code, stdout, stderr }
  }
  const diff = async (shelf: string) => {
    const { code, stdout } = await plinth(shelf, 'plugins', 'diff', '--json')
    return { code, ...JSON.parse(stdout) }
  }
  return { directory, plinth, diff, lockFile: join(directory, 'plinth.lock.json') }
}

t.test('C-002 plugins lock records what each plugin uses and adds', async (t) => {
  const { plinth, diff, lockFile } = folder(t)
  t.strictSame(await plinth(first, 'plugins', 'lock'), {
    code: 0,
    stdout: `Wrote ${lockFile} with 2 plugins. Commit it.\n`,
    stderr: '',
  })
  t.strictSame(JSON.parse(readFileSync(lockFile, 'utf8')), {
    lockVersion: 1,
    plugins: {
      'shop.shelf': {
        version: '1.0.0',
        entries: { roles: ['cli', 'web', 'worker'], keys: ['platform.shelf.size'], drawers: ['new'] },
      },
      'shop.till': {
        version: '1.2.0',
        entries: {
          roles: ['cli', 'web', 'worker'],
          provides: ['till'],
          contributes: ['kernel.manifest-entries'],
          drawers: ['lower', 'upper'],
        },
      },
    },
  })
  t.strictSame(await diff(first), { code: 0, differences: [], wider: false })
})

const text = "{ en: 'a', 'zh-CN': 'b' }"
/** For each row: the member that an upgrade adds to a declaration, and the entry that the manifest then contains. */
const wider: readonly (readonly [member: string, kind: string, entry: string])[] = [
  ['requires: { till }', 'requires', 'till'],
  ["provides: [service('shelf')], setup: ({ provide }) => provide(service('shelf'), {})", 'provides', 'shelf'],
  ['contributes: [manifestEntries]', 'contributes', 'kernel.manifest-entries'],
  [`permissions: [{ code: 'shelf:view', displayName: ${text} }]`, 'permissions', 'shelf:view'],
  ["migrations: [{ id: '0001-create-shelf' }]", 'change-sets', '0001-create-shelf'],
  [
    `installTasks: [{ code: 'fill', displayName: ${text}, order: 1, required: true, retryable: true, isCompleted: () => true, run() {} }]`,
    'install-tasks',
    'fill',
  ],
  [
    `scheduledTasks: [{ name: 'shelf.dust', displayName: ${text}, fixedDelay: 1, autoStartup: true, run() {} }]`,
    'scheduled-tasks',
    'shelf.dust',
  ],
  ["commands: [{ name: 'shelf list', summary: 'list it', run() {} }]", 'commands', 'shelf list'],
]

t.test('plugins diff fails when an upgrade uses or adds more, and passes when it uses less', async (t) => {
  const { plinth, diff } = folder(t)
  await plinth(first, 'plugins', 'lock')
  for (const [member, kind, entry] of wider) {
    const added = { change: 'added', plugin: 'shop.shelf', kind, entry }
    t.strictSame(await diff(`${first}, ${member}`), { code: 1, differences: [added], wider: true }, kind)
  }
  t.strictSame(await diff("version: '1.1.0'"), {
    code: 0,
    differences: [
      { change: 'changed', plugin: 'shop.shelf', kind: 'version', entry: '1.0.0 -> 1.1.0' },
      { change: 'removed', plugin: 'shop.shelf', kind: 'keys', entry: 'platform.shelf.size' },
    ],
    wider: false,
  })
  t.strictSame(await diff(`${first}, roles: ['cli']`), {
    code: 0,
    differences: ['web', 'worker'].map((entry) => ({ change: 'removed', plugin: 'shop.shelf', kind: 'roles', entry })),
    wider: false,
  })
})

t.test('plugins diff finds a new key, a new role and a new plugin', async (t) => {
  const { plinth, diff } = folder(t)
  const narrow = "version: '1.0.0', roles: ['cli'], config: {}"
  await plinth(narrow, 'plugins', 'lock')
  t.strictSame(await diff(`${first}, roles: ['cli', 'web']`), {
    code: 1,
    differences: [
      { change: 'added', plugin: 'shop.shelf', kind: 'roles', entry: 'web' },
      { change: 'added', plugin: 'shop.shelf', kind: 'keys', entry: 'platform.shelf.size' },
    ],
    wider: true,
  })
  await plinth("version: '1.0.0', roles: ['cli'], config: {}, id: 'shop.other'", 'plugins', 'lock')
  t.strictSame(await diff(narrow), {
    code: 1,
    differences: [
      { change: 'changed', plugin: 'shop.other', kind: 'version', entry: '1.0.0 -> absent' },
      { change: 'removed', plugin: 'shop.other', kind: 'roles', entry: 'cli' },
      { change: 'changed', plugin: 'shop.shelf', kind: 'version', entry: 'absent -> 1.0.0' },
      { change: 'added', plugin: 'shop.shelf', kind: 'roles', entry: 'cli' },
      { change: 'added', plugin: 'shop.shelf', kind: 'drawers', entry: 'new' },
    ],
    wider: true,
  })
})

t.test('plugins diff prints a table with the next step; plugins lock approves', async (t) => {
  const { plinth } = folder(t)
  await plinth(first, 'plugins', 'lock')
  const upgraded = `${first}, permissions: [{ code: 'shelf:view', displayName: ${text} }]`
  const { code, stdout } = await plinth(upgraded, 'plugins', 'diff')
  t.equal(code, 1)
  t.match(stdout, /^CHANGE +PLUGIN +KIND +ENTRY\nadded +shop\.shelf +permissions +shelf:view\n/)
  t.match(stdout, 'run "plinth plugins lock" and commit the file')
  const less = await plinth("version: '1.1.0'", 'plugins', 'diff')
  t.match(less, { code: 0, stdout: 'No plugin uses or adds more. Run "plinth plugins lock" to record the changes.' })
  t.equal((await plinth(upgraded, 'plugins', 'lock')).code, 0)
  t.strictSame(await plinth(upgraded, 'plugins', 'diff'), {
    code: 0,
    stdout: 'plinth.lock.json is current.\n',
    stderr: '',
  })
})

t.test('upgrade prints a table with the steps that need an action, and whether there are any', async (t) => {
  const { plinth } = folder(t)
  await plinth(first, 'plugins', 'lock')
  const upgrade = (shelf: string) => plinth(shelf, 'upgrade', '--dry-run')
  t.strictSame(await upgrade(first), { code: 0, stdout: 'The installed versions change nothing.\n', stderr: '' })
  const less = await upgrade("version: '1.1.0'")
  t.equal(less.code, 0)
  t.match(less.stdout, /^ACTION +SUBJECT +CHANGE +PLUGIN +ENTRY\n +version +changed +shop\.shelf +1\.0\.0 -> 1\.1\.0\n/)
  t.match(less.stdout, /^ +manifest +removed +shop\.shelf +keys: platform\.shelf\.size$/m)
  t.match(less.stdout, '\n\nNo step needs your action. Nothing was changed.\n')
  const wide = `${first.replace('1.0.0', '1.1.0')}, requires: { till }, permissions: [{ code: 'shelf:view', displayName: ${text} }]`
  const more = await upgrade(wide)
  t.equal(more.code, 1)
  t.match(more.stdout, /^act first +manifest +added +shop\.shelf +permissions: shelf:view$/m)
  t.match(
    more.stdout,
    '\n\n2 step(s) need your action. "plinth plugins lock" approves added entries and removed operations; correct the others. Nothing was changed.\n',
  )
  t.match(await plinth(first, 'upgrade'), {
    code: 2,
    stderr: 'Add --dry-run to list the steps. "plinth start" or "plinth migrate" changes the database.',
  })
})

t.test('upgrade lists a new plugin in one line', async (t) => {
  const { plinth, lockFile } = folder(t)
  await plinth(first, 'plugins', 'lock')
  const { plugins, ...lock } = JSON.parse(readFileSync(lockFile, 'utf8'))
  writeFileSync(lockFile, JSON.stringify({ ...lock, plugins: { 'shop.till': plugins['shop.till'] } }))
  const { code, stdout } = await plinth(first, 'upgrade', '--dry-run', '--json')
  t.equal(code, 1)
  t.strictSame(JSON.parse(stdout).steps, [
    {
      subject: 'plugin',
      change: 'added',
      plugin: 'shop.shelf',
      entry: '1.0.0 with roles: 3, keys: 1, drawers: 1',
      isBlocking: true,
    },
  ])
})

t.test('a missing or damaged lock file is an error with a code, and lock replaces it', async (t) => {
  const { plinth, lockFile } = folder(t)
  const failure = async () => {
    const { code, stdout } = await plinth(first, 'plugins', 'diff', '--json')
    return [code, JSON.parse(stdout).error.code]
  }
  t.strictSame(await failure(), [1, 'PLINTH_LOCK_MISSING'])
  for (const content of [
    '{',
    '[]',
    '{"lockVersion":2,"plugins":{}}',
    '{"lockVersion":1,"plugins":{"a":{"version":"1"}}}',
  ]) {
    writeFileSync(lockFile, content)
    t.strictSame(await failure(), [1, 'PLINTH_LOCK_INVALID'], content)
  }
  await plinth(first, 'plugins', 'lock')
  t.equal((await plinth(first, 'plugins', 'diff')).code, 0)
})

t.test('C-002 plugins diff fails if an installed package has other files under the same version', async (t) => {
  const plugin = (version: string, code = '') =>
    `import { definePlugin } from '@plinth/kernel'\nexport default definePlugin({ id: 'acme.pkg', version: '${version}', kernel: '^1.0.0', setup() {${code}} })`
  const product = `
import { defineProduct } from '@plinth/kernel'
import plugin from 'acme-pkg'
export default defineProduct({ name: 'locked', plugins: [plugin] })`
  const directory = t.testdir({
    'v0.config.ts': product,
    node_modules: {
      'acme-pkg': {
        'package.json': '{ "name": "acme-pkg", "type": "module", "exports": "./dist/plugin.js" }',
        dist: { 'plugin.js': plugin('1.0.0'), 'other.js': '' },
      },
    },
  })
  const plinth = async (words: readonly string[]) => {
    let stdout = ''
    const code = await runProgram(['--product', join(directory, 'v0.config.ts'), ...words, '--json'], {
      stdout: { write: (text) => (stdout += text) },
      stderr: { write: () => {} },
      environment: programEnvironment(),
      directory,
    })
    return { code, ...JSON.parse(stdout) }
  }
  await plinth(['plugins', 'lock'])
  t.match(JSON.parse(readFileSync(join(directory, 'plinth.lock.json'), 'utf8')), {
    plugins: { 'acme.pkg': { package: /^sha256-.{44}$/ } },
  })
  assertMembers(t, await plinth(['plugins', 'diff']), { code: 0, differences: [] })
  writeFileSync(join(directory, 'node_modules/acme-pkg/dist/other.js'), "import 'node:child_process'")
  assertMembers(t, await plinth(['plugins', 'diff']), {
    code: 1,
    differences: [{ change: 'changed', plugin: 'acme.pkg', kind: 'package', entry: '1.0.0' }],
  })
})
