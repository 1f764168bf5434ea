import { BlobType, type EntityProperty, type Platform, p, TextType, Type, types } from '@mikro-orm/core'

/**
 * Entity properties of the column types of change sets, under the same names, so that an entity and its table agree on
 * every database: `type.text(64)` in the change set is `column.text(64)` in the entity.
 */
export const column = {
  /** Primary key, taken from `Database.newId`. */
  primaryKey: () => p.type(IdType).primary().autoincrement(false).unsigned(false),
  /** A reference to a primary key, as a plain number. */
  id: () => p.type(IdType),
  integer: () => p.integer(),
  bigint: () => p.type(ExactIntegerType),
  boolean: () => p.boolean(),
  /** @param length code points at most */
  text: (length: number) => p.string().length(length),
  longText: () => p.type(LongTextType).$type<string>(),
  timestamp: () => p.datetime(3),
  json: <T extends object>() => p.json<T>(),
  /** Decimal text. */
  uint256: () => p.string().length(78),
  binary: () => p.type(BinaryType).$type<Buffer>(),
}

/** Columns of what people edit: the version that an edit names, and who made or changed it last, as their name was then. */
export const editColumns = () => ({
  version: column.integer(),
  createdAt: column.timestamp(),
  updatedAt: column.timestamp(),
  updatedBy: column.text(128).nullable(),
})

type Family = 'sqlite' | 'postgresql' | 'mysql'

/** MikroORM's platforms do not say what they are; their word for a boolean does. */
const families: Readonly<Record<string, Family>> = { integer: 'sqlite', boolean: 'postgresql', 'tinyint(1)': 'mysql' }

export function familyOf(platform: Platform): Family {
  const family = families[platform.getBooleanTypeDeclarationSQL()]
  if (family === undefined) throw new TypeError('Only SQLite, PostgreSQL, MySQL and MariaDB are supported.')
  return family
}

/** A whole number within 2^53 - 1. Anything else is refused on the way in and on the way out. */
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

/** On SQLite `integer primary key` is the row's own address; any other type costs a second tree. */
class IdType extends ExactIntegerType {
  override getColumnType(_: EntityProperty, platform: Platform): string {
    return familyOf(platform) === 'sqlite' ? 'integer' : 'bigint'
  }
}

/** `text` of MySQL ends at 64 KiB. */
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

/** The values that a column stores. */
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

/** @param type of a property of `column`; undefined is returned for any other one */
export const kindOf = (type: unknown): ColumnKind | undefined => kinds.get(type)
