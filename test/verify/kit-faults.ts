/**
 * Plugins that violate a contract. `plinth plugin verify` runs the conformance kit of this contract itself, so it finds
 * the violation even if the author has no tests.
 */
import { type FaultyPlugin, filesOf, httpImportLine, routeOf } from './faulty-plugins.ts'

export interface KitFault {
  readonly name: string
  readonly fault: string
  /** Texts that the reported problem must contain. */
  readonly names: readonly string[]
  readonly files: FaultyPlugin['files']
}

const textOf = (text: string) => `{ en: '${text}', 'zh-CN': '文字' }`
const peers = (...names: string[]) => ({
  peerDependencies: Object.fromEntries(['kernel', ...names].map((name) => [`@plinth/${name}`, '^1.0.0'])),
})

const table = (name: string) => `
import { database } from '@plinth/database'
import { defineChangeSet } from '@plinth/migrations'
const createTable = defineChangeSet({
  id: '0001-create-table',
  up: ({ schema, type }) => [
    schema.createTable('${name}').addColumn('id', type.id, (c) => c.primaryKey()).addColumn('note', type.text(200)),
  ],
})`

const disk = (members: string) => `
import { storageDisk } from '@plinth/storage'
import { Readable } from 'node:stream'
const files = new Map()
const bytesOf = async (content) => Buffer.concat(await Array.fromAsync(content))
const statOf = (path, bytes) => ({ path, size: bytes.length, modifiedAt: new Date(0) })
const isBelow = (path, directory) => directory === '' || path.startsWith(directory + '/')
const disk = {
  visibility: 'private',
  write: async (path, content) => void files.set(path, await bytesOf(content)),
  open: async (path) => {
    const bytes = files.get(path)
    return bytes && { ...statOf(path, bytes), content: Readable.from([bytes], { objectMode: false }) }
  },
  stat: async (path) => files.get(path) && statOf(path, files.get(path)),
  delete: async (path) => files.delete(path),
  async *list(directory) {
    for (const [path, bytes] of files) if (isBelow(path, directory)) yield statOf(path, bytes)
  },
  verify: async () => {},
  ${members}
}`

const page = (action: string) => `
import { adminPages } from '@plinth/admin'
const page = {
  id: 'acme-page',
  kind: 'detail',
  title: ${textOf('Shop')},
  source: 'getAdminAcmePage',
  place: { group: 'product', order: 900 },
  sections: [{ columns: [{ field: 'value', as: 'text' }] }],
  actions: [{ label: ${textOf('Delete')}, operation: 'deleteAdminAcmePage', params: {}${action} }],
}`

export const correctDiskFiles = filesOf(
  'acme-honest-disk',
  { before: disk(''), members: 'contributes: [storageDisk],', setup: "context.contribute(storageDisk, 'acme', disk)" },
  peers('storage', 'http'),
)

export const kitFaults: readonly KitFault[] = [
  {
    name: 'acme-late-task',
    fault: 'a scheduled task inserts a row after an abort',
    names: ['The scheduled task "acme-late-task.poll"', 'an aborted run does nothing'],
    files: filesOf('acme-late-task', {
      before: table('acme_late_task'),
      members: `
  requires: { database },
  migrations: [createTable],
  scheduledTasks: [
    {
      name: 'acme-late-task.poll',
      displayName: ${textOf('Poll')},
      fixedDelay: 3_600_000,
      autoStartup: false,
      async run({ services: { database } }) {
        await database.execute('insert into acme_late_task (id, note) values (?, ?)', [database.newId(), 'polled'])
      },
    },
  ],`,
    }),
  },
  {
    name: 'acme-broken-disk',
    fault: 'a disk converts the content of files to text',
    names: ['The disk "acme"', 'files come back as they were'],
    files: filesOf(
      'acme-broken-disk',
      {
        before: disk(
          'write: async (path, content) => void files.set(path, Buffer.from(String(await bytesOf(content)))),',
        ),
        members: 'contributes: [storageDisk],',
        setup: "context.contribute(storageDisk, 'acme', disk)",
      },
      peers('storage', 'http'),
    ),
  },
  {
    name: 'acme-revealing-guard',
    fault: 'a login guard rejects unknown accounts only',
    names: ['The login guard "acme"', 'does not reveal whether an account exists'],
    files: filesOf('acme-revealing-guard', {
      before: `
import { loginGuard } from '@plinth/iam'
import { BusinessError } from '@plinth/kernel'
let unknown = 0
const guard = {
  beforeAttempt({ userId }) {
    if (userId === null && unknown++ > 1) throw new BusinessError('429', 'Too many attempts')
  },
}`,
      members: 'contributes: [loginGuard],',
      setup: "context.contribute(loginGuard, 'acme', guard)",
    }),
  },
  {
    name: 'acme-writing-preview',
    fault: 'the preview of a cleanup inserts a row',
    names: ['The cleanup "acme"', 'a preview only reads'],
    files: filesOf('acme-writing-preview', {
      before: `${table('acme_writing_preview')}
import { quickstartCleanup } from '@plinth/kernel'`,
      members: 'requires: { database }, migrations: [createTable], contributes: [quickstartCleanup],',
      setup: `
    const { database } = context.services
    context.contribute(quickstartCleanup, 'acme', {
      displayName: ${textOf('ACME')},
      dataType: 'demo-acme',
      async preview() {
        await database.execute('insert into acme_writing_preview (id, note) values (?, ?)', [database.newId(), 'asked'])
        return { targets: [], blockers: [] }
      },
      execute: async () => ({}),
    })`,
    }),
  },
  {
    name: 'acme-page',
    fault: 'an action of a page deletes without a question',
    names: ['A page of the back office', 'a deletion asks first'],
    files: filesOf(
      'acme-page',
      {
        before: `${httpImportLine}${page('')}`,
        members: `
  requires: { http },
  contributes: [adminPages],
  messages: {
    en: { 'acme-page': { fields: { value: 'Value' } } },
    'zh-CN': { 'acme-page': { fields: { value: '值' } } },
  },
  permissions: [{ code: 'acme-page:edit', displayName: ${textOf('Edit')} }],`,
        setup: ['GET', 'DELETE']
          .map((method) =>
            routeOf('acme-page', "() => ({ value: 'x' })", {
              path: 'admin/',
              method,
              access: "{ permission: 'acme-page:edit', scope: 'none' }",
            }),
          )
          .concat('context.contribute(adminPages, page.id, page)')
          .join('\n'),
      },
      peers('admin', 'http', 'iam', 'console'),
    ),
  },
]

interface UpgradeFault {
  readonly name: string
  readonly fault: string
  readonly code: string
  readonly old: FaultyPlugin['files']
  readonly files: FaultyPlugin['files']
}

/**
 * Returns the files of a plugin with a table. `more` contains the source of further change sets. `first` replaces the
 * first change set.
 */
const stored = (name: string, version: string, { first = '', more = '', setup = '', columns = 'id, note' } = {}) => {
  const tableName = name.replaceAll('-', '_')
  const createTable = `defineChangeSet({
  id: '0001-create-table',
  up: ({ schema, type }) => [
    schema.createTable('${tableName}').addColumn('id', type.id, (c) => c.primaryKey()).addColumn('note', type.text(200)),
  ],
})`
  const files = filesOf(
    name,
    {
      before: `
import { database } from '@plinth/database'
import { defineChangeSet } from '@plinth/migrations'
${httpImportLine}
const changeSets = [${first || createTable}${more}]`,
      members: 'requires: { database, http }, migrations: changeSets,',
      setup: `${setup}
    const { database } = context.services
    ${routeOf(name, `async () => ({ value: String((await database.query('select ${columns} from ${tableName}')).length) })`)}`,
    },
    { version },
  )
  return Object.fromEntries(
    Object.entries(files).map(([path, text]) => [path, text.replace("version: '1.0.0'", `version: '${version}'`)]),
  )
}
const changeSet = (id: string, body: string, more = '') =>
  `, defineChangeSet({ id: '${id}', ${more} up: ({ schema, sql, type }) => [${body}] })`

/** A correct upgrade: the new version adds a nullable column and a table. */
export const correctUpgrade = {
  old: stored('acme-honest-upgrade', '1.0.0'),
  files: stored('acme-honest-upgrade', '1.1.0', {
    more:
      changeSet('0002-add-colour', "schema.alterTable('acme_honest_upgrade').addColumn('colour', type.text(20))") +
      changeSet('0003-create-part', "schema.createTable('acme_part').addColumn('id', type.id, (c) => c.primaryKey())"),
  }),
}

export const upgradeFaults: readonly UpgradeFault[] = [
  {
    name: 'acme-edited-change-set',
    fault: 'an executed change set was edited',
    code: 'PLINTH_VERIFY_UPGRADE_FAILED',
    old: stored('acme-edited-change-set', '1.0.0'),
    files: stored('acme-edited-change-set', '1.1.0', {
      first: `defineChangeSet({
  id: '0001-create-table',
  up: ({ schema, type }) => [
    schema.createTable('acme_edited_change_set')
      .addColumn('id', type.id, (c) => c.primaryKey()).addColumn('note', type.text(400)),
  ],
})`,
    }),
  },
  {
    name: 'acme-removed-change-set',
    fault: 'a published change set was removed',
    code: 'PLINTH_VERIFY_CHANGE_SET_GONE',
    old: stored('acme-removed-change-set', '1.0.0', {
      more: changeSet(
        '0002-index-note',
        "schema.createIndex('acme_note').on('acme_removed_change_set').column('note')",
      ),
    }),
    files: stored('acme-removed-change-set', '1.1.0'),
  },
  {
    name: 'acme-lost-rows',
    fault: 'a change set drops the table of the previous version',
    code: 'PLINTH_VERIFY_UPGRADE_LOST',
    old: stored('acme-lost-rows', '1.0.0'),
    files: stored('acme-lost-rows', '1.1.0', {
      more: changeSet(
        '0002-drop',
        "schema.dropTable('acme_lost_rows')",
        "breaking: 'The table is not used any more.',",
      ),
    }),
  },
  {
    name: 'acme-narrow-table',
    fault: 'a change set drops a column that instances of the previous version read',
    code: 'PLINTH_VERIFY_DOWNGRADE',
    old: stored('acme-narrow-table', '1.0.0', {
      setup: `
    context.onReady(async () => {
      if (!context.roles.has('cli')) await context.services.database.query('select note from acme_narrow_table')
    })`,
    }),
    files: stored('acme-narrow-table', '1.1.0', {
      columns: 'id',
      more: changeSet(
        '0002-drop-note',
        "schema.alterTable('acme_narrow_table').dropColumn('note')",
        "breaking: 'The column is not used any more.',",
      ),
    }),
  },
  {
    name: 'acme-old-rows',
    fault: 'a route of the new version fails for rows of the previous version',
    code: 'PLINTH_VERIFY_ROUTE_FAILED',
    old: stored('acme-old-rows', '1.0.0'),
    files: Object.fromEntries(
      Object.entries(stored('acme-old-rows', '1.1.0')).map(([path, text]) => [
        path,
        text.replace('.length) })', '.map(({ note }) => JSON.parse(note).text.length)) })'),
      ]),
    ),
  },
]
