import {
  BlobType,
  type EntityProperty,
  IntegerType,
  type Platform,
  p,
  StringType,
  TextType,
  type TransformContext,
  Type,
  types,
} from '@mikro-orm/core'
import { assertStorable } from './column-limits.ts'

/**
 * Properties of entities, with the names of the column types in change sets: `type.text(64)` in a change set is
 * `column.text(64)` in the entity. Then entity and table agree on each database.
 */
export const column = {
  /** Primary key with a value of `Database.newId`. */
  primaryKey: () => p.type(IdType).primary().autoincrement(false).unsigned(false),
  /** Reference to a primary key, as a number. */
  id: () => p.type(IdType),
  /** 32-bit integer. */
  integer: () => p.type(SmallIntegerType).$type<number>(),
  bigint: () => p.type(ExactIntegerType),
  boolean: () => p.boolean(),
  /** @param length maximum number of code points */
  text: (length: number) => p.type(LimitedTextType).$type<string>().length(length),
  longText: () => p.type(LongTextType).$type<string>(),
  timestamp: () => p.datetime(3),
  json: <T extends object>() => p.json<T>(),
  /** Unsigned 256-bit integer, stored as decimal text. */
  uint256: () => p.type(LimitedTextType).$type<string>().length(78),
  binary: () => p.type(BinaryType).$type<Buffer>(),
}

/** Returns the columns of rows that users edit: version, times, and name of the last editor. */
export const createEditColumns = () => ({
  version: column.integer(),
  createdAt: column.timestamp(),
  updatedAt: column.timestamp(),
  updatedBy: column.text(128).nullable(),
})

type Family = 'sqlite' | 'postgresql' | 'mysql'

/** The platforms of MikroORM have no name, so databases are recognised by their column type for booleans. */
const families: Readonly<Record<string, Family>> = { integer: 'sqlite', boolean: 'postgresql', 'tinyint(1)': 'mysql' }

export function dialectFamilyOf(platform: Platform): Family {
  const family = families[platform.getBooleanTypeDeclarationSQL()]
  if (family === undefined) throw new TypeError('Only SQLite, PostgreSQL, MySQL and MariaDB are supported.')
  return family
}

/** Checks a value that is written. A filter may contain any value. */
function assertWritable(type: Type<unknown>, value: unknown, context: TransformContext | undefined): void {
  const { meta, prop } = type
  if (context?.mode === 'query' || prop === undefined) return
  const column = () => `${meta?.tableName}.${prop.fieldNames[0]}`
  const kind = columnKindOf(type.constructor) ?? ''
  assertStorable(column, { kind, length: prop.length, isSmall: isSmallInteger(type.constructor) }, value)
}

class LimitedTextType extends StringType {
  override convertToDatabaseValue(value: string, _?: Platform, context?: TransformContext): string {
    assertWritable(this, value, context)
    return value
  }
}

class SmallIntegerType extends IntegerType {
  override convertToDatabaseValue(value: number, _?: Platform, context?: TransformContext): number {
    assertWritable(this, value, context)
    return value
  }
}

/** Integer from -(2^53 - 1) to 2^53 - 1. Other values cause an error. */
class ExactIntegerType extends Type<number, number | string> {
  override convertToDatabaseValue(value: number, _?: Platform, context?: TransformContext): number {
    assertWritable(this, value, context)
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

/** Type of a primary key. On SQLite it is `integer`, because other types would need an additional index. */
class IdType extends ExactIntegerType {
  override getColumnType(_: EntityProperty, platform: Platform): string {
    return dialectFamilyOf(platform) === 'sqlite' ? 'integer' : 'bigint'
  }
}

/** Type of a text without a length limit. On MySQL, `text` would be limited to 64 KiB. */
class LongTextType extends TextType {
  override getColumnType(_: EntityProperty, platform: Platform): string {
    return dialectFamilyOf(platform) === 'mysql' ? 'longtext' : 'text'
  }
}

class BinaryType extends BlobType {
  override getColumnType(prop: EntityProperty, platform: Platform): string {
    return dialectFamilyOf(platform) === 'mysql' ? 'longblob' : super.getColumnType(prop, platform)
  }
}

export type ColumnKind = 'id' | 'integer' | 'boolean' | 'text' | 'timestamp' | 'json' | 'binary'

const kinds: ReadonlyMap<unknown, ColumnKind> = new Map<unknown, ColumnKind>([
  [IdType, 'id'],
  [ExactIntegerType, 'integer'],
  [SmallIntegerType, 'integer'],
  [types.boolean, 'boolean'],
  [LimitedTextType, 'text'],
  [LongTextType, 'text'],
  [types.datetime, 'timestamp'],
  [types.json, 'json'],
  [BinaryType, 'binary'],
])

/** Returns true for the type of a 32-bit integer. */
export const isSmallInteger = (type: unknown): boolean => type === SmallIntegerType

/** Returns `undefined` for a property that `column` did not create. */
export const columnKindOf = (type: unknown): ColumnKind | undefined => kinds.get(type)
