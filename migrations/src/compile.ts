import { createHash } from 'node:crypto'
import type { ChangeSetDeclaration } from '@plinth/kernel'
import {
  AlterTableNode,
  type CompiledQuery,
  CreateTableNode,
  DropTableNode,
  IdentifierNode,
  type Kysely,
  type OperationNode,
  RawNode,
  sql,
} from 'kysely'
import { type ChangeSet, type ColumnTypes, columnTypes, isChangeSet, type Statement } from './change-set.ts'
import { compilerFor, type Dialect } from './dialect.ts'
import { migrationError } from './errors.ts'
import { changedTable, type WayBack, wayBackOf } from './way-back.ts'

export interface PluginChangeSets {
  readonly plugin: string
  readonly changeSets: readonly ChangeSetDeclaration[]
}

/** A change set with the SQL of one dialect. */
export interface CompiledChangeSet {
  readonly plugin: string
  readonly id: string
  readonly statements: readonly string[]
  /** Tables that the change set creates. Tables of raw SQL or with `if not exists` are missing. */
  readonly tables: readonly string[]
  /** True if the change set also changes rows. */
  readonly changesData: boolean
  readonly checksum: string
  /** Checksum in the former format, for comparison with old records. */
  readonly formerChecksum: string
  readonly breaking?: string
  readonly definition: ChangeSet
}

const idPattern = /^\d{4}(-[a-z0-9]+)+$/
const snakeCase = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
const ddl = /^\s*(create|alter|drop|rename|comment|grant|revoke)\b/i
const breakingStatement =
  /^\s*(drop\s+(table|schema|view)|truncate|rename|alter\s+table[\s\S]*\b(drop\s+(column|constraint|primary)|rename|modify|change|alter\s+column)\b)/i

/**
 * Returns the change sets with their SQL, in the order of application: by plugin as in `plugins`, then by id. Does not
 * access a database.
 *
 * @param plugins in setup order
 * @throws PlinthError `PLINTH_MIGRATION_INVALID`, `PLINTH_MIGRATION_BREAKING`, `PLINTH_MIGRATION_TABLE_OF_OTHER`
 */
export function compileChangeSets(plugins: readonly PluginChangeSets[], dialect: Dialect): CompiledChangeSet[] {
  const compiler = compilerFor(dialect)
  const all = plugins.flatMap(({ plugin, changeSets }) =>
    changeSets
      .map((declared) => checked(plugin, declared))
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .map((changeSet, index, sorted) => {
        if (sorted[index - 1]?.id === changeSet.id) throw invalid(plugin, changeSet.id, 'its id is used twice')
        return changeSet
      })
      .filter(({ only }) => only === undefined || only.includes(dialect))
      .map((changeSet) => compiledOnce(compiler, plugin, changeSet, dialect)),
  )
  assertOwnTables(all)
  return all
}

/** Checks that each table is changed only by the plugin whose change sets were the first to create it. */
function assertOwnTables(changeSets: readonly CompiledChangeSet[]): void {
  const owners = new Map(
    changeSets.toReversed().flatMap(({ plugin, tables }) => tables.map((table) => [table, plugin] as const)),
  )
  for (const { plugin, id, statements } of changeSets) {
    for (const table of statements.map(changedTable)) {
      const owner = owners.get(table ?? '')
      if (table === undefined || owner === undefined || owner === plugin) continue
      throw migrationError('PLINTH_MIGRATION_TABLE_OF_OTHER', { changeSet: `${plugin}/${id}`, table, owner })
    }
  }
}

/** Compiled change sets, for products that start several times in one process, for example in tests. */
const compiled = new WeakMap<ChangeSet, Map<string, CompiledChangeSet>>()

function compiledOnce(...[compiler, plugin, changeSet, dialect]: Parameters<typeof compile>): CompiledChangeSet {
  const known = compiled.get(changeSet) ?? new Map<string, CompiledChangeSet>()
  compiled.set(changeSet, known)
  const name = `${dialect} ${plugin}`
  const found = known.get(name) ?? compile(compiler, plugin, changeSet, dialect)
  known.set(name, found)
  return found
}

function checked(plugin: string, declared: ChangeSetDeclaration): ChangeSet {
  if (!isChangeSet(declared)) throw invalid(plugin, declared.id, 'it was not made by defineChangeSet')
  if (!idPattern.test(declared.id)) throw invalid(plugin, declared.id, 'its id is not like 0001-create-user')
  if (!declared.up && !declared.data) throw invalid(plugin, declared.id, 'it has neither `up` nor `data`')
  return declared
}

function compile(
  compiler: Kysely<unknown>,
  plugin: string,
  definition: ChangeSet,
  dialect: Dialect,
): CompiledChangeSet {
  const { id, breaking, data } = definition
  const queriesWith = (type: ColumnTypes) => queriesOf(compiler, plugin, definition, dialect, type)
  const queries = queriesWith(columnTypes(dialect))
  const statements = queries.map((query, index) => {
    const problem = problemOf(query)
    if (problem !== undefined) throw invalid(plugin, id, `statement ${index + 1} ${problem}`)
    const danger = dangerOf(query)
    if (danger !== undefined && breaking === undefined) {
      throw migrationError('PLINTH_MIGRATION_BREAKING', { changeSet: `${plugin}/${id}`, reason: danger })
    }
    return query.sql
  })
  return {
    plugin,
    id,
    statements,
    tables: queries.flatMap(createdTable),
    changesData: data !== undefined,
    checksum: checksumOf(
      queriesWith(columnTypes(dialect, true)).map((query) => query.sql),
      data,
    ),
    formerChecksum: formerChecksumOf(statements, data !== undefined),
    ...(breaking === undefined ? {} : { breaking }),
    definition,
  }
}

/** Returns the statements of a change set with the given column types. */
export function queriesOf(
  compiler: Kysely<unknown>,
  plugin: string,
  { id, up }: ChangeSet,
  dialect: Dialect,
  type: ColumnTypes,
): readonly CompiledQuery[] {
  return guarded(plugin, id, () =>
    statementsOf(up?.({ schema: compiler.schema, type, sql, dialect }) ?? []).map((statement) =>
      statement.compile(compiler),
    ),
  )
}

/** Returns the statements that undo a change set; see `wayBackOf`. */
export function compileWayBack({ plugin, definition }: CompiledChangeSet, dialect: Dialect): WayBack {
  return wayBackOf(queriesOf(compilerFor(dialect), plugin, definition, dialect, columnTypes(dialect)), dialect)
}

/**
 * Checks the result of `up`, which may be plain JavaScript and return any value.
 *
 * @throws TypeError for the first invalid statement
 */
function statementsOf(returned: unknown): readonly Statement[] {
  if (!Array.isArray(returned)) {
    const found = returned instanceof Promise ? 'a promise' : typeof returned === 'string' ? 'text' : 'one object'
    throw new TypeError(`\`up\` must return a list of statements, but what it returns is ${found}`)
  }
  for (const [index, statement] of returned.entries()) {
    if (typeof Object(statement).compile === 'function') continue
    const found =
      typeof statement === 'string' ? `the text ${JSON.stringify(statement.slice(0, 60))}` : String(statement)
    throw new TypeError(`statement ${index + 1} is ${found}; write a builder of \`schema\`, or sql\`...\``)
  }
  return returned
}

/** Runs code of a change set. Its errors get the ids of the plugin and of the change set. */
function guarded<T>(plugin: string, id: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw invalid(plugin, id, error instanceof Error ? error.message : String(error), error)
  }
}

function problemOf({ query, parameters, sql: text }: CompiledQuery): string | undefined {
  if (parameters.length > 0) return 'has parameters; write literals with sql.lit'
  if (!ddl.test(text)) return 'does not change the schema; rows are changed in `data`'
  const wrong = identifiers(query).find((name) => !snakeCase.test(name))
  return wrong === undefined ? undefined : `names "${wrong}", which is not snake_case`
}

function createdTable({ query }: CompiledQuery): string[] {
  if (!CreateTableNode.is(query) || query.ifNotExists === true || query.temporary === true) return []
  return [query.table.table.identifier.name]
}

const isNode = (value: object): value is OperationNode => 'kind' in value

/** Returns the names of tables and columns in a statement, except those in raw SQL. */
function identifiers(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return []
  if (Array.isArray(node)) return node.flatMap(identifiers)
  if (isNode(node) && IdentifierNode.is(node)) return [node.name]
  return Object.values(node).flatMap(identifiers)
}

function dangerOf({ query, sql: text }: CompiledQuery): string | undefined {
  if (DropTableNode.is(query)) return 'it drops a table'
  if (isNode(query) && RawNode.is(query))
    return breakingStatement.test(text) ? `it runs "${text.trim().slice(0, 60)}"` : undefined
  if (!AlterTableNode.is(query)) return undefined
  if (query.renameTo) return 'it renames a table'
  for (const alteration of query.columnAlterations ?? []) {
    if (alteration.kind !== 'AddColumnNode') return `it changes a column (${alteration.kind.replace('Node', '')})`
    const { column } = alteration
    if (column.notNull && !column.defaultTo) return 'it adds a required column without a default'
  }
  return undefined
}

/** Prefixes of checksums. A new algorithm needs a new prefix. Records with unknown prefixes are not compared. */
const checksumVersion = { former: '1:', current: '2:' } as const

/** Hexadecimal digits of each half of a checksum. */
const digits = 38

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const withoutLayout = (statements: readonly string[]) =>
  JSON.stringify(statements.map((statement) => statement.replace(/\s+/g, ' ').trim()))

/**
 * Returns a checksum of two halves: a hash of the declared statements, and a hash of the source text of `data`. White
 * space has no effect.
 */
function checksumOf(statements: readonly string[], data: ChangeSet['data']): string {
  const dataText = data === undefined ? '' : normalizeCode(data.toString())
  const halves = [withoutLayout(statements), dataText].map((text) => sha256(text).slice(0, digits))
  return checksumVersion.current + halves.join(':')
}

function formerChecksumOf(statements: readonly string[], changesData: boolean): string {
  const normal: unknown = JSON.parse(withoutLayout(statements))
  return checksumVersion.former + sha256(JSON.stringify([normal, changesData]))
}

/** Removes everything that a build may change: comments, layout, semicolons, commas and parentheses. */
export function normalizeCode(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\/|\/\/.*$|[\s;,()]/gm, '')
}

/** Returns the part of an applied change set that has changed since. */
export function findChangedPart(
  recorded: string,
  { checksum, formerChecksum }: Pick<CompiledChangeSet, 'checksum' | 'formerChecksum'>,
): 'statements' | 'data' | undefined {
  if (recorded.startsWith(checksumVersion.former)) return recorded === formerChecksum ? undefined : 'statements'
  if (!recorded.startsWith(checksumVersion.current) || recorded === checksum) return undefined
  const statementsOf = (text: string) => text.slice(0, checksumVersion.current.length + digits)
  return statementsOf(recorded) === statementsOf(checksum) ? 'data' : 'statements'
}

function invalid(plugin: string, id: unknown, reason: string, cause?: unknown) {
  return migrationError('PLINTH_MIGRATION_INVALID', { changeSet: `${plugin}/${String(id)}`, reason }, cause)
}
