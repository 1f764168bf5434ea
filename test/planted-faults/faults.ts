import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'

/** A product in its own directory. A test can add a problem to it. */
interface PlantedProduct {
  readonly directory: string
  /** Writes a file of the product. */
  write(file: string, text: string): void
  /** Runs command lines of the product. */
  run(...commands: readonly string[]): void
  /** Registers a function that is called after the problem was tested. */
  afterwards(end: () => unknown): void
}

/** Problems that prevent a start. For each of them, `plinth doctor` and `plinth start` must report the same code. */
export interface PlantedFault {
  readonly title: string
  /** Code that both `plinth doctor` and `plinth start` report. */
  readonly code: string
  /** If true, doctor passes and the product starts, both with a warning. Otherwise both fail. */
  readonly isWarning?: true
  /** If true, the product file cannot be read, so both commands exit with code 3. */
  readonly isRejected?: true
  /** Members of the plugin `planted`, and the code before the plugin in its file. */
  readonly plugin?: { readonly members: string; readonly before?: string }
  /** Lines of `.env`. */
  readonly settings?: string
  /** Version of Node.js that runs the program. */
  readonly nodeVersion?: string
  /** Function that creates further parts of the problem. */
  readonly plant?: (product: PlantedProduct) => unknown
}

const addRoutes = (route: string) => ({
  before: `import { http, Type } from '@plinth/http'`,
  members: `requires: { http }, setup({ services }) { services.http.route(${route}) }`,
})
const route = (members: string) =>
  `{ method: 'GET', path: '/api/v1/planted', summary: 'Planted', access: 'public', response: Type.Object({}), handler: () => ({}), ${members} }`
const otherPlugin = (id: string, members: string) =>
  `export const other = definePlugin({ id: '${id}', version: '1.0.0', kernel: '^1.0.0', ${members} })`
const changeSet = (up: string) => ({
  before: `import { defineChangeSet } from '@plinth/migrations'`,
  members: `migrations: [defineChangeSet({ id: '0001-create-planted', up: ({ schema, type }) => [${up}] })]`,
})
const table = (name: string, column: string) =>
  `schema.createTable('${name}').addColumn('id', type.id, (c) => c.primaryKey()).addColumn('${column}', type.text(20))`
const page = (members: string) => ({
  before: `import { adminPages } from '@plinth/admin'`,
  members: `contributes: [adminPages], setup({ contribute }) {
    contribute(adminPages, 'planted.list', { kind: 'list', id: 'planted.list', title: 'Planted', place: { group: 'product', order: 1 }, ${members} })
  }`,
})

async function occupied(product: PlantedProduct): Promise<void> {
  const server: Server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  product.afterwards(() => server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  product.write('.env', `PLATFORM_HTTP_PORT=${address.port}\n`)
}

export const plantedFaults: readonly PlantedFault[] = [
  // Problems of the host and the product file
  { title: 'Node.js is too old', code: 'PLINTH_NODE_VERSION', nodeVersion: '22.23.3' },
  {
    title: 'the product file is missing',
    code: 'PLINTH_PRODUCT_NOT_FOUND',
    isRejected: true,
    plant: ({ directory }) => rmSync(join(directory, 'plinth.config.ts')),
  },
  {
    title: 'the product file exports something else',
    code: 'PLINTH_PRODUCT_INVALID',
    isRejected: true,
    plant: ({ write }) => write('plinth.config.ts', 'export default { plugins: [] }\n'),
  },
  {
    title: 'an imported file has a syntax error',
    code: 'PLINTH_PRODUCT_IMPORT',
    isRejected: true,
    plant: ({ write }) => write('planted.ts', 'export default {,}\n'),
  },
  {
    title: 'an imported package is not installed',
    code: 'PLINTH_PRODUCT_IMPORT',
    isRejected: true,
    plugin: { before: `import 'acme-absent'`, members: '' },
  },
  // The plan
  {
    title: 'a required service is not provided',
    code: 'PLINTH_PLAN_MISSING_SERVICE',
    plugin: { members: `requires: { absent: service('acme.absent') }` },
  },
  {
    title: 'a required service is provided in commands only',
    code: 'PLINTH_PLAN_SERVICE_NOT_IN_ROLE',
    plugin: {
      before: otherPlugin(
        'clerk',
        `roles: ['cli'], provides: [service('acme.clerk')], setup({ provide }) { provide(service('acme.clerk'), {}) }`,
      ),
      members: `requires: { clerk: service('acme.clerk') }`,
    },
  },
  {
    title: 'a plugin needs another version of the kernel',
    code: 'PLINTH_PLAN_KERNEL_VERSION',
    plugin: { members: `kernel: '^99.0.0'` },
  },
  // Values
  { title: 'a line of .env is not an assignment', code: 'PLINTH_CONFIG_SOURCE', settings: 'PLATFORM_LOG_LEVEL: info' },
  { title: '.env has an unknown key', code: 'PLINTH_CONFIG_UNKNOWN_KEY', settings: 'PLATFORM_LOG_LEVVEL=info' },
  { title: '.env has an invalid value', code: 'PLINTH_CONFIG_INVALID_VALUE', settings: 'PLATFORM_HTTP_PORT=many' },
  {
    title: 'a required key has no value',
    code: 'PLINTH_CONFIG_REQUIRED',
    plugin: { members: `config: { 'platform.planted.name': key.string({ title: 'Name', required: true }) }` },
  },
  {
    title: '.env gives a scheduled task the name of another one',
    code: 'PLINTH_CONFIG_TASK_NAME',
    settings: 'PLATFORM_PLANTED_TASK_NAME=storage.sweep',
    plugin: {
      members: `config: { 'platform.planted.task-name': key.string({ title: 'Name', default: 'planted.count' }) },
        scheduledTasks: [{
          name: 'planted.count', nameFrom: 'platform.planted.task-name', displayName: 'Count', fixedDelay: 60_000,
          autoStartup: true, run() {},
        }]`,
    },
  },
  {
    title: 'the rate limit store is not loaded',
    code: 'PLINTH_RATE_LIMIT_UNKNOWN_STORE',
    settings: 'PLATFORM_RATE_LIMIT_DEFAULT_STORE=memcached',
  },
  {
    title: 'a stored value is invalid for its plugin',
    code: 'PLINTH_STORAGE_DISK_UNKNOWN',
    plant({ write, run }) {
      // The configuration value is stored while a plugin provides the disk. Afterwards, this plugin is removed from the
      // product.
      write('planted.ts', pluginFile(diskPlugin))
      run('migrate')
      run('config set platform.storage.public-disk shelf')
      write('planted.ts', pluginFile({ members: '' }))
    },
  },
  // Setup
  {
    title: 'the setup of a plugin throws',
    code: 'PLINTH_START_FAILED',
    plugin: { members: `setup() { throw new Error('no paper') }` },
  },
  {
    title: 'the setup of a plugin does not end',
    code: 'PLINTH_DEADLINE_PASSED',
    plugin: { members: `setupDeadlineMs: 20, setup: () => new Promise(() => {})` },
  },
  {
    title: 'the setup of a plugin ends the process with exit code 0',
    code: 'PLINTH_PROCESS_ENDED',
    plugin: { members: `setup() { process.exit(0) }` },
  },
  {
    title: 'a plugin does not provide its service',
    code: 'PLINTH_SERVICE_NOT_PROVIDED',
    plugin: { members: `provides: [service('planted.service')]` },
  },
  {
    title: 'two plugins contribute under one name',
    code: 'PLINTH_CONTRIBUTION_DUPLICATE',
    plugin: {
      before: `import { healthCheck } from '@plinth/kernel'
${otherPlugin('other', `contributes: [healthCheck], setup({ contribute }) { contribute(healthCheck, 'planted', () => {}) }`)}`,
      members: `contributes: [healthCheck], setup({ contribute }) { contribute(healthCheck, 'planted', () => {}) }`,
    },
  },
  // The database and Redis
  {
    title: 'an applied change set was changed',
    code: 'PLINTH_MIGRATION_CHECKSUM',
    plugin: changeSet(table('planted', 'title')),
    plant({ write, run }) {
      write('planted.ts', pluginFile(changeSet(table('planted', 'name'))))
      run('migrate')
      write('planted.ts', pluginFile(changeSet(table('planted', 'title'))))
    },
  },
  {
    title: 'a pending change set is invalid',
    code: 'PLINTH_MIGRATION_INVALID',
    plugin: changeSet('null'),
  },
  {
    title: 'a pending change set cannot be applied',
    code: 'PLINTH_MIGRATION_FAILED',
    plugin: changeSet(`${table('planted', 'name')}, ${table('planted', 'name')}`),
    plant: ({ run }) => run('migrate'),
  },
  {
    title: 'a pending change set changes a table of another plugin',
    code: 'PLINTH_MIGRATION_TABLE_OF_OTHER',
    plugin: changeSet(table('iam_user', 'name')),
  },
  {
    title: 'the database server cannot be reached',
    code: 'PLINTH_DATABASE_UNREACHABLE',
    settings: [
      'PLATFORM_DATABASE_TYPE=postgresql',
      'PLATFORM_DATABASE_HOST=127.0.0.1',
      'PLATFORM_DATABASE_PORT=9',
      'PLATFORM_DATABASE_NAME=shop',
      'PLATFORM_DATABASE_USERNAME=shop',
    ].join('\n'),
  },
  {
    title: 'the SQLite file is not a database',
    code: 'PLINTH_DATABASE_FILE',
    plant: ({ write }) =>
      write('shop.sqlite', 'This is a text, and long enough to be read as a page of a database.'.repeat(99)),
  },
  {
    title: 'the directory of the SQLite file cannot be created',
    code: 'PLINTH_DATABASE_FILE',
    settings: 'PLATFORM_DATABASE_SQLITE_FILE=planted.ts/shop.sqlite',
  },
  {
    title: 'Redis cannot be reached',
    code: 'PLINTH_SHARED_STORE_UNAVAILABLE',
    settings:
      'PLATFORM_CACHE_ENABLED=true\nPLATFORM_CACHE_HOST=127.0.0.1\nPLATFORM_CACHE_PORT=9\nPLATFORM_CACHE_CONNECT_TIMEOUT=1s',
  },
  // Problems of routes, pages and the port
  { title: 'another program uses the port', code: 'PLINTH_HTTP_LISTEN', plant: occupied },
  {
    title: 'a route declares no data scope',
    code: 'PLINTH_HTTP_SCOPE_MISSING',
    plugin: addRoutes(route(`path: '/api/v1/admin/planted', access: { permission: 'planted:read' }`)),
  },
  {
    title: 'two plugins add one route',
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    plugin: addRoutes(route(`path: '/api/v1/auth/login', method: 'POST'`)),
  },
  {
    title: 'a route needs an undeclared permission',
    code: 'PLINTH_IAM_PERMISSION_UNDECLARED',
    plugin: addRoutes(route(`path: '/api/v1/admin/planted', access: { permission: 'planted:read', scope: 'none' }`)),
  },
  {
    title: 'a rate limit of a route is invalid',
    code: 'PLINTH_RATE_LIMIT_DECLARATION',
    plugin: {
      before: `import { http, Type } from '@plinth/http'\nimport { routeLimits } from '@plinth/rate-limit'`,
      members: `requires: { http, routeLimits }, setup({ services }) {
        services.http.route(${route('')})
        services.routeLimits.under('planted', { maxAttempts: 1 })
      }`,
    },
  },
  {
    title: 'an amount on a page has no unit',
    code: 'PLINTH_CONSOLE_AMOUNT_UNIT',
    plugin: page(`source: 'getAdminIamUsers', key: 'id', columns: [{ field: 'id', as: 'amount' }]`),
  },
  {
    title: 'a page shows an unknown operation',
    code: 'PLINTH_CONSOLE_PAGE',
    isWarning: true,
    plugin: page(`source: 'getPlanted', key: 'id', columns: []`),
  },
]

const diskPlugin = {
  before: `import { storageDisk } from '@plinth/storage'`,
  members: `contributes: [storageDisk], setup({ contribute }) {
    const none = async () => undefined
    contribute(storageDisk, 'shelf', { visibility: 'public', verify: none, write: none, open: none, stat: none, delete: none, async *list() {} })
  }`,
}

/** Text of the file `planted.ts`. */
export function pluginFile({ members, before = '' }: { readonly members: string; readonly before?: string }): string {
  const kernel = members.includes('kernel:') ? '' : `kernel: '^1.0.0',`
  const others = before.includes('const other') ? '[planted, other]' : '[planted]'
  return `// @ts-nocheck
import { definePlugin, key, service } from '@plinth/kernel'
${before}
const planted = definePlugin({ id: 'planted', version: '1.0.0', ${kernel} ${members} })
export default ${others}
`
}

export const writeFile = (directory: string) => (file: string, text: string) =>
  writeFileSync(join(directory, file), text)
