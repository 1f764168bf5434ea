import { type IndexDef, type SchemaDifference, type SqlEntityManager, SqlSchemaGenerator } from '@mikro-orm/sql'
import { type Column, type ColumnKind, type Entity, type Table, tableOf } from '@plinth/database'
import type { PluginChangeSets } from '@plinth/migrations'

/** A change set that would adapt the database to the entities of a plugin. */
export interface ChangeSetDraft {
  readonly plugin: string
  readonly id: string
  /** TypeScript source. Review it and save it in `migrations/`. */
  readonly text: string
}

export interface DraftedPlugin extends PluginChangeSets {
  readonly entities: readonly object[]
}

/** Stores the difference that MikroORM calculates, instead of converting it to SQL. */
class DifferenceReader extends SqlSchemaGenerator {
  difference: SchemaDifference | undefined

  override diffToSQL(difference: SchemaDifference): string {
    this.difference = difference
    return ''
  }
}

const columnTypes: Readonly<Record<ColumnKind, string>> = {
  id: 'type.id',
  integer: 'type.bigint',
  boolean: 'type.boolean',
  text: 'type.longText',
  timestamp: 'type.timestamp',
  json: 'type.json',
  binary: 'type.binary',
}

/** Drafts a change set for each plugin whose entities differ from the database. */
export async function draftChangeSets(
  em: SqlEntityManager,
  plugins: readonly DraftedPlugin[],
): Promise<readonly ChangeSetDraft[]> {
  const reader = new DifferenceReader(em)
  await reader.getUpdateSchemaSQL({ dropTables: false, safe: false, wrap: false })
  const { difference } = reader
  if (difference === undefined) return []
  return plugins.flatMap(({ plugin, entities, changeSets }) => {
    const statements = entities.flatMap((entity) => statementsOf(tableOf(entity as Entity), difference))
    if (statements.length === 0) return []
    const id = nextId(changeSets.map((changeSet) => changeSet.id))
    return [{ plugin, id, text: changeSetText(id, statements) }]
  })
}

function statementsOf(table: Table, { newTables, changedTables }: SchemaDifference): readonly string[] {
  const made = Object.values(newTables).find(({ name }) => name === table.name)
  if (made !== undefined) {
    const names = made.getColumns().map(({ name }) => name)
    const columns = table.columns.filter(({ name }) => names.includes(name))
    const key = made.getPrimaryKey()?.columnNames ?? []
    return [createTable(table, columns, key), ...indexStatements(table.name, made.getIndexes())]
  }
  const changed = Object.values(changedTables).find(({ name }) => name === table.name)
  if (changed === undefined) return []
  const added = table.columns.filter(
    ({ name }) => name in changed.addedColumns || isTargetOf(changed.renamedColumns, name),
  )
  const removed = [...Object.keys(changed.removedColumns), ...Object.keys(changed.renamedColumns)]
  return [
    ...added.map((column) => `schema.alterTable('${table.name}')${addColumn(column, [])}`),
    ...indexStatements(table.name, Object.values(changed.addedIndexes)),
    ...removed.map(
      (name) => `// ${table.name}.${name} has no property. Drop it in a later version, with \`breaking\`.`,
    ),
    ...Object.keys(changed.changedColumns).map(
      (name) => `// ${table.name}.${name} has another type than its property.`,
    ),
    // MikroORM reports no difference if only the name of an index differs.
    ...Object.keys(changed.removedIndexes).map((name) => `// No entity declares the index ${name}.`),
  ]
}

const isTargetOf = (renamed: Readonly<Record<string, { readonly name: string }>>, name: string) =>
  Object.values(renamed).some((column) => column.name === name)

function createTable({ name }: Table, columns: readonly Column[], key: readonly string[]): string {
  const parts = columns.map((column) => `\n${addColumn(column, key)}`)
  const together = key.length > 1 ? `\n.addPrimaryKeyConstraint('${name}_pkey', [${namesText(key)}])` : ''
  return `schema.createTable('${name}')${parts.join('')}${together}`
}

/** @param key primary key of a new table. Empty for an existing table, in which a required column needs a default. */
function addColumn(column: Column, key: readonly string[]): string {
  const { name, isNullable, default: usual } = column
  const isKey = key.length === 1 && key[0] === name
  const required = isNullable ? '' : '.notNull()'
  const filled = usual === undefined ? '' : `.defaultTo(${JSON.stringify(usual)})`
  const rules = isKey ? '.primaryKey()' : `${required}${filled}`
  const isRejected = key.length === 0 && !isNullable && usual === undefined
  const note = isRejected ? ' // needs .defaultTo(...) for the rows that exist' : ''
  return `.addColumn('${name}', ${typeText(column)}${rules === '' ? '' : `, (c) => c${rules}`})${note}`
}

function typeText({ kind, length, isSmall }: Column): string {
  if (kind === 'text' && length !== undefined) return `type.text(${length})`
  return isSmall ? 'type.integer' : columnTypes[kind]
}

const indexStatements = (table: string, indexes: readonly IndexDef[]): readonly string[] =>
  indexes
    .filter(({ primary }) => !primary)
    .map(({ keyName, unique, columnNames }) => {
      const columns =
        columnNames.length === 1 ? `.column(${namesText(columnNames)})` : `.columns([${namesText(columnNames)}])`
      return `schema.createIndex('${keyName}')${unique ? '.unique()' : ''}.on('${table}')${columns}`
    })

const namesText = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ')

function nextId(ids: readonly string[]): string {
  const last = Math.max(0, ...ids.map((id) => Number(id.slice(0, 4))))
  return `${String(last + 1).padStart(4, '0')}-change-tables`
}

const changeSetText = (id: string, statements: readonly string[]) =>
  [
    "import { defineChangeSet } from '@plinth/migrations'",
    '',
    'export const changeTables = defineChangeSet({',
    `  id: '${id}',`,
    '  up: ({ schema, type }) => [',
    ...statements.flatMap(statementLines),
    '  ],',
    '})',
  ].join('\n')

/** Adds the comma that ends the statement, before a comment in its last line. */
function statementLines(statement: string): readonly string[] {
  if (statement.startsWith('//')) return [`    ${statement}`]
  const [first = '', ...more] = statement.split('\n')
  return [first, ...more.map((line) => `  ${line}`)].map((line, index) => {
    const [code, note] = line.split(/ (?=\/\/ )/)
    return `    ${code}${index === more.length ? ',' : ''}${note === undefined ? '' : ` ${note}`}`
  })
}
