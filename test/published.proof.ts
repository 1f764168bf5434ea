import { execFile } from 'node:child_process'
import { existsSync, globSync, readdirSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { assertMembers } from '@plinth/dev/testing'
import t, { type Test } from 'tap'
import { buildImage, checkImage } from './deploy/dockerfile-steps.ts'
import { checkCreated, checkCreatedWithPnpm } from './fixtures/created-products.ts'
import { serveRegistry } from './fixtures/loopback-registry.ts'
import { checkArchives, checkReleases, writeLockedProject } from './fixtures/packed-packages.ts'
import { runGuideCommands } from './fixtures/typed-guide.ts'
import { runTutorialCommands } from './fixtures/typed-tutorial.ts'

const execute = promisify(execFile)
const run = (file: string, words: readonly string[], { cwd }: { readonly cwd: string }) =>
  execute(file, [...words], { cwd, maxBuffer: 64 * 1024 * 1024 })
const root = join(import.meta.dirname, '..')
const tsc = join(root, 'node_modules', '.bin', 'tsc')
/**
 * Runs a program without `NODE_OPTIONS`. Otherwise tap would load itself into the process, and the compiler could not
 * start.
 */
const plainly = (...words: readonly string[]) => run('env', ['-u', 'NODE_OPTIONS', ...words], { cwd: root })
const packages = [
  'config-schema',
  'create-plinth',
  'dev',
  'kernel',
  'migrations',
  ...readdirSync(join(root, 'plugins')).map((folder) => `plugins/${folder}`),
]

/** Report of `npm pack` for one package. */
interface Packed {
  readonly name: string
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

/** A third-party plugin in plain JavaScript, as a separate package would contain it. */
const pager = `
import { definePlugin, key, notificationChannel } from '@plinth/kernel'
export default definePlugin({
  id: 'pager', version: '1.0.0', kernel: '^1.0.0',
  contributes: [notificationChannel],
  config: { 'platform.pager.prefix': key.string({ title: 'Prefix', default: 'page' }) },
  setup({ config, contribute }) {
    contribute(notificationChannel, 'pager', {
      displayName: 'Pager', recipientKinds: [], traits: { idempotent: true },
      async send(message) { return { outcome: 'accepted', messageId: config.get('platform.pager.prefix') + '-' + message.id } },
    })
  },
})
`
const product = `
import database from '@plinth/database'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import notification from '@plinth/notification'
import template from '@plinth/template'
import pager from './pager.js'
export default defineProduct({
  name: 'elsewhere',
  plugins: [database, http, i18n, iam, notification, template, pager],
  config: { 'platform.notification.default-channel': 'pager' },
})
`
const main = `
import { loadProduct, startProduct } from '@plinth/kernel/host'
import { notificationChannelCases } from '@plinth/dev/conformance'
import { http } from '@plinth/http'
const running = await startProduct(await loadProduct('plinth.config.js'), { set: { 'platform.http.port': '0', 'platform.log.level': 'silent' } })
const post = (path, body, token) => fetch(running.service(http).url + path, {
  method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer ' + token }, body: JSON.stringify(body),
})
const login = await (await post('/api/v1/auth/login', { username: 'root', password: 'Correct-horse-7' })).json()
const message = { channels: ['pager'], subject: 'Hello', content: 'from outside' }
const answer = await post('/api/v1/notifications/send', message, login.data.accessToken)
// This request starts a worker thread, which compiles templates. The script of the thread must be published next to the
// module that starts it.
const preview = await post('/api/v1/admin/templates/preview', { subject: 'Dear {{name}}', content: 'x', variables: { name: 'Ann' } }, login.data.accessToken)
const shown = await preview.json()
console.log(JSON.stringify({ status: answer.status, body: await answer.json(), kit: typeof notificationChannelCases, shown }))
await running.stop('done')
`
const typeCheck = {
  compilerOptions: {
    noEmit: true,
    strict: true,
    module: 'nodenext',
    target: 'es2024',
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules/@types')],
  },
  files: ['typed.ts'],
}
const typed = `
import { definePlugin, key, service } from '@plinth/kernel'
const clockwork = service<{ tick(): number }>('clockwork')
export default definePlugin({
  id: 'typed', version: '1.0.0', kernel: '^1.0.0', requires: { clockwork },
  config: { 'platform.typed.every': key.duration({ title: 'Every', default: '1m' }) },
  setup(context) {
    const milliseconds: number = context.config.get('platform.typed.every') + context.services.clockwork.tick()
    // @ts-expect-error an undeclared key is a type error
    context.config.get('platform.typed.other')
    // @ts-expect-error an undeclared service is a type error
    context.services.other
    return void milliseconds
  },
})
`

/** Checks that a product without the driver for its database server reports which driver is missing. */
async function checkDrivers(t: Test, project: string): Promise<void> {
  const { version } = JSON.parse(await readFile(join(project, 'node_modules/@mikro-orm/core/package.json'), 'utf8'))
  for (const type of ['postgresql', 'mysql', 'mariadb']) {
    t.notOk(existsSync(join(project, 'node_modules/@mikro-orm', type)), `${type} is not installed`)
    const words = ['migrate', '--status', '--set', `platform.database.type=${type}`]
    const settings = ['--set', 'platform.database.name=shop', '--set', 'platform.database.username=shop']
    const failed = run(join(project, 'node_modules/.bin/plinth'), [...words, ...settings], { cwd: project })
    const { stderr } = await failed.catch((error: { stderr: string }) => error)
    t.match(stderr, /PLINTH_DATABASE_DRIVER/)
    t.match(stderr, `npm install @mikro-orm/${type}@${version}`)
  }
}

t.test(
  'C-001 C-002 packed, installed in an empty project and run as a third party would',
  { timeout: 2_400_000 },
  async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'plinth-published-'))
    t.teardown(() => rm(directory, { recursive: true, force: true }))
    // The image is built by the user of the image too.
    await chmod(directory, 0o755)
    const [context, archives] = [join(directory, 'context'), join(directory, 'archives')]
    for (const folder of [context, archives]) await mkdir(folder)
    // Only the declarations are built, without checking types, because types are checked before the tests.
    await plainly(process.execPath, 'scripts/build.ts', '--noCheck', '--singleThreaded')
    await plainly(process.execPath, 'scripts/stage-packages.ts')
    const words = ['pack', '--json', '--pack-destination', archives, ...packages.map((folder) => `./${folder}`)]
    const { stdout: report } = await run('npm', words, { cwd: join(root, '.build/packages') })
    const packed: readonly Packed[] = Object.values(JSON.parse(report))
    const dependencies: Record<string, string> = {}
    for (const { name, filename, files } of packed) {
      dependencies[name] = `file:../archives/${filename.replace('@', '').replace('/', '-')}`
      const paths = files.map(({ path }) => path)
      t.notOk(
        paths.some((path) => path.startsWith('src/') || path.startsWith('test/')),
        `${name} ships no sources`,
      )
      t.ok(
        paths.some((path) => /^dist\/\w+\.js$/.test(path)),
        `${name} ships its build`,
      )
      for (const file of ['README.md', 'LICENSE']) t.ok(paths.includes(file), `${name} ships ${file}`)
    }
    t.equal(packed.length, packages.length)
    const shipped = new Set(packed.flatMap(({ name, files }) => files.map(({ path }) => `${name}/${path}`)))
    for (const page of ['install', 'admin']) {
      for (const file of [`${page}.html`, `licences/${page}.md`])
        t.ok(shipped.has(`@plinth/console/dist/web/${file}`), file)
    }
    const threads = globSync('plugins/*/src/**/*-worker.ts', { cwd: root })
    t.ok(threads.length >= 2)
    for (const thread of threads) {
      const program = thread.replace(/^plugins\/(.+?)\/src\/(.+)\.ts$/, '@plinth/$1/dist/$2.js')
      t.ok(shipped.has(program), program)
    }
    const manifest = { name: 'elsewhere', type: 'module', private: true, dependencies }
    const files = {
      'pager.js': pager,
      'plinth.config.js': product,
      'main.js': main,
      'typed.ts': typed,
      // Without this file, the compiler would use the `tsconfig.json` of a parent directory.
      'tsconfig.json': JSON.stringify(typeCheck),
    }
    for (const [name, text] of Object.entries({ ...files, '.env': 'PLATFORM_HTTP_PORT=1\n' }))
      await writeFile(join(context, name), text)
    await writeLockedProject(context, manifest)
    const image = await buildImage(context, directory)
    const project = image.pathOf('/app')

    const program = join(project, 'node_modules', '.bin', 'plinth')
    await run(program, ['migrate'], { cwd: project })
    const creation = run(program, ['admin', 'create', '--username', 'root', '--password-stdin'], { cwd: project })
    creation.child.stdin?.end('Correct-horse-7')
    await creation
    const { stdout } = await run(process.execPath, ['main.js'], { cwd: project })
    const response = JSON.parse(stdout)
    t.equal(response.status, 200)
    assertMembers(t, response.body, { code: /^200$/, data: [{ channel: 'pager', success: true, messageId: /^page-/ }] })
    t.equal(response.kit, 'function', 'the conformance kit is published too')
    t.hasStrict(response.shown, { code: '200', data: { subject: 'Dear Ann' } })

    const listed = await run(program, ['plugins', 'list', '--json'], { cwd: project })
    t.same(
      new Set(JSON.parse(listed.stdout).map(({ id }: { id: string }) => id)),
      new Set(['database', 'http', 'i18n', 'iam', 'notification', 'template', 'pager']),
    )
    await t.resolves(plainly(tsc, '-p', project), 'the published types check the plugin of a third party')
    await t.test('the image of deploy/Dockerfile runs this product', (t) => checkImage(t, image))
    const archiveNames = new Map(packed.map(({ name }) => [name, basename(dependencies[name] ?? '')]))
    const packedPackages = { archives, files: archiveNames }
    await t.test('publint and "Are the types wrong?" report nothing', (t) => checkArchives(t, packedPackages))
    await t.test('plugins of two patch releases install together', (t) => checkReleases(t, packedPackages, directory))
    await t.test('a database server needs its driver, SQLite needs none', (t) => checkDrivers(t, project))
    const created = { ...packedPackages, directory, registry: await serveRegistry(t, packedPackages, [root, project]) }
    await t.test('the guides lead from an empty directory to a channel in another product', (t) =>
      runGuideCommands(t, created),
    )
    await t.test('the tutorial leads from an empty directory to the product that it promises', async (t) => {
      const empty = join(directory, 'tutorial')
      await mkdir(empty)
      await runTutorialCommands(t, { ...created, directory: empty })
    })
    await t.test('a plugin of each kind is created in the product and passes its checks', (t) =>
      checkCreated(t, created),
    )
    await t.test('the product installs with pnpm, passes its tests and runs', (t) => checkCreatedWithPnpm(t, created))
    await t.test('without @plinth/dev, only its commands are missing', async (t) => {
      await rm(join(project, 'node_modules/@plinth/dev'), { recursive: true })
      for (const command of ['dev', 'plugins lock', 'create plugin pager', 'migrate draft']) {
        const ended = run(program, [...command.split(' '), '--json'], { cwd: project })
        const { code, stdout } = await ended.then(
          ({ stdout }) => ({ code: 0, stdout }),
          (error: { code: number; stdout: string }) => error,
        )
        t.hasStrict({ code, ...JSON.parse(stdout) }, { code: 2, error: { code: 'PLINTH_DEV_MISSING' } }, command)
      }
      await t.resolves(run(program, ['migrate', '--status'], { cwd: project }))
    })
  },
)
