import type { EntityMetadata } from '@mikro-orm/core'
import type { Dialect } from '@plinth/migrations'
import { databaseError } from './errors.ts'

interface Column {
  readonly table: string
  readonly name: string
  readonly isNullable: boolean
  /** True if the database sets a value when an inserted row has none. */
  readonly hasDefault: boolean
}

const fromInformationSchema = (schema: string, filled: string) => `
  select table_name as table_name, column_name as column_name,
    case when is_nullable = 'YES' then 1 else 0 end as is_nullable,
    case when column_default is not null or ${filled} then 1 else 0 end as has_default
  from information_schema.columns where table_schema = ${schema}`

const ofServer = fromInformationSchema('database()', `extra <> ''`)

const statements: Readonly<Record<Dialect, string>> = {
  sqlite: `select m.name as table_name, c.name as column_name,
      case when c."notnull" = 0 and c.pk = 0 then 1 else 0 end as is_nullable,
      case when c.dflt_value is not null or c.pk > 0 then 1 else 0 end as has_default
    from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'`,
  postgresql: fromInformationSchema('current_schema()', `is_identity = 'YES' or is_generated <> 'NEVER'`),
  mysql: ofServer,
  mariadb: ofServer,
}

type Query = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Returns the columns of all tables in the catalogue of the database, by table and name. */
export async function readColumns(
  dialect: Dialect,
  query: Query,
): Promise<ReadonlyMap<string, ReadonlyMap<string, Column>>> {
  const tables = new Map<string, Map<string, Column>>()
  for (const row of await query(statements[dialect])) {
    const [table, name] = [String(row['table_name']), String(row['column_name'])]
    const columns = tables.get(table) ?? new Map<string, Column>()
    tables.set(table, columns)
    const [isNullable, hasDefault] = [Number(row['is_nullable']) === 1, Number(row['has_default']) === 1]
    columns.set(name, { table, name, isNullable, hasDefault })
  }
  return tables
}

interface OwnedEntity {
  readonly plugin: string
  readonly metadata: EntityMetadata
}

/**
 * Checks that each table belongs to one entity. MikroORM reports such tables too, but not whose entities they are.
 *
 * @throws PlinthError `PLINTH_DATABASE_TABLE_TAKEN`
 */
export function assertOwnTables(
  plugins: readonly { readonly plugin: string; readonly entities: readonly object[] }[],
): void {
  const owners = new Map<string, { readonly entity: object; readonly owner: string }>()
  for (const { plugin, entities } of plugins) {
    for (const entity of entities) {
      const { tableName: table, className }: Partial<EntityMetadata> = Object(entity).meta ?? {}
      if (table === undefined) continue
      const owner = `${className} of plugin "${plugin}"`
      const other = owners.get(table)
      if (other !== undefined && other.entity !== entity) {
        throw databaseError('PLINTH_DATABASE_TABLE_TAKEN', { table, entities: `${other.owner} and ${owner}` })
      }
      owners.set(table, { entity, owner })
    }
  }
}

/** Returns false for entities without a table: abstract, embedded and virtual ones. */
export const isStored = ({ abstract, embeddable, virtual }: EntityMetadata): boolean =>
  !(abstract || embeddable || virtual)

/**
 * Compares entities with the tables of the database: their names, their columns, and which columns may be null.
 *
 * @throws PlinthError `PLINTH_DATABASE_ENTITY_SCHEMA` with all differences
 */
export async function assertEntities(entities: readonly OwnedEntity[], dialect: Dialect, query: Query): Promise<void> {
  const stored = entities.filter(({ metadata }) => isStored(metadata))
  if (stored.length === 0) return
  const tables = await readColumns(dialect, query)
  const differences = stored.flatMap(({ plugin, metadata }) =>
    differencesOf(metadata, tables.get(metadata.tableName)).map((difference) => `plugin "${plugin}", ${difference}`),
  )
  if (differences.length === 0) return
  const details = { count: differences.length, differences: differences.map((one) => `\n  ${one}`).join('') }
  throw databaseError('PLINTH_DATABASE_ENTITY_SCHEMA', details)
}

function differencesOf(entity: EntityMetadata, columns: ReadonlyMap<string, Column> | undefined): readonly string[] {
  const { tableName: table, className } = entity
  if (columns === undefined) return [`table ${table}: the entity ${className} has no table`]
  const properties = entity.props.filter(({ persist = true, fieldNames, formula }) => {
    return persist && formula === undefined && fieldNames !== undefined
  })
  const declared = new Set(properties.flatMap(({ fieldNames }) => fieldNames))
  const wrong = properties.flatMap(({ fieldNames, name, nullable = false, primary = false }) =>
    fieldNames.flatMap((field) => {
      const column = columns.get(field)
      if (column === undefined)
        return [`${table}.${field}: the column is missing, and the entity has the property ${name}`]
      if (primary || column.isNullable === nullable) return []
      const [may, mayNot] = [`the column may be null`, `the column must not be null`]
      return [
        `${table}.${field}: ${column.isNullable ? `${may}, and the property ${name} not` : `${mayNot}, and the property ${name} may`}`,
      ]
    }),
  )
  const undeclared = [...columns.values()]
    .filter(({ name, isNullable, hasDefault }) => !declared.has(name) && !isNullable && !hasDefault)
    .map(({ name }) => `${table}.${name}: the column is required and not a property of the entity ${className}`)
  return [...wrong, ...undeclared]
}
