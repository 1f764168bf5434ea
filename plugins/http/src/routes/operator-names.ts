/** The members of a principal that decide which operators it may see. */
export interface Viewer {
  readonly userId: number
  readonly username: string
  readonly dataScope: 'self' | 'org' | 'all'
}

/**
 * Returns the operator who changed a row of the scope `none`, or null. The row belongs to no organisation, but the operator
 * does: callers with a smaller data scope than `all` see only themselves (decision F.1).
 *
 * @param operator user name or user id
 */
export function visibleOperator<T extends string | number>(
  request: { readonly principal?: Viewer | undefined },
  operator: T | null | undefined,
): T | null {
  const { principal } = request
  if (operator == null || principal === undefined) return null
  const isVisible = principal.dataScope === 'all' || operator === principal.username || operator === principal.userId
  return isVisible ? operator : null
}
