import type { LocalizedText } from '@plinth/config-schema'
import { extensionPoint } from '../refs.ts'
import { shape } from '../shapes/shape.ts'

/** A user whose stored data is exported or erased. */
export interface Person {
  readonly userId: number
  /** Absent if the account was deleted before. Rows that only contain the name are then not found. */
  readonly username?: string
}

/**
 * Effect of erasing on the rows of a user. `removed`: the rows are deleted. `anonymised`: columns that identify the user
 * are overwritten. `kept`: the rows stay unchanged, with a user id that no longer refers to an account.
 */
type Erasure =
  | { readonly erasure: 'removed' }
  | {
      readonly erasure: 'anonymised'
      /** Names of the columns that are overwritten. */
      readonly overwritten: readonly string[]
      /** Why the rest of the row is kept. */
      readonly reason: LocalizedText
    }
  | {
      readonly erasure: 'kept'
      /** Why the rows are kept, and for how long if they are removed later. */
      readonly reason: LocalizedText
    }

/** The rows of users in one table. */
export type PersonalTable = Erasure & {
  /** Name in the database. A table with two links to users has two declarations. */
  readonly table: string
  /** Content of the rows, for example `{ en: 'Sessions', 'zh-CN': '会话' }`. */
  readonly title: LocalizedText
  /** Names of the columns by which a row refers to its user. */
  readonly columns: readonly string[]
  /** Returns the rows of the user as plain JSON values, without secrets and without data of other users. */
  read(person: Person): AsyncIterable<object>
  /** Returns the number of rows that `erase` would change; for kept rows, the number of rows that stay. */
  count(person: Person): Promise<number>
  /**
   * Removes or anonymises the rows in small steps and returns their number. Does nothing for kept rows. A second call
   * after a crash continues, and a call without remaining rows changes nothing.
   *
   * @throws the reason of the aborted signal
   */
  erase(person: Person, signal: AbortSignal): Promise<number>
}

const common = {
  table: shape.text,
  title: shape.localized,
  columns: shape.list(shape.text, 1),
  read: shape.function,
  count: shape.function,
  erase: shape.function,
}
type Declared<Kind extends Erasure['erasure']> = Extract<PersonalTable, { readonly erasure: Kind }>

/**
 * The tables of a plugin that contain rows of users, by the id of the plugin. The export and the erasure of a user use
 * them. The last plugin that was set up is erased first, and the tables of one plugin in their order: list a table
 * before the table that leads from it to the user. Owned by the kernel, so any plugin may contribute.
 */
export const personalData = extensionPoint<readonly PersonalTable[]>('kernel.personal-data', {
  live: true,
  names: shape.dotted,
  shape: shape.list(
    shape.variants('erasure', [
      shape.object<Declared<'removed'>>({ ...common, erasure: shape.among(['removed']) }),
      shape.object<Declared<'anonymised'>>({
        ...common,
        erasure: shape.among(['anonymised']),
        overwritten: shape.list(shape.text, 1),
        reason: shape.localized,
      }),
      shape.object<Declared<'kept'>>({ ...common, erasure: shape.among(['kept']), reason: shape.localized }),
    ]),
  ),
})
