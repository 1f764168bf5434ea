/**
 * Tests each deployment that a created product contains, as a process of another user that can only write the declared
 * directories: installation in both ways, restarts, backup and restore, an upgrade and the way back.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { freePort, programEnvironment, until, waitForProcessEnd, watchProcess } from '@plinth/dev/testing'
import { serversUnderTest } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { databaseWithPassword } from '../../plugins/install/test/fixtures/product.ts'
import { blocksRunBy } from '../fixtures/document-blocks.ts'
import { skipIsolation, startOnHost } from './isolated-host.ts'
import { type Built, buildProduct, type Layout, layoutsOf, redisCommand, secrets } from './layouts.ts'

const self = relative(join(import.meta.dirname, '..', '..'), import.meta.filename)
const administrator = { username: 'founder', password: 'Correct-horse-7' }
const answers = JSON.stringify({ site: { name: 'Acme', defaultLocale: 'zh-CN' }, administrator })

/** The product file of the next version: one more plugin with a change set. */
const upgraded = `
import { database } from '@plinth/database'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import { notifications } from '@plinth/presets/notifications'
import { operations } from '@plinth/presets/operations'
import { platform } from '@plinth/presets/platform'
const create = defineChangeSet({
  id: '0001-create-order',
  up: ({ schema, type }) => [schema.createTable('shop_order').addColumn('id', type.id, (c) => c.primaryKey())],
})
const shop = definePlugin({
  id: 'shop', version: '1.0.0', kernel: '^1.0.0', requires: { database }, migrations: [create], setup() {},
})
export default defineProduct({
  name: 'shop',
  plugins: [...platform, ...operations, ...notifications, shop],
  config: { 'platform.rate-limit.default-store': 'shared-window' },
})
`

interface Deployment {
  /** Runs a program with the environment of the first instance. */
  run(words: readonly string[], input?: string): ReturnType<typeof waitForProcessEnd>
  /** Starts all instances, and again after each end with exit code 75, as the engine does. */
  start(): Promise<Instances>
  /** Directory on this machine of each writable path. */
  readonly data: readonly string[]
}

interface Instances {
  readonly urls: readonly string[]
  /** Number of starts of each instance. */
  starts(): readonly number[]
  stop(): Promise<void>
}

/** Creates a directory that other users can read. It is removed when the test ends. */
function newFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-layout-'))
  chmodSync(folder, 0o755)
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Deploys a built product in a layout.
 *
 * @param existing writable directories of an earlier deployment; new and empty ones by default
 */
function deploy(
  t: Test,
  built: Built,
  layout: Layout,
  own: Readonly<Record<string, string>>,
  existing?: readonly string[],
): Deployment {
  const folder = newFolder(t)
  const root = join(folder, 'root')
  mkdirSync(root)
  const data = layout.writable.map((path, index) => {
    const directory = existing?.[index] ?? join(folder, `volume-${index}`)
    if (existing === undefined) {
      mkdirSync(directory, { mode: 0o700 })
      chownSync(directory, layout.user, layout.user)
    }
    return [path, directory] as const
  })
  const product = { from: built.directories[layout.workdir] ?? '', writable: false }
  const volumes = data.map(([path, from]) => [path, { from, writable: true }] as const)
  const mounts = { [layout.workdir]: product, ...Object.fromEntries(volumes) }
  const spawn = (words: readonly string[], environment: Readonly<Record<string, string>>, input?: string) => {
    const directory = join(root, String(Math.random()).slice(2))
    mkdirSync(directory)
    const { user, workdir } = layout
    const hostNames = ['postgres', 'redis']
    return startOnHost(
      { directory, mounts, user, workdir, hostNames, environment: { ...environment, ...own } },
      words,
      input,
    )
  }
  const [first = {}] = layout.instances
  const program = [join(layout.workdir, 'node_modules/.bin/plinth')]
  return {
    data: data.map(([, directory]) => directory),
    run: (words, input) => waitForProcessEnd(spawn([...program, ...words], first, input)),
    async start() {
      const running = await Promise.all(
        layout.instances.map(async (environment) => {
          const port = String(await freePort())
          let starts = 0
          let isStopping = false
          let isAlive = true
          let watched: ReturnType<typeof watchProcess>
          const begin = () => {
            starts += 1
            const child = spawn(layout.command, { ...environment, PLATFORM_HTTP_PORT: port })
            watched = watchProcess(t, child)
            child.on('exit', (code) => {
              if (code === 75 && !isStopping) begin()
              else isAlive = false
            })
          }
          begin()
          return {
            url: `http://127.0.0.1:${port}`,
            starts: () => starts,
            isAlive: () => isAlive,
            output: () => watched.output(),
            async stop() {
              isStopping = true
              t.same(await watched.end('SIGTERM'), [0, null], watched.output().slice(-2000))
            },
          }
        }),
      )
      for (const { url, isAlive, output } of running) {
        await until(async () => !isAlive() || isReady(url), `${layout.name} is ready`)
        if (!isAlive()) throw new Error(output())
      }
      return {
        urls: running.map(({ url }) => url),
        starts: () => running.map(({ starts }) => starts()),
        async stop() {
          for (const { stop } of running) await stop()
        },
      }
    },
  }
}

const isReady = async (url: string) => (await fetch(`${url}/health/ready`).catch(() => undefined))?.status === 200

interface Envelope {
  readonly code: string
  readonly message: string
  // biome-ignore lint/suspicious/noExplicitAny: the test reads responses of several shapes
  readonly data: any
}

async function request(url: string, path: string, body?: object): Promise<Envelope> {
  const headers = { 'content-type': 'application/json', 'x-install-token': secrets.PLATFORM_INSTALL_TOKEN }
  const sent = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${url}/api/v1/${path}`, sent)
  return (await response.json()) as Envelope
}

const call = async (url: string, path: string, body?: object) => (await request(url, path, body)).data

/** Signs the administrator in on each instance. A user may sign in five times a minute. */
async function checkSignIn(t: Test, urls: readonly string[], when: string): Promise<void> {
  for (const url of urls) {
    const { code, message } = await request(url, 'auth/login', administrator)
    t.equal(code, '200', `${when}: ${message}`)
  }
}

/** Installs a running product with the API of the wizard. */
async function installWithWizard(t: Test, layout: Layout, { urls, starts }: Instances): Promise<void> {
  const [url = ''] = urls
  const preflight = await call(url, 'install/preflight', {})
  t.equal(preflight.passed, true, JSON.stringify(preflight.checks))
  const { groups } = await call(url, 'install/config/schema')
  const fixed = groups.flatMap(({ code, fields }: { code: string; fields: { name: string; fixed?: object }[] }) =>
    fields.flatMap((field) => (field.fixed === undefined ? [] : [`${code}.${field.name}`])),
  )
  // This test itself sets the port of Redis.
  const ofFiles = fixed.filter((field: string) => field !== 'cache.port')
  t.strictSame(ofFiles, layout.fixed, 'fields that the environment fixes')
  const { database, cache, storage } = await call(url, 'install/config/defaults')
  const { url: _, passwordSet: __, fault: ___, faultField: ____, ...connection } = database
  const isFree = !layout.fixed.includes('database.database')
  const confirmed = { ...administrator, confirmPassword: administrator.password }
  const form = {
    site: { name: 'Acme', defaultLocale: 'zh-CN', timeZone: 'UTC' },
    administrator: confirmed,
    database: isFree ? { ...connection, database: 'other' } : connection,
    cache: { ...cache, passwordSet: undefined },
    storage,
  }
  const first = await call(url, 'install/execute', form)
  t.hasStrict(first, { passed: true, restartRequired: isFree, locked: !isFree }, first.message)
  await until(() => starts().every((count) => count === 2), 'each instance starts again')
  for (const one of urls) await until(() => isReady(one), 'it is ready again')
  if (!isFree) return
  const second = await call(url, 'install/execute', form)
  t.hasStrict(second, { passed: true, locked: true }, second.message)
}

/** Directory for the built products. Other users must be able to read it. */
const builds = t.testdir({ first: {}, next: {} })
let built: { readonly first: Built; readonly next: Built }

t.before(async () => {
  if (skipIsolation) return
  chmodSync(builds, 0o755)
  built = {
    first: await buildProduct(join(builds, 'first')),
    next: await buildProduct(join(builds, 'next'), upgraded),
  }
})

t.test(
  'no deployment contains secrets or data of the developer, and the image has compiled code',
  { skip: skipIsolation },
  async (t) => {
    for (const directory of Object.values(built.first.directories)) {
      t.strictSame(
        [existsSync(join(directory, '.env')), existsSync(join(directory, 'data/master.key'))],
        [false, false],
      )
    }
    const [folder = ''] = readdirSync(join(built.first.directories['/app'] ?? '', 'node_modules/.cache/plinth'))
    t.match(folder, /-1000$/, 'for the user of the image')
  },
)

/** Starts Redis with the command of the cluster, on a free port. */
async function startRedis(t: Test): Promise<string> {
  const folder = newFolder(t)
  for (const name of ['root', 'secrets']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'secrets/redis-password'), secrets.REDIS_PASSWORD)
  const port = String(await freePort())
  const words = redisCommand().map((word) => word.replace('redis-server -', `redis-server - --port ${port}`))
  const mounts = { '/run/secrets': { from: join(folder, 'secrets'), writable: false } }
  const host = {
    directory: join(folder, 'root'),
    mounts,
    user: 1000,
    workdir: '/tmp',
    hostNames: [],
    environment: { PATH: '/usr/bin:/bin' },
  }
  const { until: wait, output } = watchProcess(t, startOnHost(host, words))
  await wait(() => output().includes('Ready to accept connections'), 'Redis listens')
  const ping = (password: string) =>
    spawnSync('redis-cli', ['-p', port, 'ping'], { env: { ...process.env, REDISCLI_AUTH: password }, encoding: 'utf8' })
  t.match(ping(secrets.REDIS_PASSWORD).stdout, 'PONG')
  t.notMatch(ping('another').stdout, 'PONG')
  return port
}

const skipServer = serversUnderTest.find(({ dialect }) => dialect === 'postgresql')?.skip ?? false
const names = [
  'deploy/Dockerfile',
  'deploy/compose.yaml',
  'deploy/systemd/shop.service',
  'deploy/compose.cluster.yaml',
  'deploy/kubernetes/shop.yaml',
]

/** Returns variables for the servers of this machine. All other values are those of the shipped files. */
async function serversFor(t: Test, { dialect }: Layout): Promise<Readonly<Record<string, string>>> {
  if (dialect === 'sqlite') return {}
  const { database, username } = await databaseWithPassword(t, 'postgresql', secrets.POSTGRES_PASSWORD)
  return {
    PLATFORM_DATABASE_NAME: database,
    PLATFORM_DATABASE_USERNAME: username,
    PLATFORM_CACHE_PORT: await startRedis(t),
    PLATFORM_RATE_LIMIT_ANNOTATION_CLIENT_IP_TRUSTED_PROXIES: '["10.89.33.2"]',
  }
}

const [backUp, restore] = blocksRunBy(self).map(({ text }) => text)

for (const [index, name] of names.entries()) {
  const isOnServer = index > 2
  const skip = skipIsolation || (isOnServer && skipServer)
  t.test(
    `${name}: installed, restarted, backed up, restored, upgraded and back`,
    { skip, timeout: 1_200_000 },
    async (t) => {
      const layout = layoutsOf(t, built.first)[index]
      if (layout === undefined) throw new Error(name)
      t.equal(layout.name, name)
      const servers = await serversFor(t, layout)
      const deployment = deploy(t, built.first, layout, servers)
      if (name.includes('kubernetes')) {
        const unready = deploy(t, built.first, layout, {
          ...servers,
          PLATFORM_RATE_LIMIT_ANNOTATION_CLIENT_IP_TRUSTED_PROXIES: '["your-ingress-addresses"]',
        })
        const { code, stderr } = await unready.run(['start', '--no-supervisor'])
        t.strictSame([code, /PLINTH_CONFIG_INVALID_VALUE/.test(stderr)], [3, true], 'placeholders must be replaced')
      }
      const running = await deployment.start()
      await installWithWizard(t, layout, running)
      await checkSignIn(t, running.urls, 'after the installation')
      await running.stop()
      const again = await deployment.start()
      await checkSignIn(t, again.urls.slice(-1), 'after a restart')
      await again.stop()

      const next: Deployment = deploy(t, built.next, layout, servers)
      const [data = '', nextData = ''] = [deployment.data[0], next.data[0]]
      const environment = { ...programEnvironment(), DATA: data, TARGET: nextData, UID_OF_PRODUCT: String(layout.user) }
      const cwd = newFolder(t)
      const commands = (text = '') => {
        const adapted = isOnServer
          ? text.replaceAll(/^.*plinth\.sqlite.*\n/gm, '')
          : text.replaceAll('plinth.sqlite', sqliteFileOf(layout))
        const { status, stderr } = spawnSync('bash', ['-euc', adapted], { cwd, env: environment, encoding: 'utf8' })
        t.equal(status, 0, `${adapted}${stderr}`)
      }
      commands(backUp)
      commands(restore?.replaceAll('$DATA', '$TARGET'))
      const restored = await next.start()
      await checkSignIn(t, restored.urls.slice(-1), 'restored, with the next version')
      const status = await next.run(['migrate', '--status', '--json'])
      t.strictSame([status.code, /0001-create-order/.test(status.stdout)], [0, true], status.stdout)
      await restored.stop()
      const back = await deploy(t, built.first, layout, servers, next.data).start()
      await checkSignIn(t, back.urls.slice(-1), 'back on the first version, with the upgraded database')
      await back.stop()
    },
  )

  t.test(`${name}: installed with the command line`, { skip, timeout: 1_200_000 }, async (t) => {
    const layout = layoutsOf(t, built.first)[index]
    if (layout === undefined) throw new Error(name)
    const deployment = deploy(t, built.first, layout, await serversFor(t, layout))
    const { code, stdout, stderr } = await deployment.run(['install', '--answers', '-'], answers)
    t.equal(code, 0, stdout + stderr)
    const running = await deployment.start()
    await checkSignIn(t, running.urls, 'after the installation')
    await running.stop()
    const { stdout: doctor } = await deployment.run(['doctor', '--json'])
    const cache = JSON.parse(doctor).findings.find(({ check }: { check: string }) => check === 'compile cache')
    t.equal(cache.outcome, 'ok', cache.detail)
  })
}

/** The wizard chooses another file where it may. */
const sqliteFileOf = ({ fixed }: Layout) => (fixed.length === 0 ? 'other.sqlite' : 'plinth.sqlite')
