import { useLanguage } from '../../app/app.tsx'
import type { Operation } from './page-types.ts'

/**
 * Returns a function with the text for an operation that the user may not call. Pages show what is missing instead of
 * hiding the control. The result is undefined if the user may call the operation.
 */
export function useWhyNot() {
  const { translate } = useLanguage()
  return (call: Pick<Operation, 'allowed' | 'permission' | 'dataScope'> | undefined): string | undefined => {
    if (call === undefined || call.allowed) return undefined
    const key = call.dataScope === 'all' ? 'admin.needs-permission-and-scope' : 'admin.needs-permission'
    return translate(key, { permission: call.permission })
  }
}
