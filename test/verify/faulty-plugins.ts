/**
 * Plugins that each have one fault, packed as their authors would publish them. `plinth plugin verify` must report the
 * fault.
 */

export interface FaultyPlugin {
  /** Name of the package. */
  readonly name: string
  /** One sentence that describes the fault. */
  readonly fault: string
  /** Code of the problem that reports the fault. */
  readonly code: string
  /** Text that the problem must contain, because another problem may have the same code. */
  readonly names: string
  /** Content of each file by its path in the package. */
  readonly files: Readonly<Record<string, string>>
  /** True if the fault must also be found on PostgreSQL and MariaDB. */
  readonly onServers?: true
}

type Files = FaultyPlugin['files']

interface Source {
  /** Source of the statements before the declaration. */
  readonly before?: string
  /** Members of the declaration; none if omitted. */
  readonly members?: string
  /** Statements in `setup`. They can use the variable `context`. */
  readonly setup?: string
  readonly kernel?: string
}

const sourceOf = (name: string, { before = '', members = '', setup = '', kernel = '^1.0.0' }: Source) => `
import { definePlugin, key } from '@plinth/kernel'
${before}
export default definePlugin({
  id: '${name}',
  version: '1.0.0',
  kernel: '${kernel}',
  ${members}
  async setup(context) {
    ${setup}
  },
})
`

const manifestOf = (name: string, changes: object = {}) => ({
  name,
  version: '1.0.0',
  description: 'A plugin of ACME',
  license: 'MIT',
  keywords: ['plinth', 'plinth-plugin'],
  type: 'module',
  engines: { node: '>=24.7' },
  files: ['dist'],
  exports: { '.': './dist/plugin.js' },
  peerDependencies: {
    '@plinth/database': '^1.0.0',
    '@plinth/http': '^1.0.0',
    '@plinth/iam': '^1.0.0',
    '@plinth/kernel': '^1.0.0',
    '@plinth/migrations': '^1.0.0',
    '@plinth/outgoing-http': '^1.0.0',
  },
  ...changes,
})

/** Returns the files of a package. If `changes` sets a member of the manifest to `undefined`, the member is removed. */
export const filesOf = (name: string, source: Source, changes: object = {}, more: Files = {}): Files => ({
  'package.json': JSON.stringify(manifestOf(name, changes), undefined, 2),
  'README.md': `# ${name}\n`,
  'dist/plugin.js': sourceOf(name, source),
  ...more,
})

const textOf = (text: string) => `{ en: '${text}', 'zh-CN': '文字' }`
const withDatabase = "import { database } from '@plinth/database'"
export const httpImportLine = "import { http, Type } from '@plinth/http'"

/** Returns a sensitive key whose value is not sent to any address. */
const secretKey = (name: string) =>
  `config: { 'platform.${name}.token': key.string({ title: ${textOf('Token')}, required: true, sensitive: true }) },`

/** Returns the source of a route. `handler` is the source of a function. */
export const routeOf = (name: string, handler: string, { path = '', method = 'GET', access = "'public'" } = {}) => `
  context.services.http.route({
    method: '${method}',
    path: '/api/v1/${path}${name}',
    summary: 'A route of ACME',
    access: ${access},
    response: Type.Object({ value: Type.String() }),
    handler: ${handler},
  })`

const createTable = (table: string) => `
import { defineChangeSet } from '@plinth/migrations'
const createTable = defineChangeSet({
  id: '0001-create-table',
  up: ({ schema, type, sql }) => [
    schema.createTable('${table}').addColumn('id', type.id, (c) => c.primaryKey()).addColumn('note', type.text(200)),
  ],
})`

/** Faults of the package itself, which an installation with npm finds. */
const packages: readonly FaultyPlugin[] = [
  {
    name: 'acme-no-licence',
    fault: 'package.json has no licence',
    code: 'PLINTH_VERIFY_LICENCE',
    names: 'license',
    files: filesOf('acme-no-licence', {}, { license: undefined }),
  },
  {
    name: 'acme-old-engines',
    fault: 'engines allows a version of Node.js that cannot run the kernel',
    code: 'PLINTH_VERIFY_ENGINES',
    names: '>=18',
    files: filesOf('acme-old-engines', {}, { engines: { node: '>=18' } }),
  },
  {
    name: 'acme-common-js',
    fault: 'the plugin is a CommonJS module',
    code: 'PLINTH_VERIFY_NOT_ESM',
    names: 'dist/plugin.js',
    files: filesOf(
      'acme-common-js',
      {},
      { type: 'commonjs' },
      {
        'dist/plugin.js': `
const { definePlugin } = require('@plinth/kernel')
module.exports = definePlugin({ id: 'acme-common-js', version: '1.0.0', kernel: '^1.0.0', setup() {} })
`,
      },
    ),
  },
  {
    name: 'acme-files-left-out',
    fault: '`files` of package.json lacks the folder of the texts that the plugin imports',
    code: 'PLINTH_VERIFY_FILE_NOT_PACKED',
    names: 'messages/en.json',
    files: filesOf(
      'acme-files-left-out',
      {
        before: "import en from '../messages/en.json' with { type: 'json' }",
        members: "messages: { en, 'zh-CN': en },",
      },
      {},
      { 'messages/en.json': '{ "acme": { "hello": "Hello" } }' },
    ),
  },
  {
    name: 'acme-no-dependency',
    fault: 'the plugin imports a package that package.json does not list and that only another package installed',
    code: 'PLINTH_VERIFY_DEPENDENCY_UNDECLARED',
    names: 'semver',
    files: filesOf('acme-no-dependency', { before: "import semver from 'semver'", setup: "semver.valid('1.0.0')" }),
  },
  {
    name: 'acme-private-path',
    fault: 'the plugin imports a private file of another plugin',
    code: 'PLINTH_VERIFY_PRIVATE_IMPORT',
    names: '@plinth/iam/src/config.ts',
    files: filesOf('acme-private-path', {
      before: "import * as iam from '@plinth/iam/src/config.ts'",
      setup: 'Object.keys(iam)',
    }),
  },
  {
    name: 'acme-own-kernel',
    fault: 'the kernel is a dependency, so that npm may install a second copy',
    code: 'PLINTH_VERIFY_KERNEL_NOT_PEER',
    names: '@plinth/kernel',
    files: filesOf(
      'acme-own-kernel',
      {},
      {
        dependencies: { '@plinth/kernel': '^1.0.0' },
        peerDependencies: {},
      },
    ),
  },
]

/** Faults of the declaration, which the planner and the configuration report. */
const declarations: readonly FaultyPlugin[] = [
  {
    name: 'acme-missing-texts',
    fault: 'a text is missing in Chinese',
    code: 'PLINTH_PLAN_MESSAGES_INCOMPLETE',
    names: 'zh-CN',
    files: filesOf('acme-missing-texts', {
      members: "messages: { en: { acme: { yes: 'Yes', no: 'No' } }, 'zh-CN': { acme: { yes: '是' } } },",
    }),
  },
  {
    name: 'acme-key-without-schema',
    fault: 'a key has a default but no schema',
    code: 'PLINTH_PLAN_INVALID_KEY',
    names: 'platform.acme-key-without-schema.size',
    files: filesOf('acme-key-without-schema', {
      members: "config: { 'platform.acme-key-without-schema.size': { title: 'Size', default: 1 } },",
    }),
  },
  {
    name: 'acme-open-route',
    fault: 'a route of the back office changes data and requires no permission',
    code: 'PLINTH_HTTP_ROUTE_REFUSED',
    names: 'POST /api/v1/admin/acme-open-route',
    files: filesOf('acme-open-route', {
      before: httpImportLine,
      members: 'requires: { http },',
      setup: routeOf('acme-open-route', "() => ({ value: 'changed' })", { path: 'admin/', method: 'POST' }),
    }),
  },
  {
    name: 'acme-missing-permission',
    fault: 'a route requires a permission that no plugin declares',
    code: 'PLINTH_IAM_PERMISSION_UNDECLARED',
    names: 'acme:edit',
    files: filesOf('acme-missing-permission', {
      before: httpImportLine,
      members: 'requires: { http },',
      setup: routeOf('acme-missing-permission', "() => ({ value: 'x' })", {
        path: 'admin/',
        access: "{ permission: 'acme:edit', scope: 'none' }",
      }),
    }),
  },
]

/** Faults that affect the process in which the plugin runs. */
const processes: readonly FaultyPlugin[] = [
  {
    name: 'acme-import-effect',
    fault: 'importing the package starts a timer',
    code: 'PLINTH_VERIFY_IMPORT_EFFECT',
    names: 'Timeout',
    files: filesOf('acme-import-effect', { before: 'setInterval(() => {}, 60_000).unref()' }),
  },
  {
    name: 'acme-process-exit',
    fault: 'the plugin ends the process if its licence file is missing',
    code: 'PLINTH_PROCESS_ENDED',
    names: 'exit code 4',
    files: filesOf('acme-process-exit', {
      before: "import { existsSync } from 'node:fs'",
      setup: "if (!existsSync('/acme/licence.key')) process.exit(4)",
    }),
  },
  {
    name: 'acme-unhandled-rejection',
    fault: 'nobody handles the failure of work that setup starts',
    code: 'PLINTH_UNHANDLED_ERROR',
    names: 'no connection to ACME',
    files: filesOf('acme-unhandled-rejection', {
      before: 'async function connect() {\n  throw new Error("no connection to ACME")\n}',
      setup: 'context.onReady(() => void connect())',
    }),
  },
  {
    name: 'acme-slow-start',
    fault: 'setup waits four seconds',
    code: 'PLINTH_VERIFY_SLOW_SETUP',
    names: 'setup',
    files: filesOf('acme-slow-start', { setup: 'await new Promise((resolve) => setTimeout(resolve, 4000))' }),
  },
  {
    name: 'acme-endless-stop',
    fault: 'the plugin never finishes its stop',
    code: 'PLINTH_DEADLINE_PASSED',
    names: 'stop',
    files: filesOf('acme-endless-stop', { setup: 'context.onStop(() => new Promise(() => {}))' }),
  },
  {
    name: 'acme-leaked-timer',
    fault: 'a timer of the plugin still runs after its stop',
    code: 'PLINTH_VERIFY_LEFT_OPEN',
    names: 'Timeout',
    files: filesOf('acme-leaked-timer', { setup: 'setInterval(() => {}, 30_000)' }),
    onServers: true,
  },
  {
    name: 'acme-leaked-listener',
    fault: 'a listener of the plugin stays on the process after its stop',
    code: 'PLINTH_VERIFY_LISTENER_LEFT',
    names: 'SIGUSR2',
    files: filesOf('acme-leaked-listener', { setup: "process.on('SIGUSR2', () => {})" }),
  },
  {
    name: 'acme-environment',
    fault: 'the plugin changes a variable of the process',
    code: 'PLINTH_VERIFY_GLOBAL_CHANGED',
    names: 'process.env.TZ',
    files: filesOf('acme-environment', { setup: "process.env.TZ = 'Asia/Tokyo'" }),
  },
  {
    name: 'acme-prototype',
    fault: 'the plugin adds a method to all arrays',
    code: 'PLINTH_VERIFY_GLOBAL_CHANGED',
    names: 'Array.prototype.last',
    files: filesOf('acme-prototype', {
      setup:
        "Object.defineProperty(Array.prototype, 'last', { configurable: true, value() { return this[this.length - 1] } })",
    }),
  },
  {
    name: 'acme-blocked-loop',
    fault: 'a request blocks the event loop for two seconds of processor time',
    code: 'PLINTH_VERIFY_LOOP_BLOCKED',
    names: 'GET /api/v1/acme-blocked-loop',
    files: filesOf('acme-blocked-loop', {
      before: `${httpImportLine}
function search() {
  const used = () => process.threadCpuUsage().user + process.threadCpuUsage().system
  const end = used() + 2_000_000
  while (used() < end);
  return { value: 'found' }
}`,
      members: 'requires: { http },',
      setup: routeOf('acme-blocked-loop', 'search'),
    }),
  },
  {
    name: 'acme-memory-growth',
    fault: 'each start stores 16 MB that no stop releases',
    code: 'PLINTH_VERIFY_MEMORY_GROWTH',
    names: 'MB',
    files: filesOf('acme-memory-growth', {
      before: 'const kept = []',
      setup: 'kept.push(Array.from({ length: 2_000_000 }, (_, index) => index + 0.5))',
    }),
  },
  {
    name: 'acme-undeclared-host',
    fault: 'the plugin sends statistics to a host that it does not declare',
    code: 'PLINTH_VERIFY_HOST_UNDECLARED',
    names: 'telemetry.acme.example',
    files: filesOf('acme-undeclared-host', {
      members: "outgoingHosts: ['api.acme.example'],",
      setup: "context.onReady(() => void fetch('https://telemetry.acme.example/v1').catch(() => {}))",
    }),
  },
]

/** Faults that concern secrets and stored data. */
const data: readonly FaultyPlugin[] = [
  {
    name: 'acme-logged-secret',
    fault: 'the plugin prints its secret in a form that the log does not mask',
    code: 'PLINTH_VERIFY_SECRET_LOGGED',
    names: 'platform.acme-logged-secret.token',
    files: filesOf('acme-logged-secret', {
      members: secretKey('acme-logged-secret'),
      setup: `
    const token = context.config.get('platform.acme-logged-secret.token')
    context.log.info({ token: Buffer.from(token).toString('hex') }, 'connecting')`,
    }),
  },
  {
    name: 'acme-sent-secret',
    fault: 'a public route returns the secret',
    code: 'PLINTH_VERIFY_SECRET_SENT',
    names: 'platform.acme-sent-secret.token',
    files: filesOf('acme-sent-secret', {
      before: httpImportLine,
      members: `requires: { http }, ${secretKey('acme-sent-secret')}`,
      setup: routeOf(
        'acme-sent-secret',
        "() => ({ value: encodeURIComponent(context.config.get('platform.acme-sent-secret.token')) })",
      ),
    }),
  },
  {
    name: 'acme-stored-secret',
    fault: 'the secret is stored in a table in clear text',
    code: 'PLINTH_VERIFY_SECRET_STORED',
    names: 'acme_stored_secret',
    files: filesOf('acme-stored-secret', {
      before: `${withDatabase}${createTable('acme_stored_secret')}`,
      members: `requires: { database }, migrations: [createTable], ${secretKey('acme-stored-secret')}`,
      setup: `
    const { database } = context.services
    context.onReady(async () => {
      if (context.roles.has('cli')) return
      const token = context.config.get('platform.acme-stored-secret.token')
      await database.execute('insert into acme_stored_secret (id, note) values (?, ?)', [database.newId(), token])
    })`,
    }),
    onServers: true,
  },
  {
    name: 'acme-undeclared-table',
    fault: 'setup creates a table without a change set',
    code: 'PLINTH_VERIFY_TABLE_UNDECLARED',
    names: 'acme_hidden',
    files: filesOf('acme-undeclared-table', {
      before: withDatabase,
      members: 'requires: { database },',
      setup: `
    const { database } = context.services
    context.onReady(() => database.execute('create table if not exists acme_hidden (id integer primary key)'))`,
    }),
    onServers: true,
  },
  {
    name: 'acme-change-set-once',
    fault: 'a change set creates a view that the removal leaves, so that the change set fails the second time',
    code: 'PLINTH_VERIFY_MIGRATION_REPEAT',
    names: 'acme_report',
    files: filesOf('acme-change-set-once', {
      before: `${withDatabase}
import { defineChangeSet } from '@plinth/migrations'
const createReport = defineChangeSet({
  id: '0001-create-report',
  up: ({ sql }) => [sql\`create view acme_report as select 1 as total\`],
})`,
      members: 'requires: { database }, migrations: [createReport],',
    }),
    onServers: true,
  },
  {
    name: 'acme-data-left',
    fault: 'the plugin adds a role that stays after its removal',
    code: 'PLINTH_VERIFY_DATA_LEFT',
    names: 'iam_role',
    files: filesOf('acme-data-left', {
      before: `${withDatabase}\nimport { accounts } from '@plinth/iam'`,
      members: 'requires: { accounts, database },',
      setup: `
    const { database } = context.services
    context.onReady(async () => {
      const [role] = await database.query("select id from iam_role where code = 'acme-agent'")
      if (role !== undefined) return
      const now = new Date(database.clock.now())
      await database.execute(
        'insert into iam_role (id, code, name, built_in, data_scope, version, created_at, updated_at)' +
          " values (?, 'acme-agent', 'ACME', ?, 'all', 1, ?, ?)",
        [database.newId(), false, now, now],
      )
    })`,
    }),
    onServers: true,
  },
]

/** Faults in the tests that the package declares. */
const tests: readonly FaultyPlugin[] = [
  {
    name: 'acme-kit-failed',
    fault: 'the channel does not pass its conformance kit: it drops the subject and reports success',
    code: 'PLINTH_VERIFY_KIT_FAILED',
    names: 'acme-kit-failed',
    files: filesOf(
      'acme-kit-failed',
      {
        before: `
import { notificationChannel } from '@plinth/kernel'
const messages = []
export const delivered = () => messages
export const channel = {
  displayName: ${textOf('ACME')},
  recipientKinds: [],
  traits: { idempotent: false },
  async send({ content }) {
    messages.push({ content })
    return { outcome: 'accepted' }
  },
}`,
        members: 'contributes: [notificationChannel],',
        setup: "context.contribute(notificationChannel, 'acme', channel)",
      },
      { scripts: { test: 'node --test test/kit.test.js' } },
      {
        'test/kit.test.js': `
import { test } from 'node:test'
import { notificationChannelCases } from '@plinth/dev/conformance'
import { channel, delivered } from '../dist/plugin.js'
for (const { name, run } of notificationChannelCases(() => ({ channel, delivered }), { nextHop: 'none' })) test(name, run)
`,
      },
    ),
  },
]

export const faultyPlugins: readonly FaultyPlugin[] = [packages, declarations, processes, data, tests].flat()
