import type { RouteWrapper } from '@plinth/http'
import type { Principal } from '../contract.ts'
import { iamError } from '../declarations.ts'

/**
 * Returns a copy of a principal, and a function that returns true if the data scope of the copy was read. Each condition
 * for the rows of the caller reads it.
 */
function watchScope(principal: Principal): { readonly watched: Principal; readonly isRead: () => boolean } {
  let isRead = false
  const dataScope = {
    enumerable: true,
    get() {
      isRead = true
      return principal.dataScope
    },
  }
  const members = { ...Object.getOwnPropertyDescriptors(principal), dataScope }
  return { watched: Object.create(Object.getPrototypeOf(principal), members), isRead: () => isRead }
}

/**
 * Compares the declared scope `caller` of an operation with its handler, in development and in tests (decision G12). A
 * handler that succeeds without a condition for the rows of the caller may return rows outside of the data scope.
 *
 * @throws PlinthError `PLINTH_IAM_SCOPE_NOT_ASKED` in the wrapper
 */
export const scopeCheck: RouteWrapper = {
  name: 'iam.scope-check',
  // A stored response of another wrapper needs no condition, because no handler runs.
  isInnermost: true,
  reasons: [],
  forRoute({ access, method, path, plugin }) {
    if (typeof access !== 'object' || access.scope !== 'caller') return undefined
    return async (request, _reply, handle) => {
      const { principal } = request
      if (principal === undefined) return handle()
      const { watched, isRead } = watchScope(principal)
      request.principal = watched
      const result = await handle()
      if (isRead()) return result
      throw iamError('PLINTH_IAM_SCOPE_NOT_ASKED', { route: `${method} ${path}`, plugin })
    }
  },
}
