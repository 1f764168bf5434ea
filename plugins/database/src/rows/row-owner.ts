/**
 * How a row refers to the user that it belongs to. All members are names in the database, never values of a request.
 * - text: the column with the id of the user, such as `owner_id`
 * - `type` and `id`: columns with the type of the owner and its id as decimal text. The type `user` means a user.
 * - `user` and `org`: columns with the id of a user or, for rows of several users, of their organisation. Either may be
 * null.
 * - `through`: the table with the row that belongs to the user. Its column `key` equals the `column` of this row.
 */
export type RowOwner =
  | string
  | { readonly type: string; readonly id: string }
  | { readonly user: string; readonly org: string }
  | { readonly column: string; readonly through: string; readonly key: string; readonly owner: RowOwner }

/** Condition with `?` for its parameters. */
export interface SqlCondition {
  readonly sql: string
  readonly parameters: readonly (string | number)[]
}

/**
 * Returns the condition for the rows of one user.
 *
 * @param alias of the table in the statement
 * @param depth nesting level, for distinct aliases
 */
export function rowsOfUser(alias: string, owner: RowOwner, userId: number, depth = 0): SqlCondition {
  if (typeof owner === 'string') return { sql: `${alias}.${owner} = ?`, parameters: [userId] }
  if ('type' in owner) {
    return { sql: `${alias}.${owner.type} = 'user' and ${alias}.${owner.id} = ?`, parameters: [String(userId)] }
  }
  if ('user' in owner) return rowsOfUser(alias, owner.user, userId)
  const linked = `owner_${depth}`
  const { sql, parameters } = rowsOfUser(linked, owner.owner, userId, depth + 1)
  return { sql: rowsThrough(alias, owner, linked, sql), parameters }
}

/** Returns the condition for rows whose row in another table matches a condition. @param linked alias of that table */
export const rowsThrough = (
  alias: string,
  { column, through, key }: Extract<RowOwner, { readonly through: string }>,
  linked: string,
  sql: string,
): string => `exists (select 1 from ${through} ${linked} where ${linked}.${key} = ${alias}.${column} and ${sql})`
