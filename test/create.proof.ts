/** Tests `plinth create` in folders inside the repository, because the created files import its packages. */
import { execFile } from 'node:child_process'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { assertMembers } from '@plinth/dev/testing'
import { kernelVersion } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { writeFolder } from '../dev/src/create/templates.ts'
import { addPluginToSource } from '../kernel/src/cli/product-file.ts'
import { runProgram } from '../kernel/src/cli/program.ts'

const root = join(import.meta.dirname, '..')
const kinds = ['plugin', 'channel', 'provider', 'store', 'install-task', 'page'] as const
const execute = promisify(execFile)
/**
 * Runs a command without NODE_OPTIONS. Otherwise tap would load itself into the process, and the compiler could not
 * start.
 */
const run = (cwd: string, ...words: string[]) =>
  execute('env', ['-u', 'NODE_OPTIONS', ...words], { cwd, maxBuffer: 64 * 1024 * 1024 })

async function plinth(directory: string, words: readonly string[], lines?: string[]) {
  let [stdout, stderr] = ['', '']
  const questions: string[] = []
  const code = await runProgram(words, {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    environment: {},
    directory,
    ask:
      lines &&
      (async (question) => {
        questions.push(question)
        return lines.shift() ?? ''
      }),
  })
  return { code, stdout, stderr, questions }
}

const filesIn = (folder: string) =>
  globSync(['**', '**/.*'], { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

t.test('a product with a plugin of each kind is tested and loaded as it was created', async (t) => {
  const directory = t.testdir()
  const created = await plinth(directory, ['create', 'product', 'my-shop'])
  t.equal(created.stderr, '')
  t.match(created.stdout, 'cd my-shop\n  npm install\n  npm run dev\n')
  const shop = join(directory, 'my-shop')
  const env = readFileSync(join(shop, '.env'), 'utf8')
  const secrets = [...env.matchAll(/^PLATFORM_\w+_KEY=([0-9a-f]{64})$/gm)].map(([, secret]) => secret)
  t.equal(new Set(secrets).size, 2, 'each secret is another')
  if (process.platform !== 'win32') t.equal(statSync(join(shop, '.env')).mode & 0o077, 0, 'only the owner reads them')
  const listed = readFileSync(join(shop, '.env.example'), 'utf8')
  for (const [, variable = ''] of env.matchAll(/^(PLATFORM_\w+)=/gm)) t.match(listed, `# ${variable}=`)
  for (const file of [
    '.gitignore',
    'deploy/Dockerfile',
    'deploy/systemd/my-shop.service',
    'AGENTS.md',
    'README.md',
    'tsconfig.json',
  ])
    t.ok(existsSync(join(shop, file)), file)

  const { overrides, allowScripts, workspaces } = JSON.parse(readFileSync(join(shop, 'package.json'), 'utf8'))
  t.same(overrides, JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).overrides)
  const ofPnpm = parse(readFileSync(join(shop, 'pnpm-workspace.yaml'), 'utf8'))
  t.same(ofPnpm, { packages: workspaces, overrides, allowBuilds: allowScripts }, 'pnpm has the settings of npm')

  const product = join(shop, 'plinth.config.ts')
  for (const kind of kinds) {
    const { code, stdout, stderr } = await plinth(directory, ['--product', product, 'create', kind, `acme-${kind}`])
    t.equal(code, 0, stderr)
    t.match(stdout, `Created my-shop/plugins/acme-${kind} and added it to my-shop/plinth.config.ts.`)
  }
  for (const file of filesIn(shop))
    t.notMatch(readFileSync(file, 'utf8'), /sample.?name|GENERATED_SECRET/i, `${file} has the chosen name`)
  const tests = await run(shop, process.execPath, '--test', '{test,plugins/*/test}/*.test.{js,ts}')
  t.match(tests.stdout, /\bfail 0\b/)
  const listing = await run(shop, process.execPath, join(root, 'kernel/bin/plinth.js'), 'plugins', 'list', '--json')
  const ids = JSON.parse(listing.stdout).map(({ id }: { id: string }) => id)
  for (const kind of kinds) t.ok(ids.includes(`acme-${kind}`), kind)
  const { scripts } = JSON.parse(readFileSync(join(shop, 'package.json'), 'utf8'))
  const [, ...words] = scripts.client.split(' ')
  await run(shop, process.execPath, join(root, 'kernel/bin/plinth.js'), ...words)
  t.match(readFileSync(join(shop, 'client/index.ts'), 'utf8'), 'createApiClient')
  t.match(readFileSync(join(shop, 'README.md'), 'utf8'), '| `npm run client` |')
  const types = ['openapi', '--types', 'acme-page']
  const operations = await run(shop, process.execPath, join(root, 'kernel/bin/plinth.js'), ...types)
  t.equal(
    readFileSync(join(shop, 'plugins/acme-page/src/operations.gen.ts'), 'utf8'),
    operations.stdout.trimEnd().concat('\n'),
  )

  const again = await plinth(directory, ['--product', product, 'create', 'channel', 'acme-channel'])
  t.match(again.stderr, 'PLINTH_CREATE_NOT_EMPTY')
})

t.test('the preset "minimal" in JavaScript passes its test', async (t) => {
  const directory = t.testdir()
  const words = ['create', 'product', 'small', '--preset', 'minimal', '--javascript', '--json']
  const { stdout } = await plinth(directory, words)
  assertMembers(t, JSON.parse(stdout), {
    name: 'small',
    preset: 'minimal',
    next: ['cd small', 'npm install', 'npm run dev'],
  })
  const folder = join(directory, 'small')
  const files = filesIn(folder)
  t.same(
    files.filter((file) => /\.ts$|tsconfig/.test(file)),
    [],
  )
  for (const file of files) t.notMatch(readFileSync(file, 'utf8'), /\.ts\b|typecheck|npm run client|"client"/, file)
  const { stdout: tested } = await run(folder, process.execPath, '--test', 'test/product.test.js')
  t.match(tested, /\bpass 1\b/)
})

t.test('without a terminal the command does not wait, and writes nothing if there is an error', async (t) => {
  const directory = t.testdir({ full: { 'notes.txt': 'mine' } })
  const rejected = async (words: readonly string[], code: number, message: string | RegExp) => {
    const result = await plinth(directory, ['create', ...words])
    t.equal(result.code, code, words.join(' '))
    t.match(result.stderr, message)
  }
  await rejected(['product'], 2, 'PLINTH_CLI_USAGE: The folder is missing.')
  await rejected(['channel'], 2, 'PLINTH_CLI_USAGE: The name is missing.')
  await rejected(['product', 'full'], 1, /^PLINTH_CREATE_NOT_EMPTY: .+contains "notes\.txt"/)
  await rejected(['product', 'new', '--preset', 'huge'], 2, /Allowed choices are standard, minimal/)
  await rejected(['product', 'new', '--name', '1st'], 2, 'PLINTH_CREATE_NAME')
  await rejected(['store', 'Acme_Store'], 2, 'PLINTH_CREATE_NAME')
  await rejected(['store', 'a'.repeat(31)], 2, 'it has more than 30 characters')
  t.same(filesIn(directory), [join(directory, 'full', 'notes.txt')])
})

t.test('written files are removed if the rest cannot be written', async (t) => {
  const directory = t.testdir({ empty: {} })
  // The second file has the same name as the folder of the first file, so writing the second file must fail.
  const files = new Map([
    ['a/b.txt', 'text'],
    ['a', 'a file where a folder is'],
  ])
  for (const folder of ['empty', 'new/inner']) await t.rejects(writeFolder(join(directory, folder), files))
  t.same(globSync('**', { cwd: directory }).sort(), ['.', 'empty'])
})

t.test('in a terminal the command asks for missing answers', async (t) => {
  const directory = t.testdir()
  const product = await plinth(directory, ['create', 'product'], ['asked', 'minimal'])
  t.same(product.questions, ['Folder of the product: ', 'Preset (standard, minimal) [standard]: '])
  t.match(readFileSync(join(directory, 'asked/plinth.config.ts'), 'utf8'), "name: 'asked'")
  const store = await plinth(directory, ['create', 'store', '--folder', 'limits'], ['acme-limits'])
  t.same(store.questions, ['Name: '])
  t.match(store.stdout, "import acmeLimitsPlugin from './limits/src/plugin.ts'")
  const wrong = await plinth(directory, ['create', 'product'], ['other', 'huge'])
  t.equal(wrong.code, 2)
  t.notOk(existsSync(join(directory, 'other')))
})

t.test('a plugin is added only to a list that is an array of names', (t) => {
  const added = (list: string) =>
    addPluginToSource(`import a from 'a'\n\nexport default {\n  plugins: ${list},\n}\n`, 'b', './b.ts')
  const file = (list: string) =>
    `import a from 'a'\nimport b from './b.ts'\n\nexport default {\n  plugins: ${list},\n}\n`
  t.equal(added('[]'), file('[b]'))
  t.equal(added('[...a]'), file('[...a, b]'))
  t.equal(added('[\n    a,\n    c,\n  ]'), file('[\n    a,\n    c,\n    b,\n  ]'))
  for (const list of ['list', '[a()]', '[...a.filter(({ id }) => id)]', '[a /* c */]']) t.equal(added(list), undefined)
  t.end()
})

t.test('the templates list the packages that they import, in the versions of this repository', (t: Test) => {
  const templates = join(root, 'dev/templates')
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const database = JSON.parse(readFileSync(join(root, 'plugins/database/package.json'), 'utf8'))
  const client = JSON.parse(readFileSync(join(root, 'client/package.json'), 'utf8'))
  for (const folder of [...kinds, 'presets/standard', 'presets/minimal']) {
    const manifest = JSON.parse(readFileSync(join(templates, folder, 'package.template.json'), 'utf8'))
    const versions = { ...manifest.dependencies, ...manifest.peerDependencies, ...manifest.devDependencies }
    const sources = [folder, ...(folder.startsWith('presets') ? ['product'] : [])]
      .flatMap((part) => globSync('**/*.ts', { cwd: join(templates, part) }).map((file) => join(templates, part, file)))
      .map((file) => readFileSync(file, 'utf8'))
    const imported = sources.flatMap((source) =>
      [...source.matchAll(/from '((?:@[^/']+\/)?[^./'@][^/']*)/g)].map(([, name = '']) => name),
    )
    for (const name of new Set(imported.filter((name) => !name.startsWith('node:'))))
      t.ok(versions[name], `${folder} lists ${name}`)
    for (const [name, version] of Object.entries(versions)) {
      const expected = devDependencies[name] ?? { ...database.dependencies, ...client.dependencies }[name]
      t.equal(version, name.startsWith('@plinth/') ? `^${kernelVersion}` : expected, `${folder}: ${name}`)
    }
  }
  t.end()
})
