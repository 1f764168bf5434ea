import { BlobType, type EntityProperty, type Platform, p, TextType, Type, types } from '@mikro-orm/core'

/**
 * Entity properties for the column types of change sets, with the same names, so that an entity and its table agree on
 * each database: `type.text(64)` in the change set is `column.text(64)` in the entity.
 */
export const column = {
  /** Primary key, with a value of `Database.newId`. */
  primaryKey: () => p.type(IdType).primary().autoincrement(false).unsigned(false),
  /** A reference to a primary key, as a plain number. */
  id: () => p.type(IdType),
  integer: () => p.integer(),
  bigint: () => p.type(ExactIntegerType),
  boolean: () => p.boolean(),
  /** @param length maximum number of code points */
  text: (length: number) => p.string().length(length),
  longText: () => p.type(LongTextType).$type<string>(),
  timestamp: () => p.datetime(3),
  json: <T extends object>() => p.json<T>(),
  /** An unsigned integer of 256 bits, stored as decimal text. */
  uint256: () => p.string().length(78),
  binary: () => p.type(BinaryType).$type<Buffer>(),
}

/** Columns of editable rows: the version for edits, the times, and the name of the last editor at that time. */
export const editColumns = () => ({
  version: column.integer(),
  createdAt: column.timestamp(),
  updatedAt: column.timestamp(),
  updatedBy: column.text(128).nullable(),
})

type Family = 'sqlite' | 'postgresql' | 'mysql'

/** Family of a database by its column type for a boolean. The platforms of MikroORM have no name. */
const families: Readonly<Record<string, Family>> = { integer: 'sqlite', boolean: 'postgresql', 'tinyint(1)': 'mysql' }

export function familyOf(platform: Platform): Family {
  const family = families[platform.getBooleanTypeDeclarationSQL()]
  if (family === undefined) throw new TypeError('Only SQLite, PostgreSQL, MySQL and MariaDB are supported.')
  return family
}

/** An integer from -(2^53 - 1) to 2^53 - 1. Writing and reading reject other values. */
class ExactIntegerType extends Type<number, number | string> {
  override convertToDatabaseValue(value: number): number {
    return value == null ? value : exact(value)
  }
  override convertToJSValue(value: number | string): number {
    return value == null ? value : exact(Number(value))
  }
  override compareAsType(): string {
    return 'number'
  }
  override get runtimeType(): string {
    return 'number'
  }
  override getColumnType(_: EntityProperty, __: Platform): string {
    return 'bigint'
  }
}

function exact(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is no whole number within 2^53 - 1`)
  return value
}

/** A primary key. On SQLite its type is `integer`, because any other type needs an additional index. */
class IdType extends ExactIntegerType {
  override getColumnType(_: EntityProperty, platform: Platform): string {
    return familyOf(platform) === 'sqlite' ? 'integer' : 'bigint'
  }
}

/** A text without a length limit. On MySQL, `text` would be limited to 64 KiB. */
class LongTextType extends TextType {
  override getColumnType(_: EntityProperty, platform: Platform): string {
    return familyOf(platform) === 'mysql' ? 'longtext' : 'text'
  }
}

class BinaryType extends BlobType {
  override getColumnType(prop: EntityProperty, platform: Platform): string {
    return familyOf(platform) === 'mysql' ? 'longblob' : super.getColumnType(prop, platform)
  }
}

/** Kinds of values that a column stores. */
export type ColumnKind = 'id' | 'integer' | 'boolean' | 'text' | 'timestamp' | 'json' | 'binary'

const kinds: ReadonlyMap<unknown, ColumnKind> = new Map<unknown, ColumnKind>([
  [IdType, 'id'],
  [ExactIntegerType, 'integer'],
  [types.integer, 'integer'],
  [types.boolean, 'boolean'],
  [types.string, 'text'],
  [LongTextType, 'text'],
  [types.datetime, 'timestamp'],
  [types.json, 'json'],
  [BinaryType, 'binary'],
])

/** Returns the kind of a property of `column`; undefined for other properties. */
export const kindOf = (type: unknown): ColumnKind | undefined => kinds.get(type)
