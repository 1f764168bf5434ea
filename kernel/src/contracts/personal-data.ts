import type { LocalizedText } from '@plinth/config-schema'
import { shape } from '@plinth/config-schema/shapes'
import { extensionPoint } from '../refs.ts'

/** The user whose data is exported or erased. */
export interface PersonalDataSubject {
  readonly userId: number
  /** Absent if the account was already deleted. Rows that contain only the user name are then not found. */
  readonly username?: string
}

/**
 * What happens to the rows of a user who is erased. `removed`: the rows are deleted. `anonymised`: columns that
 * identify the user are overwritten. `kept`: the rows do not change. They contain the id of a user that no longer
 * exists.
 */
type Erasure =
  | { readonly erasure: 'removed' }
  | {
      readonly erasure: 'anonymised'
      /** The columns that are overwritten. */
      readonly overwritten: readonly string[]
      /** Reason why the rest of the row is kept. */
      readonly reason: LocalizedText
    }
  | {
      readonly erasure: 'kept'
      /** Reason why the rows are kept, and for how long if they are deleted later. */
      readonly reason: LocalizedText
    }

/** A table with rows that belong to users. */
export type PersonalTable = Erasure & {
  /** Table name in the database. A table that refers to users in two ways needs two declarations. */
  readonly table: string
  /** What the rows contain, for example `{ en: 'Sessions', 'zh-CN': '会话' }`. */
  readonly title: LocalizedText
  /** Columns that contain the user of a row. */
  readonly columns: readonly string[]
  /** Returns the rows of the user as plain JSON values, without secrets and without data of other users. */
  read(person: PersonalDataSubject): AsyncIterable<object>
  /** Returns the number of rows that `erase` would change. For kept rows, returns the number of rows. */
  count(person: PersonalDataSubject): Promise<number>
  /**
   * Deletes or anonymises the rows of a user in small steps and returns their number. Does nothing for kept rows. If
   * the call is interrupted, a second call continues.
   *
   * @throws the reason of the signal when it aborts
   */
  erase(person: PersonalDataSubject, signal: AbortSignal): Promise<number>
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
 * Tables with rows of users, by the id of the plugin. They are used to export and to erase a user. Plugins are erased
 * in reverse setup order, and the tables of one plugin in the listed order. A table that is needed to find the rows of
 * another table must come after that table. The kernel owns this extension point, so any plugin may contribute.
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
